from __future__ import annotations

from scipy.sparse import csr_array

from .._arrays import Array, dense, sqnorms
from .base import KERNELS, VectorKernel
from .capabilities import Features, ItemGradient


class Linear(VectorKernel):
    """k(a, b) = ⟨a, b⟩: outputs are predicted as they are, by vector-valued ridge regression.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    accepts_sparse = True

    def _gram(self, A: Array, B: Array) -> Array:
        return dense(A @ B.T)

    def _diag(self, A: Array) -> Array:
        return sqnorms(A)

    @property
    def features(self) -> Features:
        """The vectors themselves."""
        return Features(
            lambda A: dense(self.check(A, "A")),
            lambda A: csr_array(self.check(A, "A")),
            lambda F: F,
        )

    @property
    def item_gradient(self) -> ItemGradient:
        """Σ_j C_ij b_j, and 2 c_i a_i."""
        return ItemGradient(lambda A, B, C: C @ B, lambda A, c: 2.0 * c[:, None] * A)


KERNELS["linear"] = Linear
