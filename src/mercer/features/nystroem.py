from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from .._base.arrays import Array, Items, count, namespace, take
from .._base.linalg import EPS, PositiveDefinite, eigh, triangular_inverse
from .._base.parameters import parameters
from .._base.plan import require_low_rank
from ..kernels import Kernel
from .landmarks import LandmarkMap, check_rank

CONDITION = 1e3
"""A Cholesky factor is used if its smallest squared pivot exceeds rounding by this factor."""


@parameters
class Nystroem(LandmarkMap):
    r"""Nyström features: the projection on the span of landmarks, drawn at random or given.

    :math:`u(a) = k(a, Z) W` with :math:`W W^\top = k(Z, Z)^{-1}`.

    Parameters
    ----------
    rank : int, default=None
        Number of landmarks, drawn uniformly from the items.
    landmarks : array-like, default=None
        The landmarks Z (vectors, strings, graphs), instead of a rank.
    random_state : int, RandomState or None, default=None
        The seed, or a generator.

    Attributes
    ----------
    landmarks_
        The landmarks.
    trace_error_
        :math:`\operatorname{tr}(K - UU^\top) / \operatorname{tr} K`.

    References
    ----------
    Williams and Seeger: Using the Nyström method to speed up kernel machines (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import Nystroem
    >>> from mercer.kernels import RBF
    >>> A = [[0.0], [0.1], [5.0]]
    >>> map = Nystroem(landmarks=[[0.0], [5.0]]).fit(RBF(1.0), A)
    >>> map.transform(A).shape, round(map.trace_error_, 3)
    ((3, 2), 0.003)
    """

    rank: int | None = None
    landmarks: Items | None = None
    random_state: int | np.random.RandomState | None = None

    depends_on_data = property(lambda self: self.landmarks is None)

    def fit_transform(self, kernel: Kernel, A: Items) -> Array:
        """Choose the landmarks, and return the coordinates of the items, one row for each."""
        A = kernel.check(A, "A")
        landmarks = self._given_or_drawn_landmarks(kernel, A)
        require_low_rank(count(A), count(landmarks))
        self.kernel_, self.landmarks_ = kernel, landmarks
        self.weights_ = inverse_root(kernel.checked_gram(landmarks))
        U, diagonal = self.transform(A), kernel.diag(A)
        trace = float(namespace(diagonal).sum(diagonal))
        kept = float(namespace(U).sum(U * U))
        self.trace_error_ = max(0.0, 1.0 - kept / trace) if trace else 0.0
        return U

    def _given_or_drawn_landmarks(self, kernel: Kernel, A: Items) -> Items:
        """Return the given landmarks, or `rank` items drawn at random."""
        if (self.rank is None) == (self.landmarks is None):
            raise ValueError(
                "Nystroem takes either rank=, a number of landmarks to draw, or landmarks=, the "
                f"items themselves; got rank={self.rank!r} and "
                f"{'no' if self.landmarks is None else count(self.landmarks)} landmarks."
            )
        if self.landmarks is not None:
            return kernel.check(self.landmarks, "landmarks")
        check_rank(self.rank)
        n = count(A)
        drawn = check_random_state(self.random_state).permutation(n)[: self.rank]
        return take(A, np.sort(drawn))


def inverse_root(K: Array) -> Array:
    """Return W with WWᵀ = K⁻¹ on the range of K; K may be overwritten.

    One Cholesky factorisation if K is well conditioned, otherwise one eigendecomposition.
    """
    xp = namespace(K)
    largest = float(xp.max(xp.abs(K)))
    if largest == 0:
        raise ValueError("the kernel is zero on all landmarks: choose others.")
    try:
        L = PositiveDefinite.of(K + 0.0).factor
        squares = xp.linalg.diagonal(L) ** 2
        if float(xp.min(squares)) > CONDITION * K.shape[0] * EPS * largest:
            return triangular_inverse(L).T
    except np.linalg.LinAlgError:
        pass  # K is singular, because landmarks repeat
    s, P = eigh(K, "Gram matrix of the landmarks")
    return P / xp.sqrt(s)
