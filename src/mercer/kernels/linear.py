from __future__ import annotations

from scipy.sparse import csr_array

from .._arrays import Array, Items, dense, products, sqnorms
from .base import KERNELS, VectorKernel


class Linear(VectorKernel):
    """k(a, b) = ⟨a, b⟩: outputs are predicted as they are, by vector-valued ridge regression.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    finite = True
    accepts_sparse = True
    invertible = True
    differentiable = True

    def _gram(self, A: Array, B: Array) -> Array:
        return products(A, B)

    def _diag(self, A: Array) -> Array:
        return sqnorms(A)

    def features(self, A: Items) -> Array:
        """The vectors themselves."""
        return dense(self.check(A, "A"))

    def sparse_features(self, A: Items) -> csr_array:
        """The vectors themselves, sparse where they came so."""
        return csr_array(self.check(A, "A"))

    def preimage(self, F: Array) -> Array:
        """The vectors themselves."""
        return F

    def vjp(self, A: Array, B: Array, C: Array) -> Array:
        """Σ_j C_ij b_j."""
        return C @ B

    def diag_vjp(self, A: Array, c: Array) -> Array:
        """2 c_i a_i."""
        return 2.0 * c[:, None] * A


KERNELS["linear"] = Linear
