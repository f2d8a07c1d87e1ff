from __future__ import annotations

import numpy as np

from .._base.arrays import Items, blocks
from .._base.memory import ENTRIES
from ..embedding import Embedding
from ._label_decoder import LabelDecoder
from .base import Ranked


class ExpectedF1(LabelDecoder):
    r"""A decoder of the label set with the largest expected F1, for linear output kernels.

    The coordinates of g(x) are taken as probabilities of independent labels, and the set
    :math:`\hat y` has the largest :math:`E[2 \lvert y \cap \hat y \rvert / (\lvert y \rvert +
    \lvert \hat y \rvert)]` of all sets. The number of predicted labels varies with how sure the
    model is, while `Threshold` has one threshold for all inputs.

    Notes
    -----
    Labels are independent, so that the best set of s labels has the s largest probabilities. Its
    expected F1 is :math:`\sum_k 2k\, P(k)\, E[1 / (s + k + m)]`, with :math:`P(k)` the probability
    that k of its labels are true, and m the number of true labels outside the set. Both factors
    are computed recursively, one label after the other, in quadratic time (Ye, Chai, Lee and Chieu
    2012).

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.decoders import ExpectedF1
    >>> from mercer.kernels import Labels, RBF
    >>> X, y = [[0.0], [0.1], [1.0], [1.1]], [["sea"], ["sea"], ["sea", "sun"], ["sea", "sun"]]
    >>> model = KernelDependency(RBF(0.5), Labels(), alpha=0.1, decoder=ExpectedF1())
    >>> model.fit(X, y).predict([[0.05], [1.2]])
    array([list(['sea']), list(['sea', 'sun'])], dtype=object)
    """

    has_ranked_lists = True

    def decode(self, points: Embedding) -> Items:
        """Return the label set with the largest expected F1 at each predicted point."""
        order, values = self._f1_by_size(points)
        return self._as_label_sets(_first_labels(order, values.argmax(axis=1)))

    def decode_top(self, points: Embedding, k: int) -> list[Ranked]:
        """Return for each point the best sets of different sizes, at most `k`, by expected F1."""
        order, values = self._f1_by_size(points)
        sizes = np.argsort(-values, axis=1, kind="stable")[:, :k]
        ranked = []
        for labels, f1, best in zip(order[:, None], values, sizes, strict=True):
            sets = self._as_label_sets(_first_labels(labels, best))
            ranked.append(list(zip(sets, f1[best].tolist(), strict=True)))
        return ranked

    def _f1_by_size(self, points: Embedding) -> tuple[np.ndarray, np.ndarray]:
        """Return the labels by probability, and the expected F1 of the first 0, 1, … of them.

        Both have one row for each point.
        """
        P = np.clip(self._scores(points), 0.0, 1.0)
        order = np.argsort(-P, axis=1, kind="stable")
        falling = np.take_along_axis(P, order, axis=1)
        step = max(1, ENTRIES // int(P.shape[1] ** 1.5))
        values = [expected_f1(falling[rows]) for rows in blocks(len(P), step)]
        return order, np.concatenate(values)


def _first_labels(order: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return boolean indicators of the first `sizes[i]` labels of row i of `order`."""
    return np.argsort(order, axis=1) < sizes[:, None]


def expected_f1(P: np.ndarray) -> np.ndarray:
    """Return the expected F1 of predicting the s most probable labels, for every size s.

    Row t of P has the probabilities of the labels at point t in falling order, and row t of the
    result the values for s = 0, …, number of labels.
    """
    m, labels = P.shape
    step = max(1, round(labels**0.5))  # only every step-th distribution is stored, to save memory
    none = np.eye(1, labels + 1).repeat(m, axis=0)
    kept, parts = [none], list(blocks(labels, step))
    for part in parts:
        kept.append(_count_distributions(kept[-1], P[:, part])[-1])
    values = np.empty((m, labels + 1))
    values[:, 0] = kept[-1][:, 0]
    inverse = np.tile(1.0 / np.arange(1, 2 * labels + 1), (m, 1))
    for part, first in zip(reversed(parts), kept[-2::-1], strict=True):
        counts = _count_distributions(first, P[:, part])
        for s in range(part.stop, part.start, -1):
            k = np.arange(1, s + 1)
            true = counts[s - part.start][:, 1 : s + 1]
            values[:, s] = (2.0 * k * true * inverse[:, s + k - 1]).sum(axis=1)
            # inverse is E[1 / (a + number of true labels after the first s)], a = 1, 2, ...
            p = P[:, [s - 1]]
            inverse[:, :-1] = p * inverse[:, 1:] + (1.0 - p) * inverse[:, :-1]
    return values


def _count_distributions(first: np.ndarray, P: np.ndarray) -> list[np.ndarray]:
    """Return the distributions of the number of true labels, as labels are added one by one.

    Parameters
    ----------
    first
        The distribution before these labels, one row for each point.
    P
        The probability of each further label, (points, labels).
    """
    distributions = [first]
    for p in P.T[:, :, None]:
        before = distributions[-1]
        after = before * (1.0 - p)
        after[:, 1:] += before[:, :-1] * p
        distributions.append(after)
    return distributions
