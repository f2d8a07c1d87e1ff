"""The dense Gram matrix over slots, which are pairs of example and output component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._base.arrays import Array, Items, blocks, count, like, namespace, put, sliced, take
from .._base.linalg import factor_with_ridge
from .._base.memory import GIB, PLANNED_FRACTION, available
from ..operators import OperatorKernel
from ..operators.slots import Slots
from .input_spectrum import DIAGONAL_ITEMS, FittedMap
from .reduction import Reduction
from .weights import CoupledMap

DENSE_SQUARES = 4.0
"""The peak memory of a dense fit, in square matrices over all slots."""


@dataclass
class SlotGram:
    """An operator-valued kernel on the training slots, with the methods of `InputGram`."""

    name: ClassVar[str] = "operator-valued Gram matrix"
    width: ClassVar[None] = None
    kernel: OperatorKernel
    X: Items
    weights: np.ndarray | None
    """The sample weight of each slot; None for equal weights."""
    intercept: bool
    slots: Slots
    means: Any = None
    """The mean row of the Gram matrix for each component; None without an intercept."""
    reduction: Any = None
    """The transformation of the Gram matrix by weights and intercept; None before first use."""
    largest: float = 0.0
    """The largest entry of the Gram matrix, to which rounding is relative."""

    def reduced_gram(self) -> Array:
        """Return the Gram matrix with sample weights applied and constants projected out."""
        K = self.kernel.gram(self.X).matrix()
        self.means = self.slots.means(K, self.weights) if self.intercept else None
        self.largest = float(namespace(K).max(namespace(K).linalg.diagonal(K)))
        self.reduction = Reduction.of(self.weights, self.intercept, K, self.slots.positions)
        return self.reduction.reduce_gram(K)

    def rows(self, index: np.ndarray) -> Array:
        """Return the rows `index` of the Gram matrix, neither weighted nor centred."""
        return self.kernel.gram(self.X).some_columns(index).T

    def project(self, A: Items, prior: bool) -> tuple[Array, Array | None, Slots]:
        """Return centred kernel values, prior variances if `prior`, and slots of new inputs.

        The kernel values are those between the slots of new and of training inputs.
        """
        gram = self.kernel.gram(A, self.X)
        K, slots = gram.matrix(), gram.rows
        own = diagonal(self.kernel, A) if prior else None
        if self.means is not None:
            own = None if own is None else self._centred_variances(own, K, slots)
            K = K - take(self.means, slots.positions)
        return K, own, slots

    def _centred_variances(self, variances: Array, K: Array, slots: Slots) -> Array:
        """Return prior variances after centring the features by output component.

        `variances` are those before, and K is the kernel between new and training slots.
        """
        xp, transpose = namespace(K), namespace(K).matrix_transpose
        across = transpose(self.slots.means(transpose(K), self.weights))  # (rows, width)
        level = self.slots.means(transpose(self.means), self.weights)
        at = like(np.eye(slots.width)[slots.positions], K)
        variances = variances - 2.0 * xp.sum(across * at, axis=1)
        return variances + take(xp.linalg.diagonal(level), slots.positions)

    def dual_coefficients(self, T: Array, ridge: float) -> Array:
        """Return (G + ridge · I)⁻¹ T by Cholesky factors of coupled blocks, without constants."""
        C, w, positions = T + 0.0, self.weights, self.slots.positions
        for rows, G in self.kernel.gram(self.X).diagonal_blocks():
            weights = None if w is None else w[rows]
            reduction = Reduction.of(weights, self.intercept, G, positions[rows])
            factor = factor_with_ridge(reduction.reduce_gram(G), ridge)
            solved = factor.solve(reduction.reduce_rows(take(T, rows)))
            C = put(C, rows, reduction.expand_rows(solved))
        return C

    def dual_map(self, coef: Array) -> FittedMap:
        """Return the map x ↦ K(x, X) (√w ∘ coef), with sample weights w, and its mean."""
        C, mean = coef, 0.0
        if self.weights is not None:
            C = like(np.sqrt(self.weights)[:, None], C) * C
        if self.intercept:
            means = self.slots.means(self.kernel.gram(self.X).apply(C), self.weights)
            mean = namespace(means).reshape(means, (-1,))
        return FittedMap(CoupledMap(self.kernel, self.X, self.slots.join(C)), mean)

    def gram_times(self, A: Array) -> Array:
        """Return the Gram matrix times A; with an intercept, minus the mean of each component."""
        GA = self.kernel.gram(self.X).apply(A)
        if not self.intercept:
            return GA
        return GA - take(self.slots.means(GA, self.weights), self.slots.positions)


def diagonal(kernel: OperatorKernel, X: Items) -> Array:
    """Return the diagonal of K(x, x) for every input x in X, one value per slot."""
    grams = [kernel.gram(sliced(X, rows)).matrix() for rows in blocks(count(X), DIAGONAL_ITEMS)]
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
