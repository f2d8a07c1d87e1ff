"""Operators that are computed at each ridge, and held fixed when examples are left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .._base.arrays import Array
from .._base.plan import SPECTRAL_SQUARES
from ..problem import Problem, Want
from .exact import exact_spectrum, factor_separable
from .factorization import Factorization, Iterative, Solution
from .input_spectrum import InputSpectrum
from .low_rank import low_rank_spectrum
from .outputs import Cache, OutputRows
from .parts import Parts


def by_ridge(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Factor a problem at the only ridge, or return a factorisation with several operators."""
    side = problem.inputs
    if side.features is None:
        problem.require_memory(SPECTRAL_SQUARES)
    make = exact_spectrum if side.features is None else low_rank_spectrum
    spectrum = cache.spectrum(side.kernel, make, problem)
    output_rows = cache.output_rows(problem)
    if len(want.alphas) == 1 and not want.relative:
        return factor_separable(problem, spectrum, output_rows, want.alphas[0])
    made = OperatorByRidge(problem, spectrum, output_rows)
    return Iterative(
        problem,
        problem.kernel,
        output_rows,
        made.solution,
        errors=made.residuals,
        unit=lambda: spectrum.mean_diagonal or 1.0,
    )


class OperatorByRidge:
    """Solutions and left-out predictions with the operator of each ridge.

    Parameters
    ----------
    problem, spectrum, output_rows
        The problem, the spectrum of its input Gram matrix, and its outputs in coordinates.
    """

    def __init__(self, problem: Problem, spectrum: InputSpectrum, output_rows: OutputRows):
        self.problem, self.spectrum, self.output_rows = problem, spectrum, output_rows

    def at(self, alpha: float) -> Parts:
        """Return the factorisation with the operator at the ridge `alpha`."""
        return factor_separable(self.problem, self.spectrum, self.output_rows, alpha)

    def solution(self, alpha: float) -> Solution:
        """Solve with the operator at the ridge `alpha`, and return the fitted map g."""
        return self.at(alpha).solve(alpha)

    def residuals(self, alphas: Sequence[float], averaged: bool) -> Iterator[Array]:
        """Yield outputs minus left-out predictions in output coordinates, for each alpha."""
        for alpha in alphas:
            fixed = self.at(alpha)
            yield fixed.basis.to_coordinates(next(iter(fixed.residuals([alpha], averaged))))
