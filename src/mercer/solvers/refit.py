"""Learnt operators, whose left-out predictions come from refits on folds.

Leave-one-out in closed form holds fixed what was computed from all outputs. A learnt operator
depends too much on the left-out outputs; K-fold refits learn it again without these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from scipy.sparse import issparse

from .._base.arrays import Array, dense, like, namespace, put, take
from .._base.folds import fold_numbers
from .._base.plan import SPECTRAL_SQUARES, require_exact
from ..kernels import Precomputed
from ..problem import Problem, Want
from .exact import exact_spectrum, factor_separable
from .exact_spectrum import ExactSpectrum, InputGram
from .factorization import Factorization, Solution, SolutionMethod
from .input_spectrum import InputSpectrum
from .low_rank import InputRows, LowRankSpectrum, low_rank_spectrum
from .outputs import Cache, OutputRows

FOLD_SQUARES = 3.0
"""The largest memory of a fold, in n × n float64 matrices."""


def refit(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Return a factorisation that learns the operator, and refits on folds."""
    side = problem.inputs
    if side.features is None:
        problem.require_memory(SPECTRAL_SQUARES)
    make = exact_spectrum if side.features is None else low_rank_spectrum
    spectrum = cache.spectrum(side.kernel, make, problem)
    output_rows = cache.output_rows(problem)
    method = Refit(problem, spectrum, output_rows, want.folds)
    return Factorization(problem, problem.kernel, output_rows, [], method=method)


class Refit(SolutionMethod):
    """Solutions with a learnt operator, exact or low rank; left-out errors by refits on folds.

    The operator is learnt separately for each ridge α.

    Parameters
    ----------
    problem, spectrum, output_rows
        The problem, the spectrum of its input Gram matrix, and its outputs in coordinates.
    folds
        The number of folds.
    """

    leaves_out = True

    def __init__(
        self,
        problem: Problem,
        spectrum: InputSpectrum,
        output_rows: OutputRows,
        folds: int,
    ):
        self.problem, self.spectrum, self.output_rows = problem, spectrum, output_rows
        self.n_folds = folds

    def factor_at(self, alpha: float) -> Factorization:
        """Return the factorisation with the operator learnt at `alpha`."""
        return factor_separable(self.problem, self.spectrum, self.output_rows, alpha)

    def solution(self, alpha: float) -> Solution:
        """Solve with the operator learnt at the ridge `alpha`, and return the fitted map g."""
        return self.factor_at(alpha).solve(alpha)

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
        return Refit(training, spectrum, output_rows, self.n_folds), Z, test

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
                factorization = fit.factor_at(alpha)
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
