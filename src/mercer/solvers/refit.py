"""Fits that no closed form can judge: operators and cleaned outputs learnt from all outputs.

Leave-one-out in closed form holds fixed what was made of all outputs. A learnt operator, or the
outputs as a robust loss leaves them, owe too much to what is left out: they are made anew, by
K-fold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._base.arrays import Array, dense, like, namespace, put, take
from .._base.folds import fold_numbers
from .._base.plan import SPECTRAL_SQUARES, require_exact
from ..kernels import Precomputed
from ..losses import Loss, column_medians, shorten_rows
from ..problem import Problem, Side, Want
from .exact import exact_spectrum, factor_projected
from .exact_spectrum import ExactSpectrum, InputGram
from .factorization import Factorization, Solution, SolutionMethod
from .input_spectrum import InputSpectrum
from .low_rank import InputRows, LowRankSpectrum, low_rank_spectrum
from .outputs import Cache, OutputRows
from .part import Part
from .robust import IterationState, clean_outputs, row_lengths

FOLD_SQUARES = 3.0
"""What a fold keeps, in n×n float64 matrices at most."""
THRESHOLD_ROUNDS = 20
"""How often a threshold that depends on the fit, which depends on it, is computed again at most."""
STEADY_THRESHOLD = 0.02
"""A threshold that moves by less than this share of itself stays."""


def refit(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Return a factorisation whose left-out predictions come from refits on folds."""
    side, weights = problem.inputs, problem.weights  # a robust loss applies weights itself
    if problem.loss is not None and weights is not None:
        problem, cache = replace(problem, weights=None), Cache()
    if side.features is None:
        problem.require_memory(SPECTRAL_SQUARES)
    spectrum = cache.spectrum(side.kernel, _factored_inputs, problem)
    output_rows, kind = cache.output_rows(problem), Refit if problem.loss is None else RobustRefit
    method = kind(problem, spectrum, output_rows, want.folds, weights)
    return Factorization(problem, problem.kernel, output_rows, [], method=method)


class Refit(SolutionMethod):
    """Solutions with learnt operators, exact or low rank; left-out errors by refits on folds.

    The operator or the outputs are determined only once α is known.
    """

    leaves_out = True

    def __init__(
        self,
        problem: Problem,
        spectrum: InputSpectrum,
        output_rows: OutputRows,
        folds: int,
        weights: np.ndarray | None = None,
    ):
        self.problem, self.spectrum, self.output_rows = problem, spectrum, output_rows
        self.n_folds, self.weights = folds, weights

    def fitted_at(self, alpha: float) -> tuple[Factorization, Loss | None]:
        """Return the factorisation with the operator learnt at `alpha`, and the fitted loss."""
        return factor_projected(self.problem, self.spectrum, self.output_rows, alpha), None

    def solution(self, alpha: float) -> Solution:
        """Return the fitted map g for the ridge parameter `alpha`."""
        parts, loss = self.fitted_at(alpha)
        return replace(parts.solve(alpha), loss=loss)

    @cached_property
    def folds(self) -> np.ndarray:  # type: ignore[override]
        """The fold number of each example."""
        return fold_numbers(self.problem.left_out_labels, self.n_folds)

    @cached_property
    def fold_fits(self) -> list[tuple[Refit, Array, np.ndarray]]:
        """For each fold: a fit without it, its projected inputs, and its example numbers."""
        if self.problem.inputs.features is None:
            require_exact(self.problem.n, FOLD_SQUARES * self.n_folds)
        return [self._fit_without(self.folds == i) for i in range(self.folds.max() + 1)]

    def _fit_without(self, out: np.ndarray) -> tuple[Refit, Array, np.ndarray]:
        """Return a fit without the examples `out` (a mask), with their projections and numbers."""
        train, test = np.flatnonzero(~out), np.flatnonzero(out)
        problem = self.problem
        labels = np.unique(problem.left_out_labels[train], return_inverse=True)[1].reshape(-1)
        weights = None if problem.weights is None else problem.weights[train]
        X, y = problem.inputs, problem.outputs
        some = replace(
            problem,
            inputs=Side(X.kernel, take(X.items, train) if not X.kernel.pairwise else X.items),
            outputs=replace(y, items=take(y.items, train), sample=None),
            labels=labels,
            weights=weights,
        )
        spectrum, Z = self._spectrum_of_fold(train, test, weights)
        V = take(self.output_rows.coordinates, train)
        output_rows = OutputRows.centred(V, weights, problem.intercept, self.output_rows.frame)
        loss_weights = None if self.weights is None else self.weights[train]
        return type(self)(some, spectrum, output_rows, self.n_folds, loss_weights), Z, test

    def _spectrum_of_fold(
        self, train: np.ndarray, test: np.ndarray, weights: np.ndarray | None
    ) -> tuple[InputSpectrum, Array]:
        """Return the factored training inputs of a fold, and its projected test inputs.

        All coordinates are those of the whole fit (landmarks and length scales are held fixed).
        """
        whole, problem = self.spectrum, self.problem
        if isinstance(whole, LowRankSpectrum):
            U = whole.input_rows.coordinates
            some, rest = (U[index] if issparse(U) else take(U, index) for index in (train, test))
            at = InputRows.of(whole.input_rows.map, some, weights, problem.intercept)
            low = LowRankSpectrum(lambda: at)
            rest = rest if low.mean is None else rest - low.mean
            return low, dense(rest @ low.P) * namespace(low.s).sqrt(low.s)
        kernel, X = problem.inputs.kernel, problem.inputs.items
        if kernel.pairwise:
            kernel, X = Precomputed(kernel.checked_gram(X)), np.arange(problem.n)
        gram = InputGram(kernel, take(X, train), weights, problem.intercept)
        exact = ExactSpectrum(gram, direct=False)
        return exact, exact.project_inputs(take(X, test)).Z

    def residuals(self, alphas: Sequence[float]) -> Iterator[Array]:
        """Yield for each alpha the outputs minus predictions by the fit without their fold."""
        given = self.output_rows.coordinates
        for alpha in alphas:
            points = like(np.zeros(given.shape), given)
            for fit, Z, test in self.fold_fits:
                parts, _ = fit.fitted_at(alpha)
                seen = Z @ parts.parts[0].coefficients(alpha, parts.Q)
                mean = parts.output_rows.mean
                points = put(points, test, seen if mean is None else seen + mean)
            yield given - points

    def scale(self) -> float:
        """Return the unit of relative ridges, (tr K_x / n) · tr(B S_vv) / tr S_vv.

        K_x is the input Gram matrix, B the operator and S_vv the covariance of the outputs. For a
        learnt operator the unit is tr K_x / n times the unit of the operator.
        """
        s, V, operator = self.spectrum.s, self.output_rows.rows, self.problem.kernel.operator
        if operator.learnt:
            level = float(namespace(s).sum(s)) / self.problem.total or 1.0
            square = float(namespace(V).sum(V * V)) / self.problem.total
            return level * operator.unit(square or 1.0)
        return factor_projected(self.problem, self.spectrum, self.output_rows, 1.0).scale


def _factored_inputs(problem: Problem) -> InputSpectrum:
    """Return the factored inputs of a problem, exact or at low rank."""
    side = problem.inputs
    if side.features is None:
        return exact_spectrum(problem, direct=False)
    return low_rank_spectrum(problem)


class RobustRefit(Refit):
    """Solutions under a robust loss: inputs are factored once, outputs cleaned for each α.

    The operator is made of outputs that were shortened to three median lengths (from their median
    where there is an intercept): the covariance of wrong outputs misleads.
    """

    last_state: IterationState | None = None
    """Where the steps at one α ended, from which those at another start."""

    @cached_property
    def shortened_outputs(self) -> OutputRows:
        """The outputs with lengths clipped to three times the median length."""
        V = self.output_rows.coordinates
        return self._output_rows(
            shorten_rows(V, column_medians(V) if self.problem.intercept else None)
        )

    def _output_rows(self, V: Array) -> OutputRows:
        """Return coordinates V as output rows of the problem, centred with an intercept."""
        return OutputRows.centred(V, None, self.problem.intercept, self.output_rows.frame)

    @cached_property
    def _fixed_operator(self) -> Factorization:
        """The factorisation of the shortened outputs, for operators that do not depend on α."""
        return factor_projected(self.problem, self.spectrum, self.shortened_outputs, 1.0)

    def fitted_at(self, alpha: float) -> tuple[Factorization, Loss | None]:
        """Return the factorisation of the outputs cleaned at `alpha`, and the fitted loss."""
        given: Any = self.problem.loss
        if self.problem.kernel.operator.learnt:
            base = factor_projected(self.problem, self.spectrum, self.shortened_outputs, alpha)
        else:
            base = self._fixed_operator
        parts = _with_outputs(base, self.shortened_outputs)  # the shorten_rows ones, to start with
        loss = given.resolved(self._left_out_lengths(parts, alpha))
        for _ in range(THRESHOLD_ROUNDS):
            parts, used = self._factor_cleaned(base, loss, alpha), loss
            if not loss.adaptive:
                break
            loss = given.resolved(self._left_out_lengths(parts, alpha))
            if abs(loss.threshold_ - used.threshold_) <= STEADY_THRESHOLD * used.threshold_:
                break
        return parts, used

    def _factor_cleaned(self, base: Factorization, loss: Loss, alpha: float) -> Factorization:
        """Return the factorisation of the outputs that `clean_outputs` gives for this loss."""
        (part,) = base.parts
        given, shortened_outputs = (
            base.to_directions(V.coordinates) for V in (self.output_rows, self.shortened_outputs)
        )
        start = shortened_outputs if self.last_state is None else self.last_state
        T, reached = clean_outputs(part, given, loss, alpha, start, self.weights)
        if not self.problem.kernel.operator.learnt:
            self.last_state = reached
        return _with_outputs(base, self._output_rows(base.basis.to_coordinates(T)))

    def _left_out_lengths(self, parts: Factorization, alpha: float) -> Array:
        """Return the distance of each given output from its left-out prediction."""
        shift = parts.to_directions(self.output_rows.coordinates - parts.output_rows.coordinates)
        return row_lengths(next(parts.residuals([alpha])) + shift)


def _with_outputs(base: Factorization, output_rows: OutputRows) -> Factorization:
    """Return a copy of a factorisation with other outputs and the same operator."""
    (part,) = base.parts
    T = base.to_directions(output_rows.rows)
    inside = namespace(T).matrix_transpose(part.spectrum.E) @ T
    return replace(base, output_rows=output_rows, parts=[Part(part.spectrum, part.b, T, inside)])
