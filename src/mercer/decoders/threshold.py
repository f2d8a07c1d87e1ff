from __future__ import annotations

import heapq
from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np

from .._base.arrays import Items, dense, host
from .._base.overlap import OVERLAPS
from .._base.parameters import parameters
from ..embedding import Embedding
from ..kernels import Kernel
from ._label_decoder import LabelDecoder
from .base import Ranked

MACRO = "macro"
PRIOR = 10.0
"""Examples that the threshold of all labels counts as, added to those that have a label."""


@parameters
class Threshold(LabelDecoder):
    r"""The labels whose score reaches a threshold, for label sets under a linear output kernel.

    What is left open (None) is calibrated on the left-out points of the training examples: the
    threshold and the rule that are best there, over *all* thresholds, by one sort. A threshold of
    1/2 without the rule is the exact pre-image.

    Parameters
    ----------
    threshold : float or None, default=None
        A number, or None.
    metric : str, default="f1"
        What is best: "f1" (the mean over examples of :math:`2 \lvert y \cap \hat y \rvert / (\lvert
        y \rvert + \lvert \hat y \rvert)`), "hamming" (the fraction of right entries), "subset" (the
        fraction of examples that are right as a whole) or "macro" (the mean over labels of their
        F1: each label has its own threshold, shrunk towards that of all labels as if that had been
        found on ten more examples with the label).
    at_least_one : bool or None, default=None
        Whether the best label is predicted where none reaches the threshold, or None.

    Attributes
    ----------
    threshold_, at_least_one_
        What is used; with "macro" one threshold for each label.
    calibration_
        The metric on the left-out points, where it was calibrated.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.decoders import Threshold
    >>> from mercer.kernels import Labels, RBF
    >>> X, y = [[0.0], [0.1], [1.0], [1.1]], [["sea"], ["sea"], ["sea", "sun"], ["sea", "sun"]]
    >>> model = KernelDependency(RBF(0.5), Labels(), alpha=0.1, decoder=Threshold(metric="subset"))
    >>> model.fit(X, y).predict([[0.05], [1.2]])
    array([list(['sea']), list(['sea', 'sun'])], dtype=object)
    """

    threshold: float | None = None
    metric: str = "f1"
    at_least_one: bool | None = None

    @property
    def calibrates(self) -> bool:  # type: ignore[override]
        """Whether `calibrate` chooses the threshold or the rule."""
        return self.threshold is None or self.at_least_one is None

    def fit(self, kernel: Kernel, y: Items) -> Threshold:
        """Store one training output, whose form predictions will have."""
        super().fit(kernel, y)
        metrics = [*sorted(OVERLAPS), MACRO]
        if self.metric not in metrics:
            raise ValueError(f"metric must be one of {metrics}, got {self.metric!r}.")
        if self.threshold is not None and not isinstance(self.threshold, Real):
            raise ValueError(f"threshold must be a number or None, got {self.threshold!r}.")
        self.threshold_: Any = 0.5 if self.threshold is None else float(self.threshold)
        self.at_least_one_ = bool(self.at_least_one)
        return self

    def calibrate(self, points: Embedding, y: Items) -> Threshold:
        """Choose the threshold and the rule on left-out points and their label sets y."""
        G, T = self._scores(points), host(dense(self.labels_.check(y, "y"))) > 0
        if self.metric == MACRO:
            return self._calibrate_each(G, T)
        order = np.argsort(-G, axis=1)
        levels = np.take_along_axis(G, order, axis=1)
        values = self._values(np.take_along_axis(T, order, axis=1))
        found = []
        for rule in (False, True) if self.at_least_one is None else (bool(self.at_least_one),):
            if rule:
                values[:, 0] = values[:, 1]  # the best label is predicted anyway
            found.append((*self._best(levels, values), rule))
        self.calibration_, self.threshold_, self.at_least_one_ = max(found, key=lambda f: f[0])
        return self

    def _calibrate_each(self, G: np.ndarray, T: np.ndarray) -> Threshold:
        """Choose one threshold per label by F1, from left-out scores G and true indicators T."""
        if self.threshold is None:
            level = best_threshold(G.ravel(), T.ravel())
            own = np.array([best_threshold(g, t) for g, t in zip(G.T, T.T, strict=True)])
            seen = T.sum(axis=0)
            self.threshold_ = (seen * own + PRIOR * level) / (seen + PRIOR)
        chosen = self.threshold_ <= G
        sizes = chosen.sum(axis=0) + T.sum(axis=0)
        each = 2.0 * (chosen & T).sum(axis=0) / np.maximum(sizes, 1)
        occurs = T.any(axis=0)
        self.calibration_ = float(each[occurs].mean()) if occurs.any() else 0.0
        return self

    def _values(self, T: np.ndarray) -> np.ndarray:
        """Return the metric of each example if its first 0, 1, … labels are predicted.

        Row i of T has the true indicators of example i, sorted by falling score.
        """
        n, labels = T.shape
        hits = np.concatenate([np.zeros((n, 1), dtype=int), np.cumsum(T, axis=1)], axis=1)
        return OVERLAPS[self.metric](hits, np.arange(labels + 1)[None, :], hits[:, -1:], labels)

    def _best(self, levels: np.ndarray, values: np.ndarray) -> tuple[float, float]:
        """Return the best mean metric over all thresholds, and that threshold.

        Row i of `levels` has the falling scores of example i, and `values` is from
        `_values`.
        """
        start, gains = values[:, 0].sum(), np.diff(values, axis=1)
        if self.threshold is not None:
            reached = gains[self.threshold_ <= levels].sum()
            return float(start + reached) / len(values), self.threshold_
        # Lowering the threshold past a score adds that label: the total is a running sum of gains.
        order = np.argsort(-levels, axis=None)
        bounds = levels.ravel()[order]
        total = start + np.concatenate([[0.0], np.cumsum(gains.ravel()[order])])
        bounds = np.concatenate([[bounds[0] + 1.0], bounds, [bounds[-1] - 1.0]])
        possible = bounds[:-1] > bounds[1:]  # equal scores are passed together
        best = int(np.argmax(np.where(possible, total, -np.inf)))
        return float(total[best]) / len(values), float(bounds[best] + bounds[best + 1]) / 2.0

    def decode(self, points: Embedding) -> Items:
        """Return the set of labels whose scores reach the threshold at each point."""
        G = self._scores(points)
        chosen = self.threshold_ <= G
        if self.at_least_one_:
            none = np.flatnonzero(~chosen.any(axis=1))
            chosen[none, G[none].argmax(axis=1)] = True
        return self._as_label_sets(chosen)

    def decode_top(self, points: Embedding, k: int) -> list[Ranked]:
        """Return the `k` label sets with the largest Σ (score - threshold) at each point."""
        return [
            [
                (self._as_label_sets(chosen[None, :])[0], score)
                for score, chosen in self._ranked(row, k)
            ]
            for row in self._scores(points) - self.threshold_
        ]

    def _ranked(self, margins: np.ndarray, k: int) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the k largest sums of margins over label sets, each with the set as indicators."""
        best = margins >= 0
        order = np.argsort(np.abs(margins), kind="stable")
        for loss, flips in _cheapest_subsets(np.abs(margins)[order]):
            chosen = best.copy()
            chosen[order[flips]] ^= True
            if k and (chosen.any() or not self.at_least_one_):
                yield float(margins[best].sum() - loss), chosen
                k -= 1
            if not k:
                return


def best_threshold(scores: np.ndarray, truth: np.ndarray) -> float:
    """Return the threshold on the scores of one label that gives the largest F1."""
    order = np.argsort(-scores, kind="stable")
    levels, hits = scores[order], np.cumsum(truth[order])
    values = 2.0 * hits / (np.arange(1, len(hits) + 1) + hits[-1])
    last = np.append(levels[1:] < levels[:-1], True)  # equal scores are passed together
    best = int(np.argmax(np.where(last, values, -1.0)))
    below = levels[best + 1] if best + 1 < len(levels) else levels[best] - 1.0
    return float(levels[best] + below) / 2.0


def _cheapest_subsets(costs: np.ndarray) -> Iterator[tuple[float, list[int]]]:
    """Yield (sum, positions) of all subsets of ascending costs, smallest sum first."""
    yield 0.0, []
    heap = [(float(costs[0]), [0])]
    while heap:
        total, subset = heapq.heappop(heap)
        yield total, subset
        last = subset[-1] + 1
        if last < len(costs):
            step = float(costs[last])
            heapq.heappush(heap, (total + step, [*subset, last]))
            heapq.heappush(heap, (total + step - float(costs[last - 1]), [*subset[:-1], last]))
