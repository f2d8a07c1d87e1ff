"""Kernels on the principal components of vectors."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._base.arrays import Array, Items, host, namespace, take
from .._base.linalg import eigh
from .._base.parameters import positive
from .base import Kernel
from .linear_map import LinearMap
from .mahalanobis import OnLinearMap

MOST_ROWS = 4000
"""The components are those of at most so many rows, drawn with a fixed seed."""


class PrincipalComponents(OnLinearMap):
    """Kernel on principal components, k(P(a - m), P(b - m)) with the leading directions P.

    Components have the units of the vectors: they are not divided by their deviations. Fields and
    images vary mainly along few components, and a kernel on these alone may need fewer pairs.

    Parameters
    ----------
    kernel : Kernel
        The kernel on the components.
    variance : float, default=0.9
        The smallest fraction of the variance of the training vectors that the components have
        together. 1 takes all components, which leaves differences of training vectors unchanged.

    Attributes
    ----------
    mean_, components_
        m, and P with one direction in each row, by falling variance.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF, PrincipalComponents
    >>> X = np.outer(np.sin(np.arange(9)), [3.0, 4.0]) + [[0.01, 0.0]]
    >>> kernel = PrincipalComponents(RBF(2.0)).fit(X)
    >>> kernel.components_.shape, bool(np.allclose(kernel(X), RBF(2.0)(X)))
    ((1, 2), True)
    """

    def __init__(self, kernel: Kernel, variance: float = 0.9):
        self.kernel = kernel
        self.variance = variance

    depends_on_data = True

    def fit(self, A: Items) -> Kernel:
        """Compute the components of the rows; fit the inner kernel on the components."""
        A = self.check(A, "A")
        if not positive(self.variance, "variance") <= 1:
            raise ValueError(f"variance must be a fraction up to 1, got {self.variance!r}.")
        self.mean_, self.components_ = principal_directions(_some_rows(A), self.variance)
        return super().fit(A)

    def _map(self) -> LinearMap:
        """Return the linear map to the components."""
        check_is_fitted(self, "components_")
        return LinearMap(self.components_)

    def _mean(self) -> np.ndarray:
        """Return the mean of the training vectors."""
        return self.mean_


def _some_rows(A: Array) -> Array:
    """Return all rows, or `MOST_ROWS` of them in their order."""
    n = int(A.shape[0])
    if n <= MOST_ROWS:
        return A
    return take(A, np.sort(np.random.RandomState(0).permutation(n)[:MOST_ROWS]))


def principal_directions(A: Array, variance: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of rows and the directions that have a fraction of their variance.

    The eigenvectors are those of the smaller one of covariance and Gram matrix. Signs are such that
    the largest entry of each direction is positive.
    """
    xp = namespace(A)
    mean = xp.mean(A, axis=0)
    A = A - mean
    wide = A.shape[1] > A.shape[0]
    values, vectors = eigh(A @ A.T if wide else A.T @ A)
    if not len(values):  # all rows are equal
        return host(mean), np.zeros((1, int(A.shape[1])))
    values, vectors = xp.flip(values, axis=0), xp.flip(vectors, axis=1)
    kept = _number_kept(host(values), variance)
    directions = host((A.T @ vectors[:, :kept] if wide else vectors[:, :kept]).T)
    positive = directions.max(axis=1) > -directions.min(axis=1)
    norms = np.sqrt((directions**2).sum(axis=1)) * np.where(positive, 1.0, -1.0)
    return host(mean), directions / norms[:, None]


def _number_kept(values: np.ndarray, variance: float) -> int:
    """Return the smallest number of leading eigenvalues whose sum is a fraction of the whole."""
    if variance == 1.0:
        return len(values)
    return 1 + int((np.cumsum(values) < variance * values.sum()).sum())
