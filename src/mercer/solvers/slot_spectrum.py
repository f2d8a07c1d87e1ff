"""Spectra of Gram matrices over slots, which are pairs of an example and an output component."""

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
"""The peak memory of a dense fit, in square matrices over all slots."""


class SlotSpectrum(InputSpectrum):
    """Spectrum of a Gram matrix with one row per slot, a pair of example and output component.

    Attributes
    ----------
    slots
        The slots of the training examples.
    weights
        The sample weight of each training slot; None for equal weights.
    constant_entries
        1/√Σw for each output component, summed over its slots; None without an intercept.
    """

    slots: Slots
    weights: np.ndarray | None
    constant_entries: np.ndarray | None

    @property
    def size(self) -> int:
        """The number of training slots."""
        return self.slots.size

    def set_constants(self, intercept: bool) -> None:
        """Store the entry 1/√Σw of the intercept's unit vector for each output component."""
        w = np.ones(self.slots.size) if self.weights is None else self.weights
        self.total = float(w.sum())
        totals = np.bincount(self.slots.places, w, minlength=self.slots.width)
        self.constant_entries = np.where(totals > 0, totals, np.inf) ** -0.5 if intercept else None

    @property
    def constant_count(self) -> int:
        """The number of output components that occur, each with its own intercept."""
        return 0 if self.constant_entries is None else int((self.constant_entries > 0).sum())

    def intercept_entries(self, projected: ProjectedInputs) -> Array | float:
        """Return the entry 1/√Σw of the intercept's unit vector at each slot of new inputs."""
        if self.constant_entries is None or projected.slots is None:
            return 0.0
        return like(self.constant_entries[projected.slots.places][:, None], self.s)

    def intercept_change(
        self, projected: ProjectedInputs, rows: np.ndarray, e: Array
    ) -> Array | float:
        """Return the change of intercepts at new slots by residuals e of training slots."""
        if self.constant_entries is None or projected.slots is None:
            return 0.0
        places = self.slots.places[rows]
        N = like(
            (np.arange(self.slots.width)[:, None] == places)
            * self._training_constant_entries(rows),
            e,
        )
        return self.intercept_entries(projected) * take(N @ e, projected.slots.places)

    def _training_constant_entries(self, index: Any) -> np.ndarray:
        """Return the nonzero entry of the intercept's unit vectors N in the rows `index`."""
        assert self.constant_entries is not None
        roots = 1.0 if self.weights is None else np.sqrt(self.weights[index])
        return roots * self.constant_entries[self.slots.places[index]]

    def squared_constants(self, index: slice) -> Array | float:
        """Return the squared nonzero entry of the unit vectors N in the rows `index`."""
        return (
            0.0
            if self.constant_entries is None
            else like(self._training_constant_entries(index) ** 2, self.s)
        )

    def constant_blocks(self, members: np.ndarray) -> tuple[Array, Array] | None:
        """Return the intercept's projector NNᵀ over groups, and its part from one-group constants.

        N holds the unit vectors of the intercept, one per output component.
        """
        if self.constant_entries is None:
            return None
        places, levels = self.slots.places[members], self._training_constant_entries(members)
        same = places[:, :, None] == places[:, None, :]
        products = same * levels[:, :, None] * levels[:, None, :]
        rows = np.bincount(self.slots.places, minlength=self.slots.width)
        alone = same.sum(axis=2) >= rows[places]
        return like(products, self.s), like(products * alone[:, :, None], self.s)

    def solve_without_constants(self, members: np.ndarray, A: Array) -> Array:
        """Solve (I - N_gN_gᵀ) x = A for each group g, without constants of one group only."""
        if self.constant_entries is None:
            return A
        number, width, places = len(members), self.slots.width, self.slots.places[members]
        levels = self._training_constant_entries(members)
        constants = (np.arange(number)[:, None] * width + places).reshape(-1)
        mass = np.bincount(constants, (levels**2).reshape(-1), number * width)
        rows = np.bincount(constants, minlength=number * width)
        every = np.tile(np.bincount(self.slots.places, minlength=width), number)
        gain = np.where(rows < every, 1.0 / np.where(rows < every, 1.0 - mass, 1.0), 0.0)
        weights = like(levels[:, :, None], A)
        inner = like(gain[:, None], A) * self._sums_by_place(members, weights * A)
        return A + weights * namespace(A).reshape(take(inner, constants), A.shape)

    def _sums_by_place(self, members: np.ndarray, D: Array) -> Array:
        """Return the sums of the rows D of each group and place, (groups · places, columns).

        An item has one row for each place, so that the sums are over the items of a group.
        """
        xp, (number, size, columns), width = namespace(D), D.shape, self.slots.width
        owners = self.slots.owners[members]
        item = np.cumsum(np.diff(owners, axis=1, prepend=owners[:, :1]) != 0, axis=1)
        items = int(item.max()) + 1
        first = (np.arange(number)[:, None] * items + item) * width
        at = (first + self.slots.places[members]).reshape(-1)
        rows = xp.reshape(D, (number * size, columns))
        if len(at) < number * items * width:
            rows = put(like(np.zeros((number * items * width, columns)), D), at, rows)
        sums = xp.sum(xp.reshape(rows, (number, items, width, columns)), axis=1)
        return xp.reshape(sums, (number * width, columns))


class SlotGramSpectrum(SlotSpectrum):
    """Spectrum of the dense Gram matrix of an operator-valued kernel over all training slots.

    It is computed when more than one solution is needed.
    """

    cached: Any = None
    """The value of `factored` once it is computed."""

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
        """Eigenvalues, eigenvectors, `Reduction`, and mean Gram matrix row of each component."""
        if self.cached is None:
            self.cached = self._factor()
        return self.cached

    def _factor(self) -> tuple[Array, Array, Reduction, Any]:
        """Compute the value of `factored` by an eigendecomposition."""
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

    def _centred_variances(self, variances: Array, K: Array, slots: Slots) -> Array:
        """Return prior variances after centring the features by output component.

        `variances` are those before, and K is the kernel between new and training slots.
        """
        xp, transpose = namespace(K), namespace(K).matrix_transpose
        across = transpose(self.slots.means(transpose(K), self.weights))  # (rows, width)
        level = self.slots.means(transpose(self.factored[3]), self.weights)
        at = like(np.eye(slots.width)[slots.places], K)
        variances = variances - 2.0 * xp.sum(across * at, axis=1)
        return variances + take(xp.linalg.diagonal(level), slots.places)

    def solve(self, smoother: Any, alpha: float, Q: Array | None = None) -> FittedMap:
        """Return the fitted map for the targets of `smoother` (a `Part`), and its training mean."""
        gram = self.kernel.gram(self.X)
        try:
            computed = self.cached is not None
            C = (
                self._coefficients_by_spectrum(smoother, alpha)
                if computed
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
        """Return the dual coefficients for targets T, by Cholesky factors of coupled blocks."""
        C, w, places = T + 0.0, self.weights, self.slots.places
        for rows, G in gram.parts():
            weights = None if w is None else w[rows]
            reduction = Reduction.of(weights, self.intercept, G, places[rows])
            A = reduction.reduce_gram(G)
            ridge = factor_with_ridge(A + 0.0 if A is G else A, alpha)
            solved = reduction.expand_rows(ridge.solve(reduction.reduce_rows(take(T, rows))))
            C = put(C, rows, reduction.weighted(solved))
        return C


def diagonal(kernel: OperatorKernel, X: Items) -> Array:
    """Return the diagonal of K(x, x) for every input x in X, one value per slot."""
    grams = [kernel.gram(part(X, rows)).matrix() for rows in blocks(count(X), DIAGONAL_ITEMS)]
    xp = namespace(*grams)
    return xp.concat([xp.linalg.diagonal(K) for K in grams])


def require_slot_gram_memory(size: int) -> None:
    """Raise MemoryError if a square matrix over `size` slots does not fit into memory."""
    needed, free = 8.0 * DENSE_SQUARES * size * size, PLANNED_FRACTION * available()
    if needed > free:
        raise MemoryError(
            f"this operator-valued kernel has {size} rows, examples times coupled components, and "
            f"its matrix written out needs about {needed / GIB:.1f} GiB of {free / GIB:.1f} GiB "
            "free. KernelDependency(…, solver='cg') needs products only; choose alpha and length "
            "scales with KernelDependencyCV on a part of the examples."
        )
