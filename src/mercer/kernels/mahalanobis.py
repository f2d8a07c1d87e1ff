"""Kernels on vectors after a linear map, such as those in a learnt metric."""

from __future__ import annotations

import numpy as np

from .._base.arrays import Array, Items, like
from ..spaces import Vectors
from .base import Kernel
from .capabilities import Fourier, ItemGradient
from .linear_map import LinearMap
from .mapped import OnTransformed


class OnLinearMap(OnTransformed):
    """Base class of kernels k(R (a - m), R (b - m)) with a matrix R, which need not be square."""

    space = Vectors()

    def _map(self) -> LinearMap:
        """Return the linear map R."""
        raise NotImplementedError

    def _mean(self) -> Array | None:
        """Return m; None for zero."""
        raise NotImplementedError

    def check(self, A: Items, name: str = "X") -> Array:
        """Check vectors, images or fields; return them as float64 rows."""
        return self.space.check(A, name, type(self).__name__, rows=True)

    def _apply(self, A: Array) -> Array:
        """Return R (a - m) for each row a of A."""
        mean = self._mean()
        return self._map()(A if mean is None else A - like(mean, A))

    @property
    def fourier(self) -> Fourier | None:
        """The spectral measure on the original vectors; None if the inner kernel has no measure."""
        inner = self.inner.fourier
        if inner is None:
            return None

        def sample(random: np.random.RandomState, shape: tuple[int, int]) -> np.ndarray:
            """Draw frequencies Rᵀω with ω of the inner kernel."""
            map = self._map()
            return map.adjoint(inner.sample(random, (shape[0], map.matrix.shape[0])))

        return Fourier(sample, False, inner.height)

    @property
    def item_gradient(self) -> ItemGradient | None:
        """Derivatives with respect to the original vectors; None without inner ones."""
        inner = self.inner.item_gradient
        if inner is None:
            return None
        return ItemGradient(
            lambda A, B, C: self._map().adjoint(inner.vjp(self._apply(A), self._apply(B), C)),
            lambda A, c: self._map().adjoint(inner.diag_vjp(self._apply(A), c)),
        )


class Mahalanobis(OnLinearMap):
    r"""Kernel :math:`k(R (a - m), R (b - m))` with a given matrix R.

    For a kernel of distances, these are Mahalanobis distances with the metric :math:`R^\top R`.
    `mercer.learn_metric` learns R from pairs.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    matrix : array of shape (components, features)
        R.
    mean : array of shape (features,), default=None
        m; None for zero.

    Examples
    --------
    >>> from mercer.kernels import RBF, Mahalanobis
    >>> kernel = Mahalanobis(RBF(1.0), [[1.0, 0.0]])      # the second feature does not count
    >>> kernel([[0.0, 0.0]], [[1.0, 5.0]]).round(4)
    array([[0.6065]])
    """

    def __init__(self, kernel: Kernel, matrix: Array, mean: Array | None = None):
        self.kernel = kernel
        self.matrix = matrix
        self.mean = mean

    def __str__(self) -> str:
        shape = " × ".join(map(str, np.shape(self.matrix)))
        return f"Mahalanobis({self.kernel}, matrix of {shape})"

    def check(self, A: Items, name: str = "X") -> Array:
        """Check vectors, images or fields; return them as float64 rows."""
        rows = super().check(A, name)
        features = self._map().matrix.shape[1]
        if rows.shape[1] != features:
            raise ValueError(
                f"{name} has {rows.shape[1]} features, but the matrix of Mahalanobis has "
                f"{features} columns: give one column for each feature."
            )
        return rows

    def _map(self) -> LinearMap:
        """Return the linear map R."""
        matrix = np.asarray(self.matrix, dtype=float)
        if matrix.ndim != 2 or not matrix.size or not np.isfinite(matrix).all():
            raise ValueError(
                "matrix must be a two-dimensional array of finite numbers, got an array of shape "
                f"{matrix.shape}."
            )
        return LinearMap(matrix)

    def _mean(self) -> Array | None:
        """Return m; None for zero."""
        return None if self.mean is None else np.asarray(self.mean, dtype=float)
