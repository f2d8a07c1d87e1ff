"""The dense Gram matrix over slots, which are pairs of example and output component."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.arrays import Array, Items, blocks, count, like, namespace, put, sliced, take
from .._base.linalg import factor_with_ridge
from .._base.memory import GIB, PLANNED_FRACTION, available
from ..operators import BlockGram, OperatorKernel
from ..operators.slots import Slots
from .constants import Constants
from .input_spectrum import DIAGONAL_ITEMS, FittedMap, InputSpectrum, ProjectedInputs
from .reduction import Reduction
from .weights import CoupledMap

if TYPE_CHECKING:
    from .part import Part

DENSE_SQUARES = 4.0
"""The peak memory of a dense fit, in square matrices over all slots."""


class SlotGramSpectrum(InputSpectrum):
    """Spectrum of the dense Gram matrix of an operator-valued kernel over all training slots.

    It is computed when more than one solution is needed.
    """

    slots: Slots
    cached: Any = None
    """The value of `factored` once it is computed."""

    def __init__(
        self, kernel: OperatorKernel, X: Items, weights: np.ndarray | None, intercept: bool
    ):
        self.kernel, self.X, self.intercept = kernel, X, intercept
        self.slots = slots = kernel.gram(X).rows
        require_slot_gram_memory(slots.size)
        self.weights = w = None if weights is None else weights[slots.owners]
        self.total = float(slots.size if w is None else w.sum())
        self.constants = Constants.by_component(slots, w, intercept)
        self.complete = self.orthonormal = True

    @property
    def factored(self) -> tuple[Array, Array, Reduction, Any]:
        """Eigenvalues, eigenvectors, `Reduction`, and mean Gram matrix row of each component."""
        if self.cached is None:
            self.cached = self._factor()
        return self.cached

    def _factor(self) -> tuple[Array, Array, Reduction, Any]:
        """Compute the value of `factored` by an eigendecomposition."""
        K, weights = self.kernel.gram(self.X).matrix(), self.weights
        means = self.slots.means(K, weights) if self.intercept else None
        largest = float(namespace(K).max(namespace(K).linalg.diagonal(K)))
        reduction = Reduction.of(weights, self.intercept, K, self.slots.places)
        A = reduction.reduce_gram(K)
        s, E = reduction.eigh(A, "operator-valued Gram matrix", largest)
        return s, E, reduction, means

    s = property(lambda self: self.factored[0])
    E = property(lambda self: self.factored[1])
    reduction = property(lambda self: self.factored[2])
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

    def solve(self, part: Part, alpha: float, Q: Array | None = None) -> FittedMap:
        """Return the fitted map of a `Part`, and its mean over the training inputs."""
        gram, C = self.kernel.gram(self.X), None
        if self.cached is None:
            with suppress(np.linalg.LinAlgError):  # α is lost in rounding
                C = self._coefficients_by_cholesky(gram, part.T, alpha)
        if C is None:
            C = self.reduction.weighted(self.E @ part.coefficients(alpha))
        means = self.slots.means(gram.apply(C), self.weights)
        mean = namespace(means).reshape(means, (-1,)) if self.intercept else 0.0
        return CoupledMap(self.kernel, self.X, self.slots.join(C)), mean

    def _coefficients_by_cholesky(self, gram: BlockGram, T: Array, alpha: float) -> Array:
        """Return the dual coefficients for targets T, by Cholesky factors of coupled blocks."""
        C, w, places = T + 0.0, self.weights, self.slots.places
        for rows, G in gram.parts():
            weights = None if w is None else w[rows]
            reduction = Reduction.of(weights, self.intercept, G, places[rows])
            ridge = factor_with_ridge(reduction.reduce_gram(G), alpha)
            solved = reduction.expand_rows(ridge.solve(reduction.reduce_rows(take(T, rows))))
            C = put(C, rows, reduction.weighted(solved))
        return C


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
