"""Left-out predictions of single examples at one ridge, without eigenvectors.

With G(τ) = (K̃ + τI)⁻¹ - NNᵀ/τ in the notation of `iterative`, the left-out residual of example i
along direction j is c_ij / (r_i G_ii(τ_j)), with the dual coefficients c and the shift τ_j. G_ii is
a smooth function of the shift: log(τ G_ii(τ)) is interpolated in log τ. Each node takes a Cholesky
factor and the squared norms of the columns of its inverse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .._base.arrays import Array, blocks, host, is_foreign, like, namespace
from .._base.errors import NotSupported
from .._base.linalg import NotPositiveSemidefinite, PositiveDefinite, add_ridge, solve_triangular
from .._base.memory import PLANNED_FRACTION, free_bytes
from .._base.plan import LEVERAGE_SQUARES, SPECTRAL_SQUARES, exact_bytes
from ..problem import Problem, Want
from .factorization import Factorization, Iterative, at_its_ridge
from .iterative import DualSolution, NeedsSpectrum, RidgeSystem, factorized, few_outputs
from .outputs import Basis, Cache, OutputRows

INTERVALS = (3, 6, 12, 24)
"""The numbers of intervals between Chebyshev nodes; each next number has all nodes of the last."""
LARGEST_STEP = 1e-4
"""The largest relative difference to half as many nodes: the error is then about 1e-6."""
SERIES = 10.0
"""Above this multiple of the largest eigenvalue, the first terms of a series are enough."""
DEVICE_EXAMPLES = 8000
"""With fewer examples a spectrum is as fast on an accelerator."""
COLUMNS = 4096
"""The number of columns of an inverse that are computed together."""


def leverages_refusal(problem: Problem, want: Want) -> str | None:
    """Return the reason why leverages are not interpolated; None if they are."""
    if len(want.alphas) != 1 or want.relative or want.moves or want.solver != "auto":
        return "several ridges, or left-out models, are needed"
    if not want.left_out or problem.groups is not None:
        return "single examples are not left out"
    where = problem.inputs.items
    free = PLANNED_FRACTION * free_bytes(where)
    device = is_foreign(where) and problem.n >= DEVICE_EXAMPLES
    faster = device and problem.kernel.operator.uniform is None
    if not faster and exact_bytes(problem.n, SPECTRAL_SQUARES) <= free:
        return "a spectrum is as fast"
    if exact_bytes(problem.n, LEVERAGE_SQUARES) > free:
        return "the Gram matrix does not fit into memory"
    return few_outputs(problem)


def leverages(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Solve a problem at its ridge, and leave out single examples.

    If the interpolation or the solution is not accurate enough, the problem is factored.
    """
    output_rows, (alpha,) = cache.output_rows(problem), want.alphas
    system = RidgeSystem.of(problem, int(output_rows.rows.shape[1]), want.solver == "cg")
    try:
        dual = system.dual(problem, output_rows, alpha)
        G = inverse_diagonals(system, dual.shifts)
    except (NeedsSpectrum, NotPositiveSemidefinite):
        return factorized(system.gram_of_values(), problem, want, cache)
    solution = system.solution(dual, problem, output_rows, alpha)
    errors = LeverageErrors(problem, output_rows, alpha, *_residuals(system, dual, G))
    return Iterative(
        problem, solution.kernel, output_rows, at_its_ridge(alpha, solution), Basis(dual.Q), errors
    )


def _residuals(system: RidgeSystem, dual: DualSolution, G: Array) -> tuple[Array, Array]:
    """Return the residuals of the fit along all directions, and one minus the leverages.

    Along directions that the operator does not predict, only the mean is fitted.
    """
    xp, finite = namespace(G), dual.shifts < np.inf
    tau = xp.where(finite, dual.shifts, xp.ones_like(dual.shifts))
    mean_only = xp.ones_like(G) if system.N is None else xp.ones_like(G) - system.N**2
    return xp.where(finite, tau * dual.C, dual.TQ), xp.where(finite, tau * G, mean_only)


@dataclass(frozen=True, eq=False)
class LeverageErrors:
    """The left-out residuals of single examples at one ridge.

    Attributes
    ----------
    problem, output_rows
        The problem and its outputs.
    alpha
        The ridge.
    R, rest
        The residuals of the fit, and one minus the leverages, (n, directions).
    """

    problem: Problem
    output_rows: OutputRows
    alpha: float
    R: Array
    rest: Array

    def __call__(self, alphas: Sequence[float], averaged: bool) -> Iterator[Array]:
        """Yield the outputs minus left-out predictions, or by the mean leverage if `averaged`."""
        if list(alphas) != [self.alpha]:
            raise NotSupported(
                f"this fit of {self.problem.kernel} leaves out at its ridge alone: factor for all "
                "ridges."
            )
        rest = self.rest
        if averaged:
            n, total = self.problem.n, self.problem.total
            rest = (n * namespace(rest).mean(rest) + (total - n)) / total
        yield self.output_rows.unweighted(self.R / rest)


# -- the diagonal of G at all shifts ---------------------------------------------------------------


def inverse_diagonals(system: RidgeSystem, shifts: Array) -> Array:
    """Return G_ii(τ_j) for all examples and shifts; ones where a shift is infinite."""
    taus = np.asarray(host(shifts), dtype=float)
    finite = taus[np.isfinite(taus)]
    logs, where = np.log(np.unique(finite)), system.products.diagonal
    matrix = system.matrix()
    upper = np.log(SERIES * system.largest_eigenvalue)
    if len(logs) <= INTERVALS[1] or logs[-1] == logs[0]:
        values = {x: log_diagonal(matrix, system.N, float(np.exp(x))) for x in logs}
        columns = [values[x] for x in np.log(taus[np.isfinite(taus)])]
        found = iter(columns)
    else:
        low, high = logs[0], min(logs[-1], upper)
        inside = np.log(finite) <= high
        near = iter(interpolated(matrix, system.N, low, high, np.log(finite)[inside]))
        far = iter(series(matrix, system.N, finite[~inside]))
        found = (next(near) if own else next(far) for own in inside)
    xp = namespace(where)
    made = [
        xp.exp(next(found)) / float(tau) if np.isfinite(tau) else xp.ones_like(where)
        for tau in taus
    ]
    return xp.stack(made, axis=1)


def interpolated(
    matrix: Array, N: Array | None, low: float, high: float, at: np.ndarray
) -> list[Array]:
    """Return log(τ G_ii(τ)) at the points log τ = `at`, from Chebyshev nodes between two points.

    The number of nodes is doubled until the values change little.
    """
    known: dict[float, Array] = {}
    before: list[Array] | None = None
    for number in INTERVALS:
        angles = [k / number for k in range(number + 1)]  # of pi
        for angle in angles:
            if angle not in known:
                x = 0.5 * (low + high) - 0.5 * (high - low) * np.cos(np.pi * angle)
                known[angle] = log_diagonal(matrix, N, float(np.exp(x)))
        nodes = 0.5 * (low + high) - 0.5 * (high - low) * np.cos(np.pi * np.array(angles))
        values = namespace(matrix).stack([known[angle] for angle in angles])
        weights = barycentric_weights(nodes, at)
        found = list(like(weights, values) @ values)
        if before is not None:
            change = max(
                float(namespace(a).max(abs(a - b))) for a, b in zip(found, before, strict=True)
            )
            if change <= LARGEST_STEP:
                return found
        before = found
    raise NeedsSpectrum("the leverages are not interpolated accurately")


def barycentric_weights(nodes: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return the weights of the values at Chebyshev nodes in the interpolant at points `at`."""
    signs = (-1.0) ** np.arange(len(nodes))
    signs[[0, -1]] *= 0.5
    differences = at[:, None] - nodes
    exact = np.abs(differences) <= 1e-14 * np.abs(nodes).max()
    terms = signs / np.where(exact, 1.0, differences)
    terms[exact.any(axis=1)] = 0.0
    terms[exact] = 1.0
    return terms / terms.sum(axis=1, keepdims=True)


def log_diagonal(matrix: Array, N: Array | None, tau: float) -> Array:
    """Return log(τ G_ii(τ)) from a Cholesky factor of K̃ + τI."""
    xp = namespace(matrix)
    try:
        L = PositiveDefinite.of(add_ridge(matrix + 0.0, tau)).factor
    except np.linalg.LinAlgError as error:
        raise NeedsSpectrum("the ridge is lost in rounding") from error
    n, norms = int(L.shape[0]), []
    for columns in blocks(n, COLUMNS):  # of the inverse, whose rows above are zero
        start, width = columns.start, columns.stop - columns.start
        unit = like(np.eye(n - start, width), L)
        inverse = solve_triangular(L[start:, start:], unit)
        norms.append(xp.sum(inverse * inverse, axis=0))
    rest = tau * xp.concat(norms)
    return xp.log(rest if N is None else rest - N[:, 0] ** 2)


def series(matrix: Array, N: Array | None, taus: np.ndarray) -> list[Array]:
    """Return log(τ G_ii(τ)) at large shifts, from the first terms in 1/τ."""
    if not len(taus):
        return []
    xp = namespace(matrix)
    diagonal, squares = xp.linalg.diagonal(matrix), xp.sum(matrix * matrix, axis=1)
    first = 1.0 if N is None else 1.0 - N[:, 0] ** 2
    return [xp.log(first - diagonal / float(tau) + squares / float(tau) ** 2) for tau in taus]
