"""Kernels on rankings."""

from __future__ import annotations

import numpy as np

from .._base.arrays import Items
from ..spaces import Rankings
from ..spaces.rankings import as_rankings
from .base import Kernel
from .capabilities import Features


class Ranking(Kernel):
    """Base class of kernels on rankings of m labels, given as rows of ranks.

    An item is a row of ranks: the rank of label j in column j, 0 for the best. Equal ranks are
    ties; a negative rank or NaN is a label that was not ranked. Only the order of the ranks within
    a row counts.
    """

    unit_norm = True
    n_labels_ = 0

    def check(self, A: Items, name: str = "X") -> np.ndarray:
        """Check ranks; return float64 rows with NaN where a label is not ranked."""
        R = as_rankings(A, name)
        known = self.n_labels_ or R.shape[1]
        if R.shape[1] != known:
            raise ValueError(f"{name} ranks {R.shape[1]} labels, where {known} are known from fit.")
        return R

    space = Rankings()

    depends_on_data = False

    def fit(self, A: Items) -> Ranking:
        """Store the number of labels."""
        self.n_labels_ = int(as_rankings(A, "A").shape[1])
        return self

    features = property(lambda self: Features(self._normalized_features))

    def _normalized_features(self, A: Items) -> np.ndarray:
        """Return the features of rankings, scaled to length one for full rankings."""
        R = self.check(A, "A")
        full = self._raw_features(np.arange(R.shape[1], dtype=float)[None, :])
        return self._raw_features(R) / np.linalg.norm(full)

    def _raw_features(self, R: np.ndarray) -> np.ndarray:
        """Return the features of the ranks R, (n, m), before they are scaled to length one."""
        raise NotImplementedError

    def positions(self, F: np.ndarray) -> np.ndarray:
        """Return the mean position of each label at points F, correct up to a positive affine map.

        Row t of F is a point of the feature space, and row t of the result has one value per label.
        """
        raise NotImplementedError


class Kendall(Ranking):
    r"""Kendall's tau: the fraction of label pairs in the same order minus that in opposite order.

    The features are :math:`\operatorname{sign}(\sigma_j - \sigma_i) / \sqrt{m(m - 1)/2}` for
    :math:`i < j`, 0 for a pair that is tied or not ranked. ``Gaussian(Kendall())`` is the Mallows
    kernel.

    Examples
    --------
    >>> from mercer.kernels import Kendall
    >>> Kendall()([[0, 1, 2]], [[0, 1, 2], [1, 0, 2], [2, 1, 0], [0, 1, -1]]).round(4)
    array([[ 1.    ,  0.3333, -1.    ,  0.3333]])

    References
    ----------
    Jiao and Vert 2015; Korba, Garcia, d'Alché-Buc 2018 (the Kemeny embedding).
    """

    def _raw_features(self, R: np.ndarray) -> np.ndarray:
        """Return the sign of the difference of ranks for each pair of labels."""
        i, j = np.triu_indices(R.shape[1], 1)
        return np.nan_to_num(np.sign(R[:, j] - R[:, i]))

    def preferences(self, F: np.ndarray) -> np.ndarray:
        """Return the preferences for ranking label i before j at points F of the feature space.

        The result has the shape (points, m, m).
        """
        m = round((1.0 + np.sqrt(1.0 + 8.0 * F.shape[1])) / 2.0)
        i, j = np.triu_indices(m, 1)
        W = np.zeros((len(F), m, m))
        W[:, i, j], W[:, j, i] = F, -F
        return W

    def positions(self, F: np.ndarray) -> np.ndarray:
        """Return for each label the sum of preferences for others over it, as its position."""
        return self.preferences(F).sum(axis=1)


class Spearman(Ranking):
    r"""Spearman's rho: the correlation of ranks.

    The features are the ranks minus their mean, divided by :math:`\sqrt{(m^3 - m)/12}`; ties share
    the mean of their ranks, and a label that is not ranked has the mean rank, 0.

    Examples
    --------
    >>> from mercer.kernels import Spearman
    >>> Spearman()([[0, 1, 2]], [[0, 1, 2], [1, 0, 2], [2, 1, 0], [0, 0, 2]]).round(4)
    array([[ 1.  ,  0.5 , -1.  ,  0.75]])
    """

    def _raw_features(self, R: np.ndarray) -> np.ndarray:
        """Return centred ranks; ties have their mean rank, and labels without a rank have 0."""
        before, equal = _count_lower_and_tied(R)
        ranks = before + (equal - 1) / 2.0
        ranked = ~np.isnan(R)
        centre = (ranked.sum(axis=1, keepdims=True) - 1) / 2.0
        return np.where(ranked, ranks - centre, 0.0)

    def positions(self, F: np.ndarray) -> np.ndarray:
        """Return the points F unchanged, because the features are the centred ranks."""
        return F


class Hamming(Ranking):
    r"""The fraction of labels that are at the same position.

    The features are :math:`1/\sqrt m` where label :math:`j` is at position :math:`p`, in column
    :math:`jm + p`. Tied labels are spread evenly over their positions. A label that is not ranked
    has no position and those after it move up, so that `Kendall` suits incomplete rankings better.

    Examples
    --------
    >>> from mercer.kernels import Hamming
    >>> Hamming()([[0, 1, 2]], [[0, 1, 2], [1, 0, 2], [1, 2, 0]]).round(4)
    array([[1.    , 0.3333, 0.    ]])
    """

    def _raw_features(self, R: np.ndarray) -> np.ndarray:
        """Return 0/1 features of (label, position); ties are spread over their positions."""
        before, equal = (c[:, :, None] for c in _count_lower_and_tied(R))
        positions = np.arange(R.shape[1])
        inside = (positions >= before) & (positions < before + equal) & ~np.isnan(R)[:, :, None]
        return (inside / np.maximum(equal, 1)).reshape(len(R), -1)

    def positions(self, F: np.ndarray) -> np.ndarray:
        """Return the mean position of each label, times a constant, for features F.

        Column j·m + p of F is the weight of label j at position p.
        """
        m = round(np.sqrt(F.shape[1]))
        return F.reshape(len(F), m, m) @ np.arange(m)


def _count_lower_and_tied(R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each label how many labels have a lower rank, and how many an equal rank."""
    before = (R[:, None, :] < R[:, :, None]).sum(axis=2)
    return before, (R[:, None, :] == R[:, :, None]).sum(axis=2)
