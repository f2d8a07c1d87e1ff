from __future__ import annotations

import numpy as np

from .._arrays import Items, blocks
from ..embedding import Embedding
from ._label_decoder import LabelDecoder
from .base import Ranked

ENTRIES = 2**22
"""Numbers that are held at once."""


class ExpectedF1(LabelDecoder):
    """The label set of the largest expected F1, for label sets under a linear output kernel.

    The coordinates of g(x) are read as probabilities of the labels, independent of each other, and
    the set is that of the largest E[2|y ∩ ŷ| / (|y| + |ŷ|)]: exact, over all sets. The number of
    labels then varies with how sure the model is, where `Threshold` has one level for all inputs.

    Notes
    -----
    For sets of size s the gain of label j is Σ_k 2 P(y_j = 1, |y| = k) / (s + k): the best s labels
    are those of the largest gains (Dembczynski et al. 2011). The joint probabilities are those of a
    Poisson-binomial count of the other labels, by dynamic programming: cubic in the number of
    labels.

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

    def decode(self, points: Embedding) -> Items:
        """The best set of each point, in the form that the training outputs had."""
        chosen, values = self._by_size(points)
        return self._formed(chosen[np.arange(len(chosen)), values.argmax(axis=1)])

    def decode_top(self, points: Embedding, k: int) -> list[Ranked]:
        """For each point the best sets of `k` sizes, with their expected F1."""
        chosen, values = self._by_size(points)
        order = np.argsort(-values, axis=1, kind="stable")[:, :k]
        return [
            list(zip(self._formed(sets[best]), worth[best].tolist(), strict=True))
            for sets, worth, best in zip(chosen, values, order, strict=True)
        ]

    def _by_size(self, points: Embedding) -> tuple[np.ndarray, np.ndarray]:
        """The best set of every size for each point, as booleans, and its expected F1."""
        P = np.clip(self._scores(points), 0.0, 1.0)
        step = max(1, ENTRIES // P.shape[1] ** 2)
        found = [_best_sets(P[rows]) for rows in blocks(len(P), step)]
        chosen, values = (np.concatenate(part) for part in zip(*found, strict=True))
        return chosen, values


def _best_sets(P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The set of the largest expected F1 at each size from 0 (point, size, label), and its value.

    The empty set comes first: of equal values the smaller set is taken.
    """
    m, labels = P.shape
    sizes = np.arange(1, labels + 1)
    gains = _joint(P) @ (2.0 / (sizes[:, None] + sizes[None, :]))  # point, label, size
    order, values = best_by_size(gains)
    ranks = np.swapaxes(np.argsort(order, axis=1), 1, 2)  # point, size, label
    chosen = ranks < sizes[:, None]
    nothing = np.zeros((m, 1, labels), dtype=bool)
    empty = np.prod(1.0 - P, axis=1)[:, None]
    return np.concatenate([nothing, chosen], axis=1), np.concatenate([empty, values], axis=1)


def best_by_size(gains: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels by falling gain (point, rank, size), and the sum of the best s gains at size s."""
    order = np.argsort(-gains, axis=1, kind="stable")
    summed = np.cumsum(np.take_along_axis(gains, order, axis=1), axis=1)
    return order, np.einsum("tss->ts", summed)


def _joint(P: np.ndarray) -> np.ndarray:
    """P(y_j = 1, |y| = k) for every point, label j and size k from 1."""
    m, labels = P.shape
    J = np.empty((m, labels, labels))
    for j in range(labels):
        D = np.zeros((m, labels))
        D[:, 0] = 1.0
        for i in range(labels):
            if i != j:
                D[:, 1:] = D[:, 1:] * (1.0 - P[:, [i]]) + D[:, :-1] * P[:, [i]]
                D[:, 0] *= 1.0 - P[:, i]
        J[:, j, :] = D * P[:, [j]]
    return J
