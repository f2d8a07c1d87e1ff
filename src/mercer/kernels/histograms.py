"""Kernels on histograms and probabilities: vectors without negative entries."""

from __future__ import annotations

from scipy.spatial.distance import cdist

from .._arrays import Array, Items, host, like, namespace
from .base import VectorKernel
from .capabilities import Features


class HistogramKernel(VectorKernel):
    """A kernel on vectors of counts or probabilities, none of them negative."""

    def check(self, A: Items, name: str = "X") -> Array:
        """Finite vectors without negative entries, as float64 rows."""
        return _nonnegative(super().check(A, name), name, type(self).__name__)

    def as_outputs(self, Y: Items, name: str = "y") -> Array:
        """The same, in their own shape."""
        return _nonnegative(super().as_outputs(Y, name), name, type(self).__name__)


class Hellinger(HistogramKernel):
    """k(a, b) = Σ_j √(a_j b_j), Bhattacharyya's coefficient: ‖Φ(a) - Φ(b)‖ is Hellinger's distance.

    Probabilities have length one under it. Its features are the roots √a_j.

    Examples
    --------
    >>> from mercer.kernels import Hellinger
    >>> Hellinger()([[0.5, 0.5, 0.0]], [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]).round(4)
    array([[1., 0.]])
    """

    def _gram(self, A: Array, B: Array) -> Array:
        xp = namespace(A)
        return xp.sqrt(A) @ xp.matrix_transpose(xp.sqrt(B))

    def _diag(self, A: Array) -> Array:
        return namespace(A).sum(A, axis=1)

    @property
    def features(self) -> Features:
        """The roots of the entries; the nearest histogram to a negative one has 0 there."""
        return Features(
            lambda A: namespace(A).sqrt(self.check(A, "A")),
            inverse=lambda F: namespace(F).where(F > 0, F, namespace(F).zeros_like(F)) ** 2,
        )


class ChiSquare(HistogramKernel):
    """k(a, b) = Σ_j 2 a_j b_j / (a_j + b_j), whose distance is χ², Σ_j (a_j - b_j)² / (a_j + b_j).

    ``Gaussian(ChiSquare())`` is the exponential χ² kernel.

    Examples
    --------
    >>> from mercer.kernels import ChiSquare
    >>> ChiSquare()([[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]).round(4)
    array([[1.    , 0.6667]])
    """

    def _gram(self, A: Array, B: Array) -> Array:
        from sklearn.metrics.pairwise import additive_chi2_kernel  # slow to import, seldom needed

        # It is minus the distance above.
        D2 = -additive_chi2_kernel(host(A), host(B))
        return _from_distances(A, B, like(D2, A))

    def _diag(self, A: Array) -> Array:
        return namespace(A).sum(A, axis=1)


class Intersection(HistogramKernel):
    """k(a, b) = Σ_j min(a_j, b_j): what two histograms have in common.

    Examples
    --------
    >>> from mercer.kernels import Intersection
    >>> Intersection()([[3.0, 1.0]], [[2.0, 2.0]])
    array([[3.]])
    """

    def _gram(self, A: Array, B: Array) -> Array:
        return _from_distances(A, B, like(cdist(host(A), host(B), "cityblock"), A))

    def _diag(self, A: Array) -> Array:
        return namespace(A).sum(A, axis=1)


def _from_distances(A: Array, B: Array, D2: Array) -> Array:
    """(k(a, a) + k(b, b) - d²) / 2, with k(a, a) the sum of the entries."""
    xp = namespace(A)
    return 0.5 * (xp.sum(A, axis=1)[:, None] + xp.sum(B, axis=1)[None, :] - D2)


def _nonnegative(A: Array, name: str, owner: str) -> Array:
    if bool(namespace(A).any(A < 0)):
        rows = host(A).reshape(host(A).shape[0], -1)
        i = int((rows < 0).any(axis=1).argmax())
        raise ValueError(
            f"histogram {i} of {name} has a negative entry ({rows[i].min():.3g}): {owner} compares "
            "counts or probabilities. Use Linear() or RBF() for vectors of any sign."
        )
    return A
