"""One solution of a scalar kernel times an operator by conjugate gradients, without a spectrum.

With sample weights w, r = √w, N = r/√Σw and P = I - NNᵀ (I without an intercept), let
K̃ = P (r ∘ K ∘ rᵀ) P and T = P (r ∘ V) for outputs V. Along the direction Q_j of the operator, with
eigenvalue b_j, the solution is c_j = (K̃ + (α/b_j) I)⁻¹ (TQ)_j, and zero if b_j is zero. The map is
g(x) = v̄ + (k(x, X) - k̄) (r ∘ C Qᵀ), with the weighted means v̄ of outputs and k̄ of kernel values.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property, partial
from math import inf
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._base.arrays import Array, host, is_foreign, like, namespace, put, take_columns
from .._base.linalg import NotPositiveSemidefinite, adjoint, frobenius_norm, inner_product
from .._base.progress import Report
from ..embedding import PointMap
from ..operators import Separable
from ..problem import Problem, Want
from .conjugate_gradients import Iterates, column_norms, solve_shifted
from .exact import cholesky, spectral
from .exact_spectrum import ExactSpectrum, InputGram
from .factorization import Factorization, Iterative, Solution, at_its_ridge
from .gram_products import BlockProducts, GramProducts, MatrixProducts
from .outputs import Cache, OutputRows
from .parts import training_weights
from .random_pivots import RandomPivots

SMALLEST_RESIDUAL = 1e-10
"""The norm of a residual, relative to that of its outputs, at which a column has converged."""
LEAST_EXAMPLES = 1500
"""With fewer examples a factorisation is as fast."""
LARGEST_WIDTH = 0.05
"""With more outputs, relative to the number of examples, a factorisation is as fast."""
LARGEST_CONDITION = 1e6
"""The largest (λ + τ) / τ of the largest eigenvalue λ and the smallest shift τ."""
LARGEST_WEIGHT_RATIO = 1e4
"""The largest weight divided by the smallest."""
BUDGET, DEVICE_BUDGET = 1.0, 7.0
"""The number of products with a column, over the number of examples, after which the spectrum is
taken: they last half an eigendecomposition, on a processor and on an accelerator."""
CHOLESKY_SHARE = 1 / 6
"""The time of a Cholesky factor, which serves the identity, relative to half a spectrum."""
MOST_ROUNDS = 1000
"""The largest number of iterations."""
RANK_FRACTION, LARGEST_RANK = 0.1, 4096
"""The largest rank of the preconditioner, relative to the number of examples, and at all."""


class NeedsSpectrum(RuntimeError):
    """Conjugate gradients do not give the solution fast or accurately enough."""


def iterative_refusal(problem: Problem, want: Want) -> str | None:
    """Return the reason why conjugate gradients do not solve a problem; None if they do.

    If they are requested, only reasons that make them impossible count.
    """
    if not want.single or want.moves or want.relative:
        return "solver='cg' solves at one ridge and leaves nothing out: use solver='auto'"
    return None if want.solver == "cg" else few_outputs(problem)


def few_outputs(problem: Problem) -> str | None:
    """Return the reason why conjugate gradients would be slow or inaccurate; None if they are not.

    They are for many examples with few outputs and similar weights.
    """
    n, w, width = problem.n, problem.weights, problem.outputs.width
    if n < LEAST_EXAMPLES or problem.spanned or (width or 0) > LARGEST_WIDTH * n:
        return "a factorisation is as fast"
    if w is not None and w.max() > LARGEST_WEIGHT_RATIO * w.min():
        return "weights differ too much"
    return None


def iterative(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Solve a problem at its ridge by conjugate gradients.

    If they do not converge soon, the problem is factored by its spectrum, or by Cholesky.
    """
    output_rows, requested = cache.output_rows(problem), want.solver == "cg"
    system = RidgeSystem.of(problem, int(output_rows.rows.shape[1]), requested)
    try:
        dual = system.dual(problem, output_rows, want.alphas[0])
        found = system.solution(dual, problem, output_rows, want.alphas[0])
        return Iterative(problem, found.kernel, output_rows, at_its_ridge(want.alphas[0], found))
    except (NeedsSpectrum, NotPositiveSemidefinite) as error:
        if requested:
            warnings.warn(
                f"{error}: the spectrum was used. Raise alpha, or use solver='auto'.",
                ConvergenceWarning,
                stacklevel=2,
            )
    return factorized(system.gram_of_values(), problem, want, cache)


def factorized(gram: InputGram, problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Factor a problem by a Cholesky factor or the spectrum, given its kernel values."""
    direct = problem.kernel.operator.uniform is not None
    cache.current = (problem.inputs.kernel, ExactSpectrum(gram, direct))
    return (cholesky if direct and want.single else spectral)(problem, want, cache)


@dataclass(frozen=True, eq=False)
class DualSolution:
    """The solution along the directions of the operator.

    Attributes
    ----------
    TQ
        The outputs along the directions, centred and weighted.
    Q
        The directions; None if they are the coordinates.
    shifts
        α/b_j for each direction; infinite where b_j is zero.
    C
        The dual coefficients, one column for each direction.
    residual
        The largest relative residual.
    """

    TQ: Array
    Q: Array | None
    shifts: Array
    C: Array
    residual: float


@dataclass(eq=False)
class RidgeSystem:
    """The systems (K̃ + τI) x = t of a problem, for any shifts τ.

    Attributes
    ----------
    gram
        The kernel on the training inputs.
    products
        Products with K.
    roots, N
        The columns r = √w and N; None for equal weights, and without an intercept.
    rank
        The rank of the preconditioner.
    budget
        The number of products of K with a column that may still be used.
    """

    gram: InputGram
    products: GramProducts
    roots: Array | None
    N: Array | None
    rank: int
    budget: float
    n_iter: int = 0

    @classmethod
    def of(cls, problem: Problem, q: int, requested: bool) -> RidgeSystem:
        """Compute the Gram matrix of a problem with q outputs, or its features if they are fewer.

        The rank of the preconditioner takes as long as a few products with all outputs.
        """
        side, w, n = problem.inputs, problem.weights, problem.n
        gram = InputGram(side.kernel, side.items, w, problem.intercept)
        rank = int(min(max(1, RANK_FRACTION * n), LARGEST_RANK, max(100, 2 * (n * q) ** 0.5)))
        products = gram.products(rank, q)
        where = products.diagonal
        roots = None if w is None else like(np.sqrt(w)[:, None], where)
        N = None
        if problem.intercept:
            N = like(np.full((n, 1), n**-0.5), where) if w is None else roots / w.sum() ** 0.5
        budget = n * (DEVICE_BUDGET if is_foreign(where) else BUDGET)
        budget *= CHOLESKY_SHARE if problem.kernel.operator.uniform else 1.0
        budget = inf if requested else budget
        return cls(gram, products, roots, N, rank, budget)

    def gram_of_values(self) -> InputGram:
        """Return the kernel on the training inputs with its values, so that they are kept."""
        gram = self.gram
        known = self.products.K if isinstance(self.products, MatrixProducts) else None
        return InputGram(gram.kernel, gram.X, gram.weights, gram.intercept, known=known)

    # -- products -----------------------------------------------------------------------------

    def centred(self, D: Array) -> Array:
        """Return P D."""
        return D if self.N is None else D - self.N @ (self.N.T @ D)

    def without_constants(self, D: Array) -> Array:
        """Return P D, with zeros for columns of which nothing but rounding errors is left."""
        if self.N is None:
            return D
        once = self.centred(D)
        twice = self.centred(once)
        return twice * like(column_norms(twice) > 0.5 * column_norms(once), D)

    def weighted(self, D: Array) -> Array:
        """Return r ∘ D."""
        return D if self.roots is None else self.roots * D

    def times(self, D: Array) -> Array:
        """Return K̃ D for columns D with P D = D."""
        return self.centred(self.weighted(self.products.times(self.weighted(D))))

    @cached_property
    def pivots(self) -> RandomPivots:
        """The preconditioner."""
        return RandomPivots.of(self.products, self.roots, self.N, self.rank)

    @cached_property
    def largest_value(self) -> float:
        """The largest k̃(x, x) of a training input."""
        diagonal = self.products.diagonal
        means = self.gram.means
        if means is not None:
            w = self.gram.weights
            mean = namespace(means).mean(means) if w is None else like(w / w.sum(), means) @ means
            diagonal = diagonal - 2.0 * means + mean
        return float(namespace(diagonal).max(diagonal))

    @cached_property
    def largest_eigenvalue(self) -> float:
        """The largest eigenvalue of K̃, by one step of the power method from the pivots."""
        return frobenius_norm(self.times(self.pivots.leading))

    @cached_property
    def trace(self) -> float:
        """A bound on the trace of K̃."""
        diagonal = self.products.diagonal
        diagonal = diagonal if self.roots is None else diagonal * self.roots[:, 0] ** 2
        return float(namespace(diagonal).sum(diagonal))

    # -- solutions ----------------------------------------------------------------------------

    def solve(self, T: Array, shifts: Array) -> Iterates:
        """Return the solutions of (K̃ + τ_j I) x_j = T_j; raise NeedsSpectrum if they are not found.

        The largest error at a new input x is ‖r‖ √k̃(x, x) / (2 √τ) for a residual r.
        """
        xp = namespace(T)
        if not self.products.diagonal.dtype == xp.float64:
            raise NeedsSpectrum("the Gram matrix is in single precision")
        limit = LARGEST_CONDITION * float(xp.min(shifts))
        if self.budget < inf and self.trace > limit and self.largest_eigenvalue > limit:
            raise NeedsSpectrum("the ridge is small")
        T = self.without_constants(T)
        norms = column_norms(T)
        roots = np.sqrt(host(shifts) / max(self.largest_value, np.finfo(float).tiny))
        goals = SMALLEST_RESIDUAL * norms * np.minimum(1.0, roots)
        arguments = self.times, T, shifts, goals, self.precondition, MOST_ROUNDS, self.budget
        if isinstance(self.products, BlockProducts):  # which takes minutes
            report = Report()
            with report.shown():
                found = solve_shifted(*arguments, watch=partial(_show, report))
        else:
            found = solve_shifted(*arguments)
        if not found.converged:
            raise NeedsSpectrum("conjugate gradients did not converge soon")
        self.n_iter += found.n_iter
        self.budget -= found.n_iter * T.shape[1]
        return found

    def precondition(self, R: Array, shifts: Array) -> Array:
        """Return P times the preconditioner times R."""
        return self.centred(self.pivots(R, shifts))

    def dual(self, problem: Problem, output_rows: OutputRows, alpha: float) -> DualSolution:
        """Determine the operator of a problem, and solve along its directions."""
        T = self.without_constants(output_rows.rows)  # again: the mean is rounded
        xp, (n, q) = namespace(T), T.shape
        if self.budget < inf and q > LARGEST_WIDTH * n:
            raise NeedsSpectrum("there are many outputs")
        b, Q = problem.kernel.operator.eigh(ProductMoments(problem.total, T, self))
        TQ = T if Q is None else T @ Q
        shifts = like(np.divide(alpha, host(b), where=host(b) > 0, out=np.full(q, inf)), T)
        live = np.flatnonzero(host(b) > 0)
        C, residual = xp.zeros_like(TQ), 0.0
        if len(live):
            own = take_columns(TQ, live)
            found = self.solve(own, take_columns(shifts[None, :], live)[0, :])
            C = xp.matrix_transpose(put(xp.matrix_transpose(C), live, xp.matrix_transpose(found.X)))
            norms = column_norms(own)
            residual = float((found.residuals / np.where(norms > 0, norms, 1.0)).max())
        return DualSolution(TQ, Q, shifts, C, residual)

    def solution(
        self, dual: DualSolution, problem: Problem, output_rows: OutputRows, alpha: float
    ) -> Solution:
        """Return the fitted map of a problem at the ridge alpha."""
        C = dual.C if dual.Q is None else dual.C @ adjoint(dual.Q)
        map, explained = self.gram.dual_map(C)
        offset = None if output_rows.mean is None else output_rows.mean - explained
        weights = training_weights(problem, output_rows, alpha)
        kernel = Separable(problem.inputs.kernel, problem.kernel.operator)
        points = PointMap(map, offset, output_rows.frame, weights)
        return Solution(points, kernel, self.n_iter, dual.residual)

    def matrix(self) -> Array:
        """Return K̃ as a new array."""
        products = self.products
        K = (
            products.K
            if isinstance(products, MatrixProducts)
            else products.times(like(np.eye(int(products.diagonal.shape[0])), products.diagonal))
        )
        K = K + 0.0 if self.roots is None else self.roots * K * self.roots.T
        if self.N is None:
            return K
        R = K @ self.N
        R = R - self.N * (0.5 * float((self.N.T @ R)[0, 0]))
        K -= R @ self.N.T
        K -= self.N @ R.T
        return K


def _show(report: Report, n_iter: int, done: float) -> None:
    """Show the number of an iteration, and how much is done."""
    report.show("conjugate gradients", done, f"iteration {n_iter}")


@dataclass(frozen=True, eq=False)
class ProductMoments:
    """Moments of the outputs T, of which the operator of a problem is made, without a spectrum.

    Attributes
    ----------
    n
        The sum of the sample weights.
    T
        The outputs, centred and weighted.
    system
        The systems that give the part of the outputs that a ridge regression does not explain.
    """

    n: float
    T: Array
    system: RidgeSystem

    @property
    def ones(self) -> Array:
        """A vector of ones, the diagonal of the identity in output coordinates."""
        return namespace(self.T).ones_like(self.T[0, :])

    @cached_property
    def vv(self) -> Array:
        """The second moments of the output coordinates."""
        return self.T.T @ self.T

    @property
    def covariance(self) -> Array:
        """The output moments divided by n."""
        return self.vv / self.n

    @property
    def total_variance(self) -> float:
        """The trace of the output covariance."""
        return inner_product(self.T, self.T) / self.n

    def unexplained(self, epsilon: float) -> Array:
        """Return nε Tᵀ (K̃ + nεI)⁻¹ T, the part of the output moments that is not explained."""
        shift = self.n * epsilon
        found = self.system.solve(self.T, shift * self.ones)
        S = shift * (self.T.T @ found.X)
        return 0.5 * (S + S.T)

    @property
    def uu(self) -> Any:
        """The moments of the inputs, which take a spectrum."""
        raise NeedsSpectrum("the operator reads the moments of the inputs")

    vu = u = v = uu
