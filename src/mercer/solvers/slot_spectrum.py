"""Inputs whose rows are slots, pairs of an example and an output component."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.arrays import Array, Items, blocks, count, like, namespace, part, put, take
from .._base.linalg import factor_with_ridge
from .._base.memory import GIB, PLANNED_FRACTION, available
from ..operators import BlockGram, OperatorKernel
from ..operators.slots import Slots
from .input_spectrum import DIAGONAL_ITEMS, FittedMap, InputSpectrum, ProjectedInputs
from .reduction import Reduction
from .weights import CoupledMap

DENSE_SQUARES = 4.0
"""Peak memory of a dense fit in matrices over all slots."""


class SlotSpectrum(InputSpectrum):
    """Inputs with one row per slot, a pair of a training example and an output component.

    Attributes
    ----------
    slots
        Those of the training examples.
    weights
        The sample weight of each training slot; None for equal weights.
    shares
        1/√Σw of each output component; None without an intercept.
    """

    slots: Slots
    weights: np.ndarray | None
    shares: np.ndarray | None

    @property
    def size(self) -> int:
        """The number of training slots."""
        return self.slots.size

    def set_constants(self, intercept: bool) -> None:
        """Store for each output component the entries 1/√Σw of its constant vector."""
        w = np.ones(self.slots.size) if self.weights is None else self.weights
        self.total = float(w.sum())
        totals = np.bincount(self.slots.places, w, minlength=self.slots.width)
        self.shares = np.where(totals > 0, totals, np.inf) ** -0.5 if intercept else None

    @property
    def constant_count(self) -> int:
        """The number of output components that occur, each with its own intercept."""
        return 0 if self.shares is None else int((self.shares > 0).sum())

    def new_constant_entries(self, at: ProjectedInputs) -> Array | float:
        """Return the entry 1/√Σw of the intercept's unit vector at each slot of new inputs."""
        if self.shares is None or at.slots is None:
            return 0.0
        return like(self.shares[at.slots.places][:, None], self.s)

    def intercept_change(self, at: ProjectedInputs, own: np.ndarray, e: Array) -> Array | float:
        """Return how residuals e of training slots `own` change the intercepts at new slots."""
        if self.shares is None or at.slots is None:
            return 0.0
        places = self.slots.places[own]
        N = like((np.arange(self.slots.width)[:, None] == places) * self._constant_entries(own), e)
        return self.new_constant_entries(at) * take(N @ e, at.slots.places)

    def _constant_entries(self, index: Any) -> np.ndarray:
        """Return the nonzero entry of the constant vectors N in each of the rows `index`."""
        assert self.shares is not None
        roots = 1.0 if self.weights is None else np.sqrt(self.weights[index])
        return roots * self.shares[self.slots.places[index]]

    def squared_constants(self, index: slice) -> Array | float:
        """Return the squared entry of the constant vectors N in each of the rows `index`."""
        return 0.0 if self.shares is None else like(self._constant_entries(index) ** 2, self.s)

    def constant_blocks(self, members: np.ndarray) -> tuple[Array, Array] | None:
        """Return N_gN_gᵀ per group of rows, and its part from components in no other group.

        N holds the constant vectors of the output components.
        """
        if self.shares is None:
            return None
        places, levels = self.slots.places[members], self._constant_entries(members)
        same = places[:, :, None] == places[:, None, :]
        products = same * levels[:, :, None] * levels[:, None, :]
        rows = np.bincount(self.slots.places, minlength=self.slots.width)
        alone = same.sum(axis=2) >= rows[places]
        return like(products, self.s), like(products * alone[:, :, None], self.s)

    def solve_without_constants(self, members: np.ndarray, A: Array) -> Array:
        """Return (I - N_gN_gᵀ)⁻¹A per group, omitting constants that occur in one group only."""
        if self.shares is None:
            return A
        places, levels = self.slots.places[members], self._constant_entries(members)
        at = (places[:, None, :] == np.arange(self.slots.width)[:, None]) * levels[:, None, :]
        mass = (at**2).sum(axis=2)
        rows = np.bincount(self.slots.places, minlength=self.slots.width)
        known = (at > 0).sum(axis=2) < rows
        gain = np.where(known, 1.0 / np.where(known, 1.0 - mass, 1.0), 0.0)
        N = like(at, A)
        inner = like(gain[:, :, None], A) * (N @ A)
        return A + namespace(A).matrix_transpose(N) @ inner


class SlotGramSpectrum(SlotSpectrum):
    """Spectrum of the full Gram matrix of an operator-valued kernel over all training slots.

    The spectrum is made when more than a solution is needed.
    """

    cached: Any = None
    """The spectrum once it is computed."""

    def __init__(
        self, kernel: OperatorKernel, X: Items, weights: np.ndarray | None, intercept: bool
    ):
        self.kernel, self.X, self.intercept = kernel, X, intercept
        self.slots = kernel.gram(X).rows
        require_slot_gram_memory(self.slots.size)
        self.weights = None if weights is None else weights[self.slots.owners]
        self.complete = self.all_rows = self.orthonormal = True
        self.set_constants(intercept)

    @property
    def factored(self) -> tuple[Array, Array, Reduction, Any]:
        """Eigenvalues, eigenvectors, the reduction, and the mean Gram row of each component."""
        if self.cached is None:
            self.cached = self._factor()
        return self.cached

    def _factor(self) -> tuple[Array, Array, Reduction, Any]:
        """Compute the eigendecomposition that `spectrum` returns."""
        K, weights = self.kernel.gram(self.X).matrix() + 0.0, self.weights
        means = self.slots.means(K, weights) if self.intercept else None
        largest = float(namespace(K).max(namespace(K).linalg.diagonal(K)))
        reduction = Reduction.of(weights, self.intercept, K, self.slots.places)
        A = reduction.reduce_gram(K)
        s, E = reduction.eigh(A, "operator-valued Gram matrix", largest)
        return s, E, reduction, means

    s = property(lambda self: self.factored[0])
    E = property(lambda self: self.factored[1])
    reduction = property(lambda self: self.factored[2])
    N = property(lambda self: self.reduction.N)
    roots = property(lambda self: self.reduction.roots)

    def project_inputs(self, X: Items, prior: bool = False) -> ProjectedInputs:
        """Project the slots of new inputs on the eigenvectors; `prior` adds prior variances."""
        gram, means = self.kernel.gram(X, self.X), self.factored[3]
        K, slots = gram.matrix(), gram.rows
        own = diagonal(self.kernel, X) if prior else None
        if means is not None:
            own = None if own is None else self._centred_variances(own, K, slots)
            K = K - take(means, slots.places)
        return ProjectedInputs(K @ self.reduction.weighted(self.E), own, slots)

    def _centred_variances(self, own: Array, K: Array, slots: Slots) -> Array:
        """Return prior variances `own` after centring the features by output component."""
        xp, turn = namespace(K), namespace(K).matrix_transpose
        across = turn(self.slots.means(turn(K), self.weights))  # (rows, width)
        level = self.slots.means(turn(self.factored[3]), self.weights)
        at = like(np.eye(slots.width)[slots.places], K)
        own = own - 2.0 * xp.sum(across * at, axis=1)
        return own + take(xp.linalg.diagonal(level), slots.places)

    def solve(self, smoother: Any, alpha: float, Q: Array | None = None) -> FittedMap:
        """Return the fitted map for the targets of `smoother` (a `Part`), and its training mean."""
        gram = self.kernel.gram(self.X)
        try:
            made = self.cached is not None
            C = (
                self._coefficients_by_spectrum(smoother, alpha)
                if made
                else self._coefficients_by_cholesky(gram, smoother.T, alpha)
            )
        except np.linalg.LinAlgError:
            C = self._coefficients_by_spectrum(smoother, alpha)  # α is lost in rounding
        means = self.slots.means(gram.apply(C), self.weights)
        mean = namespace(means).reshape(means, (-1,)) if self.intercept else 0.0
        return CoupledMap(self.kernel, self.X, self.slots.join(C)), mean

    def _coefficients_by_spectrum(self, smoother: Any, alpha: float) -> Array:
        """Return the dual coefficients for `alpha`, computed from the spectrum."""
        return self.reduction.weighted(self.E @ smoother.coefficients(alpha))

    def _coefficients_by_cholesky(self, gram: BlockGram, T: Array, alpha: float) -> Array:
        """Return the dual coefficients for `alpha`, by Cholesky factors of the coupled blocks."""
        C, w, places = T + 0.0, self.weights, self.slots.places
        for own, G in gram.parts():
            some = None if w is None else w[own]
            reduction = Reduction.of(some, self.intercept, G, places[own])
            A = reduction.reduce_gram(G)
            ridge = factor_with_ridge(A + 0.0 if A is G else A, alpha)
            solved = reduction.expand_rows(ridge.solve(reduction.reduce_rows(take(T, own))))
            C = put(C, own, reduction.weighted(solved))
        return C


def diagonal(kernel: OperatorKernel, X: Items) -> Array:
    """Return the diagonal of K(x, x) for every input in X, one value per slot."""
    own = [kernel.gram(part(X, rows)).matrix() for rows in blocks(count(X), DIAGONAL_ITEMS)]
    xp = namespace(*own)
    return xp.concat([xp.linalg.diagonal(K) for K in own])


def require_slot_gram_memory(size: int) -> None:
    """Raise MemoryError if a matrix over `size` slots exceeds the memory."""
    needed, free = 8.0 * DENSE_SQUARES * size * size, PLANNED_FRACTION * available()
    if needed > free:
        raise MemoryError(
            f"this operator-valued kernel has {size} rows, examples times coupled components, and "
            f"its matrix written out needs about {needed / GIB:.1f} GiB of {free / GIB:.1f} GiB "
            "free. KernelDependency(…, solver='cg') needs products only; choose alpha and length "
            "scales with KernelDependencyCV on a part of the examples."
        )
