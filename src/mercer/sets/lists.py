"""Scores of structured outputs, whose sets are lists of outputs, best first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._base.arrays import Items, host, object_array, one, take
from ..decoders.base import Ranked
from ..embedding import Embedding
from ..kernels import Kernel
from ..spaces import Rankings, Records, Space
from .scores import Score


class ListScore(Score):
    """Base class of scores whose sets are lists of outputs, best first."""

    lists = True

    def ranked(self, points: Any) -> list[tuple[np.ndarray, Items]]:
        """Return for each point the scores of all possible outputs, best first, and the outputs."""
        raise NotImplementedError


class CandidateScore(ListScore):
    """Score of a candidate: its squared distance from g(x) minus that of the nearest candidate.

    It is d²(y) - min d² with d(y) = ‖g(x) - Φ(y)‖ and the minimum over all candidates.
    The nearest candidate scores 0, so that no list is empty. Other outputs score infinity.

    Parameters
    ----------
    kernel, y
        The fitted output kernel, and the training outputs.
    candidates
        The pool; None for all outputs where the space is small enough to enumerate them, and else
        for the training outputs.
    labels
        The groups of the training outputs, where they are to be left out one by one.
    """

    def __init__(
        self,
        kernel: Kernel,
        y: Items,
        candidates: Items | None = None,
        labels: np.ndarray | None = None,
    ):
        if candidates is None and isinstance(kernel.space, Records):
            raise ValueError(
                "records have one set for each field, not lists of records: use "
                "RecordSets.of(model), or give candidates=."
            )
        self.kernel = kernel
        every, known = None, True
        if candidates is None:
            every, known = kernel.multiple.kernel.every_output(y)
        self.complete = every is not None
        given = every if candidates is None else candidates
        pool = y if given is None else kernel.as_outputs(given)
        positions, numbers = kernel.space.unique(pool)
        self.outputs = take(pool, positions)
        self.number = {key: i for i, key in enumerate(kernel.space.keys(self.outputs))}
        self.excluded, parts = None, kernel.space.parts
        if given is None:
            self.unproven = "the pool of candidates is the training outputs"
            own: list[set] = [{number} for number in numbers]
            listed: list[set] = [{c} for c in range(len(positions))]
        elif not known:
            self.unproven = (
                "the pool of candidates has the labels of the training outputs, not given ones "
                "such as Labels(classes=[...])"
            )
            own, listed = list(parts(y)), list(parts(self.outputs))
        if self.unproven and labels is not None:
            self.excluded = only_in_own_group(own, listed, labels)

    def relative_distances(self, points: Embedding) -> np.ndarray:
        """Return ‖g - Φ(y)‖² - ‖g‖² for every predicted point g (row) and candidate y (column)."""
        return -host(points.scores(self.outputs))

    def gaps(self, points: Embedding) -> np.ndarray:
        """Return each candidate's squared distance minus the smallest, (points, candidates)."""
        D = self.relative_distances(points)
        if points.left_out is not None and self.excluded is not None:
            D = np.where(self.excluded, np.inf, D)
        return D - D.min(axis=1, keepdims=True)

    def numbers_of(self, y: Items) -> np.ndarray:
        """Return the index of each output in the list of candidates; -1 if it is not in it."""
        return np.array([self.number.get(key, -1) for key in self.kernel.space.keys(y)])

    def scores(self, points: Embedding, y: Items, unit: np.ndarray | None = None) -> np.ndarray:
        """Return the squared distance of points[i] to y[i] minus that to the nearest candidate.

        `unit` has no effect.
        """
        D, known = self.gaps(points), self.numbers_of(y)
        return np.where(known < 0, np.inf, D[np.arange(len(D)), known])

    def ranked(self, points: Embedding) -> list[tuple[np.ndarray, Items]]:
        """Return for each point the scores of all candidates, sorted, and the sorted candidates."""
        orders = [(gaps, np.argsort(gaps, kind="stable")) for gaps in self.gaps(points)]
        return [(gaps[order], take(self.outputs, order)) for gaps, order in orders]

    def sets(self, points: Embedding, radii: np.ndarray) -> list[list]:
        """Return for each point the candidates whose score is at most its radius, nearest first."""
        found = []
        for row, radius in zip(self.relative_distances(points), radii, strict=True):
            order, inside = np.argsort(row, kind="stable"), row - row.min() <= radius
            found.append([one(self.outputs, int(i)) for i in order if inside[i]])
        return found


def only_in_own_group(own: list[set], candidates: list[set], labels: np.ndarray) -> np.ndarray:
    """Return a mask: whether a candidate (column) has a part that only the group of a row has.

    Example i has the parts `own[i]`, such as the labels of a set, and is in the group `labels[i]`.
    """
    groups: dict[Any, int | None] = {}
    for parts, label in zip(own, labels.tolist(), strict=True):
        for part in parts:
            groups[part] = label if groups.get(part, label) == label else None
    found = np.zeros((len(labels), len(candidates)), dtype=bool)
    for column, parts in enumerate(candidates):
        for group in {groups[part] for part in parts if part in groups} - {None}:
            found[:, column] |= labels == group
    return found


class RankedScore(ListScore):
    """Score of an output in a ranked list: the best score in the list minus its score.

    Parameters
    ----------
    space
        The space of the outputs, which compares them.
    """

    complete = False

    def __init__(self, space: Space):
        self.space = space

    def scores(self, points: list[Ranked], y: Items, unit: np.ndarray | None = None) -> np.ndarray:
        """Return the best score of each ranked list minus the score of the output y[i] in it.

        `unit` has no effect.
        """
        found = []
        for ranked, own in zip(points, self.space.keys(y), strict=True):
            keys = self.space.keys([output for output, _ in ranked])
            known = own in keys
            found.append(ranked[0][1] - ranked[keys.index(own)][1] if known else np.inf)
        return np.array(found)

    def ranked(self, points: list[Ranked]) -> list[tuple[np.ndarray, Items]]:
        """Return for each ranked list the differences from its best score, and its outputs."""
        return [
            (np.array([row[0][1] - score for _, score in row]), object_array([o for o, _ in row]))
            for row in points
        ]

    def sets(self, points: list[Ranked], radii: np.ndarray) -> list[list]:
        """Return for each ranked list the outputs whose score is within the radius of the best."""
        return [
            [output for output, score in ranked if ranked[0][1] - score <= radius]
            for ranked, radius in zip(points, radii, strict=True)
        ]


def label_positions(lists: Sequence[list], space: Space) -> np.ndarray:
    """Return whether each label has each position in a list of rankings, for each of `lists`.

    The shape is (lists, labels, positions). The true positions of all labels are among these
    whenever the true ranking is in the list.
    """
    if not isinstance(space, Rankings):
        raise ValueError("positions are those of labels in rankings: these outputs are not ranked.")
    ranks = [np.asarray(some, dtype=int) for some in lists]
    m = ranks[0].shape[1]
    first = min(int(some.min()) for some in ranks)
    return np.stack([(some[:, :, None] - first == np.arange(m)).any(axis=0) for some in ranks])
