"""Kernels on the feature space of another kernel: cosine and Gaussian."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .._base.arrays import Array, Items, namespace, take
from .base import Kernel
from .capabilities import Features, Fourier, Multiple, Radial
from .distances import fitted_scale, length_scale, scaled_exp, squared_distances
from .gradients import ParameterGradient, Values, total
from .wrapper import OfValues


class Normalized(OfValues):
    r"""Cosine similarity in feature space, :math:`k(a, b) / \sqrt{k(a, a)\, k(b, b)}`.

    An item with :math:`k(a, a) = 0` has no direction; its normalised kernel values are 0.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.

    Examples
    --------
    >>> from mercer.kernels import Linear, Normalized
    >>> Normalized(Linear())([[3.0, 0.0]], [[5.0, 0.0], [0.0, 2.0]])
    array([[1., 0.]])
    """

    def _inverse_norms(self, A: Items) -> Array:
        """Return 1 / √k(a, a) for each item, 0 where k(a, a) is 0."""
        diagonal = self.inner._diag(A)
        xp = namespace(diagonal)
        positive = xp.where(diagonal > 0, diagonal, xp.ones_like(diagonal))
        return xp.where(diagonal > 0, 1.0 / xp.sqrt(positive), xp.zeros_like(diagonal))

    def _gram(self, A: Items, B: Items) -> Array:
        """Return k(a, b) / √(k(a, a) k(b, b)) for all pairs."""
        K = self.inner._gram(A, B)
        left = self._inverse_norms(A)
        right = left if A is B else self._inverse_norms(B)
        return K * left[:, None] * right[None, :]

    def _diag(self, A: Items) -> Array:
        """Return 1 for every item, 0 where k(a, a) is 0."""
        inverse = self._inverse_norms(A)
        return namespace(inverse).where(inverse > 0, inverse * 0.0 + 1.0, inverse)

    @property
    def features(self) -> Features | None:
        """Features of the inner kernel, each row divided by its length."""
        inner = self.inner.features
        if inner is None:
            return None
        rows = inner.sparse

        def inverse_norms(A: Items) -> Array:
            """Return 1 / √k(a, a) for each item as a column."""
            return self._inverse_norms(self.inner.check(A, "A"))[:, None]

        return Features(
            lambda A: inner(A) * inverse_norms(A),
            None if rows is None else lambda A: csr_array(rows(A).multiply(inverse_norms(A))),
        )

    @property
    def radial(self) -> Radial | None:
        """The inner kernel as a function of ‖a - b‖², divided by its value at zero."""
        inner = self.inner.radial
        return None if inner is None else inner.unit_height()

    @property
    def fourier(self) -> Fourier | None:
        """The spectral measure of the inner kernel, scaled to k(0) = 1."""
        inner = self.inner.fourier
        return None if inner is None else Fourier(inner.sample, inner.isotropic)

    @property
    def multiple(self) -> Multiple:
        """The `Multiple` of the inner kernel with scale 1, or this kernel times 1.

        The former requires that the kernel of this `Multiple` has unit norm.
        """
        inner = self.inner.multiple
        if not inner.kernel.unit_norm:
            return Multiple(self)
        root = inner.scale**0.5
        return Multiple(inner.kernel, 1.0, lambda F: inner.read(root * F), inner.copies)

    def _value_vjp(self, A: Items, B: Items, C: Array) -> tuple[Array, Array, Array]:
        """Return the derivatives of Σ_ij C_ij k(a_i, b_j) by inner k(a, b), k(a, a) and k(b, b)."""
        left, right = self._inverse_norms(A), self._inverse_norms(B)
        M, xp = C * left[:, None] * right[None, :], namespace(C)
        diagonal_weights = -0.5 * M * self.inner._gram(A, B)
        return (
            M,
            xp.sum(diagonal_weights, axis=1) * left**2,
            xp.sum(diagonal_weights, axis=0) * right**2,
        )


class Gaussian(OfValues):
    r"""Gaussian kernel :math:`\exp(-d^2 / 2\ell^2)` of the distance in a kernel's feature space.

    :math:`d^2 = k(a, a) - 2k(a, b) + k(b, b)`.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    length_scale : float or str, default="median"
        ℓ, or "median", the median distance of the data that the kernel is fitted on.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> Gaussian(Linear(), length_scale=1.0)([[0.0]], [[1.0]]).round(4)
    array([[0.6065]])
    """

    def __init__(self, kernel: Kernel, length_scale: float | str = "median"):
        self.kernel = kernel
        self.length_scale = length_scale

    @property
    def depends_on_data(self) -> bool:
        """Whether the length scale is "median", or the inner kernel depends on data."""
        return isinstance(self.length_scale, str) or self._unfitted_inner().depends_on_data

    def fit(self, A: Items) -> Gaussian:
        """Fit the inner kernel and determine the length scale."""
        super().fit(A)
        self.length_scale_ = length_scale(
            self.length_scale,
            self.check(A, "A"),
            lambda a, b: _sqrt(self._squared_feature_distances(a, b)),
        )
        return self

    def _squared_feature_distances(self, A: Items, B: Items) -> Array:
        """Return the squared distances of all pairs in the feature space of the inner kernel."""
        if _uses_features_for_distances(self.inner, A):
            features = self.inner.features
            F = features(A)
            return squared_distances(F, F if A is B else features(B))
        K = self.inner._gram(A, B)
        left = self.inner._diag(A)
        right = left if A is B else self.inner._diag(B)
        D2 = left[:, None] + right[None, :] - 2.0 * K
        xp = namespace(D2)
        return xp.where(D2 > 0, D2, xp.zeros_like(D2))

    def _gram(self, A: Items, B: Items) -> Array:
        """Return exp(-d² / 2ℓ²) for all pairs, with d their distance in feature space."""
        D2 = self._squared_feature_distances(A, B)
        D2 *= -0.5 / fitted_scale(self) ** 2
        return scaled_exp(D2)

    def _diag(self, A: Items) -> Array:
        """Return k(a, a) = 1 for every item."""
        return self.inner._diag(A) * 0.0 + 1.0

    def _value_vjp(self, A: Items, B: Items, C: Array) -> tuple[Array, Array, Array]:
        """Return the derivatives of Σ_ij C_ij k(a_i, b_j) by inner k(a, b), k(a, a) and k(b, b)."""
        M, xp = C * self._gram(A, B) / fitted_scale(self) ** 2, namespace(C)
        return M, -0.5 * xp.sum(M, axis=1), -0.5 * xp.sum(M, axis=0)

    @property
    def parameter_gradient(self) -> ParameterGradient:
        """Derivatives with respect to the length scale and the inner parameters."""
        ell = fitted_scale(self)

        def vjp(A: Items, B: Items, C: Array) -> Values:
            """Return Σ_ij C_ij ∂k(A_i, B_j)/∂θ for each parameter θ by name."""
            D2 = self._squared_feature_distances(A, B)
            return {"length_scale": total(C * scaled_exp(D2 * (-0.5 / ell**2)) * D2) / ell**3}

        return ParameterGradient({"length_scale": ell}, vjp).plus(super().parameter_gradient)


def _sqrt(A: Any) -> Array:
    """Return the square roots of the entries of A; a NumPy array is overwritten."""
    return namespace(A).sqrt(A) if not isinstance(A, np.ndarray) else np.sqrt(A, out=A)


def _uses_features_for_distances(kernel: Kernel, A: Items) -> bool:
    """Return whether distances are computed from features rather than kernel values.

    Features are more precise far from zero, but those of a product of kernels are too many.
    """
    if kernel.features is None or not kernel.on_vectors:
        return False
    return kernel.features(take(A, [0])).shape[1] <= 2 * A.shape[1]
