from __future__ import annotations

import heapq
from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np

from .._base.arrays import Items
from .._base.parameters import one_of, parameters
from ..embedding import Embedding
from ..kernels import Kernel
from ..spaces.label_sets import OVERLAPS
from ._label_decoder import LabelDecoder
from .base import Ranked

MACRO = "macro"
"""The metric with one threshold for each label."""
THRESHOLD_PRIOR = 10.0
"""The weight of the common threshold in that of a label, in examples with the label."""


@parameters
class Threshold(LabelDecoder):
    r"""A decoder of the labels whose score reaches a threshold, for linear output kernels.

    Parameters that are None are calibrated on the left-out points of the training examples: the
    best of *all* thresholds is found by one sort. A threshold of 1/2 with ``at_least_one=False`` is
    the exact pre-image.

    Parameters
    ----------
    threshold : float or None, default=None
        The smallest score of a predicted label; None calibrates it.
    metric : str, default="f1"
        What to maximise: "f1" (the mean over examples of :math:`2 \lvert y \cap \hat y \rvert /
        (\lvert y \rvert + \lvert \hat y \rvert)`), "hamming" (the fraction of right entries),
        "subset" (the fraction of examples whose label set is right) or "macro" (the mean over
        labels of their F1: each label has its own threshold, shrunk towards that of all labels as
        if that had been found on ten more examples with the label).
    at_least_one : bool or None, default=None
        Whether the best label is predicted where none reaches the threshold; None calibrates it.

    Attributes
    ----------
    threshold_, at_least_one_
        The parameters in use; with "macro" one threshold for each label.
    calibration_
        The metric on the left-out points, if a parameter was calibrated.

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

    has_ranked_lists = True

    threshold: float | None = None
    metric: str = "f1"
    at_least_one: bool | None = None

    @property
    def calibrates(self) -> bool:  # type: ignore[override]
        """Whether `calibrate` chooses `threshold` or `at_least_one`."""
        return self.threshold is None or self.at_least_one is None

    def fit(self, kernel: Kernel, y: Items) -> Threshold:
        """Store one training output, whose form predictions will have."""
        super().fit(kernel, y)
        one_of(self.metric, "metric", [*sorted(OVERLAPS), MACRO])
        if self.threshold is not None and not isinstance(self.threshold, Real):
            raise ValueError(f"threshold must be a number or None, got {self.threshold!r}.")
        self.threshold_: Any = 0.5 if self.threshold is None else float(self.threshold)
        self.at_least_one_ = bool(self.at_least_one)
        return self

    def calibrate(self, points: Embedding, y: Items) -> Threshold:
        """Choose `threshold` and `at_least_one` on left-out points and their label sets y."""
        G, T = self._scores(points), self.encoded(y) > 0
        w = points.counts
        if self.metric == MACRO:
            return self._calibrate_per_label(G, T, w)
        order = np.argsort(-G, axis=1)
        falling = np.take_along_axis(G, order, axis=1)
        values = self._metric_by_size(np.take_along_axis(T, order, axis=1))
        choices = []
        for rule in (False, True) if self.at_least_one is None else (bool(self.at_least_one),):
            if rule:
                values[:, 0] = values[:, 1]  # the best label is predicted anyway
            choices.append((*self._best_threshold(falling, values, w), rule))
        self.calibration_, self.threshold_, self.at_least_one_ = max(choices, key=lambda c: c[0])
        return self

    def _calibrate_per_label(self, G: np.ndarray, T: np.ndarray, w: np.ndarray) -> Threshold:
        """Choose one threshold per label by F1, from left-out scores G and true indicators T.

        Row i counts `w[i]` times.
        """
        if self.threshold is None:
            common = best_threshold(G.ravel(), T.ravel(), np.repeat(w, T.shape[1]))
            single = np.array([best_threshold(g, t, w) for g, t in zip(G.T, T.T, strict=True)])
            examples = w @ T
            self.threshold_ = (examples * single + THRESHOLD_PRIOR * common) / (
                examples + THRESHOLD_PRIOR
            )
        chosen = self._select_labels(G)
        sizes = w @ chosen + w @ T
        f1 = 2.0 * (w @ (chosen & T)) / np.where(sizes > 0, sizes, 1.0)
        occurs = T.any(axis=0)
        self.calibration_ = float(f1[occurs].mean()) if occurs.any() else 0.0
        return self

    def _metric_by_size(self, T: np.ndarray) -> np.ndarray:
        """Return the metric of each example if its 0, 1, … best-scored labels are predicted.

        Row i of T has the true indicators of example i, sorted by falling score.
        """
        n, labels = T.shape
        hits = np.concatenate([np.zeros((n, 1), dtype=int), np.cumsum(T, axis=1)], axis=1)
        return OVERLAPS[self.metric](hits, np.arange(labels + 1)[None, :], hits[:, -1:], labels)

    def _best_threshold(
        self, falling: np.ndarray, values: np.ndarray, w: np.ndarray
    ) -> tuple[float, float]:
        """Return the best mean metric over all thresholds, and that threshold.

        Row i of `falling` has the sorted scores of example i, and row i of `values` its metric if
        its first 0, 1, … labels are predicted. The example counts `w[i]` times.
        """
        start, gains = w @ values[:, 0], w[:, None] * np.diff(values, axis=1)
        if self.threshold is not None:
            reached = gains[self.threshold_ <= falling].sum()
            return float(start + reached) / float(w.sum()), self.threshold_
        # Lowering the threshold past a score adds that label: the total is a running sum of gains.
        order = np.argsort(-falling, axis=None)
        bounds = falling.ravel()[order]
        total = start + np.concatenate([[0.0], np.cumsum(gains.ravel()[order])])
        bounds = np.concatenate([[bounds[0] + 1.0], bounds, [bounds[-1] - 1.0]])
        possible = bounds[:-1] > bounds[1:]  # equal scores are passed together
        best = int(np.argmax(np.where(possible, total, -np.inf)))
        return float(total[best]) / float(w.sum()), float(bounds[best] + bounds[best + 1]) / 2.0

    def decode(self, points: Embedding) -> Items:
        """Return the set of labels whose scores reach the threshold at each predicted point."""
        return self._as_label_sets(self._select_labels(self._scores(points)))

    def _select_labels(self, G: np.ndarray) -> np.ndarray:
        """Return boolean indicators of the predicted labels, given scores G (points, labels)."""
        margins = G - self.threshold_
        chosen = margins >= 0
        if self.at_least_one_:
            none = np.flatnonzero(~chosen.any(axis=1))
            chosen[none, margins[none].argmax(axis=1)] = True
        return chosen

    def decode_top(self, points: Embedding, k: int) -> list[Ranked]:
        """Return the best label sets of each predicted point, at most `k`.

        The score of a set is the sum over its labels of score minus threshold.
        """
        return [
            [
                (self._as_label_sets(chosen[None, :])[0], score)
                for score, chosen in self._best_label_sets(row, k)
            ]
            for row in self._scores(points) - self.threshold_
        ]

    def _best_label_sets(self, margins: np.ndarray, k: int) -> Iterator[tuple[float, np.ndarray]]:
        """Yield (sum, indicators) of the k label sets with the largest sums of score margins.

        A margin is the score of a label minus its threshold.
        """
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


def best_threshold(scores: np.ndarray, truth: np.ndarray, w: np.ndarray) -> float:
    """Return the threshold on the scores of examples that gives the largest F1 against `truth`.

    Example i counts `w[i]` times.
    """
    order = np.argsort(-scores, kind="stable")
    falling, hits = scores[order], np.cumsum((w * truth)[order])
    values = 2.0 * hits / (np.cumsum(w[order]) + hits[-1])
    last = np.append(falling[1:] < falling[:-1], True)  # equal scores are passed together
    best = int(np.argmax(np.where(last, values, -1.0)))
    below = falling[best + 1] if best + 1 < len(falling) else falling[best] - 1.0
    return float(falling[best] + below) / 2.0


def _cheapest_subsets(costs: np.ndarray) -> Iterator[tuple[float, list[int]]]:
    """Yield (sum, positions) of every subset of the ascending `costs`, smallest sum first."""
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
