"""Decoders of rankings."""

from __future__ import annotations

import warnings
from itertools import permutations
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from .._base.arrays import Items, blocks, host
from .._base.parameters import parameters
from ..embedding import Embedding
from ..kernels import Hamming, Kendall, Kernel, Spearman
from ..kernels.rankings import Ranking
from ._scan import merge_best
from .base import Decoder, Ranked, features, unsuited_kernel

ENUMERATED = 7
"""The largest number m of labels for which all m! rankings are scored."""
SCORED_POINTS = 1024
"""The number of points that are scored at once."""


class RankingDecoder(Decoder):
    """Base class of decoders into full rankings, as rows of ranks."""

    KERNELS: tuple[type[Kernel], ...] = (Ranking,)
    supported = "on rankings: Kendall(), Spearman() or Hamming()"

    def fit(self, kernel: Kernel, y: Items) -> RankingDecoder:
        """Store the fitted kernel and the dtype of the training rankings."""
        if not isinstance(kernel.multiple.kernel, self.KERNELS):
            raise unsuited_kernel(self, kernel, self.supported)
        self.kernel_, self.dtype_ = kernel, np.asarray(host(y)[:1]).dtype
        self.m_ = int(kernel.check(y, "y").shape[1])
        return self

    def decode(self, points: Embedding) -> np.ndarray:
        """Return the best ranking of each predicted point, as rows of ranks."""
        return self._ranks(self._features(points)).astype(self.dtype_)

    def _features(self, points: Embedding) -> np.ndarray:
        """Return the feature vectors of points under the kernel on rankings, one row each."""
        return host(features(points, self.kernel_))

    @property
    def _ranking(self) -> Any:
        """The fitted kernel on rankings, without its scale."""
        return self.kernel_.multiple.kernel

    def _ranks(self, F: np.ndarray) -> np.ndarray:
        """Return the best ranks for each row of F, the features of a predicted point."""
        raise NotImplementedError


@parameters
class Kemeny(RankingDecoder):
    """A decoder of the ranking that agrees most with the point under `Kendall`, exactly.

    Up to 7 labels, all rankings are scored. With more labels, pairwise preferences without a cycle
    give the ranking. With cycles it is found by dynamic programming over subsets of up to 16
    labels, and by an integer programme for each cycle of 17 to 300 labels. Larger cycles are
    ordered as by `Borda`, with a warning.

    Parameters
    ----------
    time_limit : float or None, default=60.0
        Seconds for an integer programme; None for no limit. A programme that runs out of time
        returns its best ranking so far (never worse than `Borda`) with a warning.

    Attributes
    ----------
    proved_
        Whether each ranking of the latest batch is proved to be optimal.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.decoders import Kemeny
    >>> X, ranks = [[0.0], [1.0], [2.0]], [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
    >>> model = KernelDependency("rbf", "kendall", alpha=0.01, decoder=Kemeny()).fit(X, ranks)
    >>> model.predict([[0.1], [1.9]])
    array([[0, 1, 2],
           [2, 1, 0]])
    """

    has_ranked_lists = True

    KERNELS = (Kendall,)
    supported = "that is Kendall()"

    time_limit: float | None = 60.0

    def _ranks(self, F: np.ndarray) -> np.ndarray:
        """Return the best ranks for each row of features F, by enumeration or by preferences."""
        from ._kemeny import PROGRAMME

        self.proved_ = np.ones(len(F), dtype=bool)
        if self.m_ <= ENUMERATED:
            return self._all_rankings()[self._best_of_all(F, 1)[0][:, 0]]
        orders = self._orders(self._ranking.preferences(F))
        if not self.proved_.all():
            warnings.warn(
                f"{int((~self.proved_).sum())} of {len(F)} rankings are not proved optimal: the "
                f"integer programme reached time_limit={self.time_limit} s, or more than "
                f"{PROGRAMME} labels are preferred to each other in a cycle.",
                stacklevel=2,
            )
        return np.argsort(orders, axis=1)

    def _orders(self, W: np.ndarray) -> np.ndarray:
        """Return the best order of the labels for each matrix W[t] of pairwise preferences."""
        from ._kemeny import SUBSETS, best_order, best_orders_by_subsets, majority_orders

        W = np.ascontiguousarray(W, dtype=float)
        orders, proved = majority_orders(W)
        cyclic = np.flatnonzero(~proved)
        if W.shape[1] <= SUBSETS and cyclic.size:
            orders[cyclic] = best_orders_by_subsets(W[cyclic])
        elif cyclic.size:
            for t in cyclic:
                orders[t], self.proved_[t] = best_order(W[t], self.time_limit)
        return orders

    def decode_top(self, points: Embedding, k: int) -> list[Ranked]:
        """Return the `k` best rankings of each predicted point, for up to 7 labels."""
        if self.m_ > ENUMERATED:
            raise ValueError(
                f"Kemeny returns several rankings for at most {ENUMERATED} labels, not {self.m_}. "
                "Use decoder=Candidates()."
            )
        best, scores = self._best_of_all(self._features(points), k)
        scores = self.kernel_.multiple.scale * scores
        rankings = self._all_rankings().astype(self.dtype_)
        return [
            [(rankings[j], float(s)) for j, s in zip(row, values, strict=True)]
            for row, values in zip(best, scores, strict=True)
        ]

    def _all_rankings(self) -> np.ndarray:
        """Return all rankings of the labels, one row of ranks each."""
        return np.array(list(permutations(range(self.m_))))

    def _best_of_all(self, F: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return indices and scores of the best k of all rankings, for each row of features F."""
        E = self._ranking.features(self._all_rankings())
        parts = [
            merge_best(None, 2.0 * (F[rows] @ E.T) - 1.0, 0, k)
            for rows in blocks(len(F), SCORED_POINTS)
        ]
        best, scores = (np.concatenate(part) for part in zip(*parts, strict=True))
        return best, scores


class Assignment(RankingDecoder):
    """A decoder of the best assignment of labels to ranks, for `Hamming` or `Spearman`.

    It is found by the Hungarian method for `Hamming`, and by sorting for `Spearman`.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.decoders import Assignment
    >>> from mercer.kernels import Hamming
    >>> X, ranks = [[0.0], [1.0], [2.0]], [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
    >>> model = KernelDependency("rbf", Hamming(), alpha=0.01, decoder=Assignment()).fit(X, ranks)
    >>> model.predict([[0.1], [1.9]])
    array([[0, 1, 2],
           [2, 1, 0]])
    """

    KERNELS = (Hamming, Spearman)
    supported = "that is Hamming() or Spearman()"

    def _ranks(self, F: np.ndarray) -> np.ndarray:
        """Return the best ranks for each row of features F, by assignment of labels to ranks."""
        if isinstance(self._ranking, Spearman):
            return _sorted_ranks(F)
        tables = F.reshape(len(F), self.m_, self.m_)
        return np.array([linear_sum_assignment(T, maximize=True)[1] for T in tables])


class Borda(RankingDecoder):
    """A decoder that sorts labels by mean rank: exact for `Spearman`, fast for other kernels.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.decoders import Borda
    >>> X, ranks = [[0.0], [1.0], [2.0]], [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
    >>> model = KernelDependency("rbf", "kendall", alpha=0.01, decoder=Borda()).fit(X, ranks)
    >>> model.predict([[0.1], [1.9]])
    array([[0, 1, 2],
           [2, 1, 0]])
    """

    def _ranks(self, F: np.ndarray) -> np.ndarray:
        """Return the ranks of the labels by mean position, for each row of features F."""
        return _sorted_ranks(self._ranking.positions(F))


def _sorted_ranks(positions: np.ndarray) -> np.ndarray:
    """Return for each row the ranks 0, 1, … of its labels, by ascending position."""
    return np.argsort(np.argsort(positions, axis=1, kind="stable"), axis=1)
