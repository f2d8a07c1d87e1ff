"""Learnt operators and robust losses, whose left-out predictions come from refits on folds.

Leave-one-out in closed form holds fixed what was computed from all outputs. A learnt operator and
the outputs that a robust loss has cleaned depend too much on the left-out outputs; K-fold refits
compute them again without these.
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
from ..operators import Moments
from ..problem import Problem, Want
from .exact import exact_spectrum, factor_separable
from .exact_spectrum import ExactSpectrum, InputGram
from .factorization import Factorization, Solution, SolutionMethod
from .input_spectrum import InputSpectrum
from .low_rank import InputRows, LowRankSpectrum, low_rank_spectrum
from .outputs import Cache, OutputRows
from .part import Part
from .reduction import weighted_mean
from .robust import IterationState, clean_outputs, row_lengths

FOLD_SQUARES = 3.0
"""The largest memory of a fold, in n × n float64 matrices."""
THRESHOLD_ROUNDS = 20
"""The largest number of alternations between a fit and the threshold of its robust loss."""
STEADY_THRESHOLD = 0.02
"""The relative change of a threshold below which it has converged."""


def refit(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Return a factorisation that learns the operator or cleans outputs, and refits on folds."""
    given, side, weights = problem, problem.inputs, problem.weights
    if problem.loss is not None and weights is not None:  # the loss applies them itself
        problem, cache = replace(problem, weights=None), Cache()
    if side.features is None:
        problem.require_memory(SPECTRAL_SQUARES)
    make = exact_spectrum if side.features is None else low_rank_spectrum
    spectrum = cache.spectrum(side.kernel, make, problem)
    output_rows, kind = cache.output_rows(problem), Refit if problem.loss is None else RobustRefit
    method = kind(problem, spectrum, output_rows, want.folds, weights)
    return Factorization(given, given.kernel, output_rows, [], method=method)


class Refit(SolutionMethod):
    """Solutions with a learnt operator, exact or low rank; left-out errors by refits on folds.

    The operator is learnt separately for each ridge α.

    Parameters
    ----------
    problem, spectrum, output_rows
        The problem, the spectrum of its input Gram matrix, and its outputs in coordinates.
    folds
        The number of folds.
    weights
        The sample weights of a robust loss; None for equal weights.
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

    def factor_at(self, alpha: float) -> tuple[Factorization, Loss | None]:
        """Return the factorisation with the operator learnt at `alpha`, and None as the loss."""
        return factor_separable(self.problem, self.spectrum, self.output_rows, alpha), None

    def solution(self, alpha: float) -> Solution:
        """Solve with the operator learnt at the ridge `alpha`, and return the fitted map g."""
        factorization, loss = self.factor_at(alpha)
        return replace(factorization.solve(alpha), loss=loss)

    @cached_property
    def folds(self) -> np.ndarray:  # type: ignore[override]
        """The fold number of each example."""
        return fold_numbers(self.problem.left_out_labels, self.n_folds)

    @cached_property
    def fold_fits(self) -> list[tuple[Refit, Array, np.ndarray]]:
        """For each fold: a `Refit` without it, its projected inputs, and its example numbers."""
        if self.problem.inputs.features is None:
            require_exact(self.problem.n, FOLD_SQUARES * self.n_folds)
        return [self._fit_without(self.folds == i) for i in range(self.folds.max() + 1)]

    def _fit_without(self, out: np.ndarray) -> tuple[Refit, Array, np.ndarray]:
        """Return a `Refit` without the examples masked by `out`, their projections and indices."""
        train, test = np.flatnonzero(~out), np.flatnonzero(out)
        training = self.problem.subset(train)
        spectrum, Z = self._spectrum_of_fold(train, test, training.weights)
        V, frame = take(self.output_rows.coordinates, train), self.output_rows.frame
        output_rows = OutputRows.centred(V, training.weights, training.intercept, frame)
        loss_weights = None if self.weights is None else self.weights[train]
        return type(self)(training, spectrum, output_rows, self.n_folds, loss_weights), Z, test

    def _spectrum_of_fold(
        self, train: np.ndarray, test: np.ndarray, weights: np.ndarray | None
    ) -> tuple[InputSpectrum, Array]:
        """Return the input spectrum of the examples `train`, and the projected inputs of `test`.

        Landmarks and length scales are held fixed: they are those of the fit to all examples.
        """
        whole, problem = self.spectrum, self.problem
        if isinstance(whole, LowRankSpectrum):
            U = whole.input_rows.coordinates
            U_train, U_test = (
                U[index] if issparse(U) else take(U, index) for index in (train, test)
            )
            rows = InputRows.of(whole.input_rows.map, U_train, weights, problem.intercept)
            low = LowRankSpectrum(lambda: rows)
            centred = U_test if low.mean is None else U_test - low.mean
            return low, dense(centred @ low.P) * namespace(low.s).sqrt(low.s)
        kernel, X = problem.inputs.kernel, problem.inputs.items
        if kernel.pairwise:
            kernel, X = Precomputed(kernel.checked_gram(X)), np.arange(problem.n)
        gram = InputGram(kernel, take(X, train), weights, problem.intercept)
        exact = ExactSpectrum(gram, direct=False)
        return exact, exact.project_inputs(take(X, test)).Z

    def residuals(self, alphas: Sequence[float]) -> Iterator[Array]:
        """Yield outputs minus predictions by the refit without their fold, for each alpha."""
        given = self.output_rows.coordinates
        for alpha in alphas:
            points = like(np.zeros(given.shape), given)
            for fit, Z, test in self.fold_fits:
                factorization, _ = fit.factor_at(alpha)
                G = Z @ factorization.parts[0].coefficients(alpha, factorization.Q)
                mean = factorization.output_rows.mean
                points = put(points, test, G if mean is None else G + mean)
            yield given - points

    def scale(self) -> float:
        """Return the unit of relative ridges, (tr K_x / n) · tr(B S_vv) / tr S_vv.

        K_x is the input Gram matrix, B the operator and S_vv the covariance of the outputs. For a
        learnt operator the unit is tr K_x / n times the unit of the operator.
        """
        V, operator = self.output_rows.rows, self.problem.kernel.operator
        if operator.learnt:
            level = self.spectrum.mean_diagonal or 1.0
            square = float(namespace(V).sum(V * V)) / self.problem.total
            return level * operator.unit(square or 1.0)
        return factor_separable(self.problem, self.spectrum, self.output_rows, 1.0).scale


class RobustRefit(Refit):
    """Solutions under a robust loss: one input spectrum, and outputs cleaned for each ridge α.

    Cleaning shortens the residuals of outliers. The operator is computed from outputs clipped to
    three times their median norm (around their median with an intercept), because the covariance
    of outliers is misleading.
    """

    last_state: IterationState | None = None
    """The last state of the iteration, from which the iteration at another α starts."""

    @cached_property
    def shortened_outputs(self) -> OutputRows:
        """The outputs with norms clipped to three times the median norm."""
        V, w = self.output_rows.coordinates, self.weights
        centre = column_medians(V, w) if self.problem.intercept else None
        return self._output_rows(shorten_rows(V, centre, w))

    def _output_rows(self, V: Array) -> OutputRows:
        """Return coordinates V as output rows of the problem, centred with an intercept."""
        return OutputRows.centred(V, None, self.problem.intercept, self.output_rows.frame)

    @cached_property
    def _fixed_operator(self) -> Factorization:
        """The factorisation of the shortened outputs, for operators that do not depend on α."""
        return self._factor_shortened(1.0)

    def _factor_shortened(self, alpha: float) -> Factorization:
        """Return the factorisation of shortened outputs, with an operator of weighted moments."""
        problem, spectrum, outputs = self.problem, self.spectrum, self.shortened_outputs
        if self.weights is None:
            return factor_separable(problem, spectrum, outputs, alpha)
        U, V = spectrum.E * namespace(spectrum.s).sqrt(spectrum.s), outputs.rows
        w = like(self.weights, V)
        if problem.intercept:
            U, V = (A - weighted_mean(A, self.weights) for A in (U, V))
        EV = spectrum.project_targets(outputs.rows)
        return factor_separable(problem, spectrum, outputs, alpha, Moments.of(U, V, w), EV)

    def factor_at(self, alpha: float) -> tuple[Factorization, Loss | None]:
        """Return the factorisation with outputs cleaned at `alpha`, and the fitted loss."""
        given: Any = self.problem.loss
        if self.problem.kernel.operator.learnt:
            base = self._factor_shortened(alpha)
        else:
            base = self._fixed_operator
        cleaned = _with_outputs(base, self.shortened_outputs)  # start with the shortened outputs
        loss = given.resolved(self._left_out_lengths(cleaned, alpha))
        for _ in range(THRESHOLD_ROUNDS):
            cleaned, used = self._factor_cleaned(base, loss, alpha), loss
            if not loss.adaptive:
                break
            loss = given.resolved(self._left_out_lengths(cleaned, alpha))
            if abs(loss.threshold_ - used.threshold_) <= STEADY_THRESHOLD * used.threshold_:
                break
        return cleaned, used

    def _factor_cleaned(self, base: Factorization, loss: Loss, alpha: float) -> Factorization:
        """Return the factorisation with the outputs cleaned by `clean_outputs` for this loss."""
        (part,) = base.parts
        given, shortened_outputs = (
            base.to_directions(V.coordinates) for V in (self.output_rows, self.shortened_outputs)
        )
        start = shortened_outputs if self.last_state is None else self.last_state
        T, reached = clean_outputs(part, given, loss, alpha, start, self.weights)
        if not self.problem.kernel.operator.learnt:
            self.last_state = reached
        return _with_outputs(base, self._output_rows(base.basis.to_coordinates(T)))

    def _left_out_lengths(self, factorization: Factorization, alpha: float) -> Array:
        """Return the distance of each given output from its left-out prediction."""
        change = self.output_rows.coordinates - factorization.output_rows.coordinates
        residuals = next(factorization.residuals([alpha]))
        return row_lengths(residuals + factorization.to_directions(change))


def _with_outputs(base: Factorization, output_rows: OutputRows) -> Factorization:
    """Return a copy of the factorisation `base` with other outputs and the same operator."""
    (part,) = base.parts
    T = base.to_directions(output_rows.rows)
    inside = part.spectrum.E.T @ T
    return replace(base, output_rows=output_rows, parts=[Part(part.spectrum, part.b, T, inside)])
