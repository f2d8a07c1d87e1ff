"""Scores of outputs, and lists of the outputs that score within a radius."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._base.arrays import Array, Items, host, object_array, one, take
from ..decoders.base import Ranked
from ..embedding import Embedding
from ..spaces import Records, Space
from .views import PointModel

Moves = Iterator[tuple[slice, Array]]
"""Differences of left-out models from the model, (inputs, rows, q), block by block of inputs."""


@dataclass(frozen=True)
class LeftOutScores:
    """The scores of left-out training outputs, with their weights and the coverage."""

    scores: np.ndarray
    weights: np.ndarray
    level: float


class Score:
    """Base class of distances from a prediction to an output, and of their sets.

    Attributes
    ----------
    lists, by_location
        Whether sets are lists of outputs, and whether their widths differ by location.
    complete
        Whether every output can be in a set.
    unproven
        Why jackknife+ proves no level with this score; empty where it does.
    """

    lists: ClassVar[bool] = False
    by_location: ClassVar[bool] = False
    complete: bool
    unproven: str = ""

    def scores(self, points: Any, y: Items, scale: Any = None) -> np.ndarray:
        """Return the score of each output y[i] at points[i]; infinite if no set can contain it."""
        raise NotImplementedError

    def sets(self, points: Any, radii: np.ndarray, scale: Any = None) -> Sequence:
        """Return for each point the set of outputs whose score is at most its radius."""
        raise NotImplementedError

    def own_radii(self, radii: np.ndarray, y: Items) -> np.ndarray:
        """Return the radius that applies to each output of y."""
        return radii


class ListScore(Score):
    """Base class of scores whose sets are lists of outputs, best first."""

    lists = True

    def ranked(self, points: Any) -> list[tuple[np.ndarray, Items]]:
        """Return for each point the scores of all possible outputs, best first, and the outputs."""
        raise NotImplementedError


class CandidateScore(ListScore):
    """The excess d²(y) - min d² of squared distances ‖g(x) - Φ(y)‖² over given candidates.

    The nearest candidate scores 0, so that no list is empty. Other outputs score infinity.

    Parameters
    ----------
    model
        The fitted model.
    candidates
        The pool; None for all outputs where the space is small enough to enumerate them, and else
        for the training outputs.
    labels
        The groups of the training outputs, where they are to be left out one by one.
    """

    def __init__(
        self, model: PointModel, candidates: Items | None, labels: np.ndarray | None = None
    ):
        kernel = self.kernel = model.output_kernel_
        if candidates is None and isinstance(kernel.space, Records):
            raise ValueError(
                "records have one set for each field, not lists of records: use "
                "RecordSets.of(model), or give candidates=."
            )
        pool, self.excluded = candidates, None
        self.complete = False
        if candidates is None:
            pool = kernel.space.every(model.outputs_)
            self.complete = pool is not None
        owned = pool is None
        pool = model.outputs_ if owned else kernel.as_outputs(pool)
        positions, numbers = kernel.space.unique(pool)
        self.outputs = take(pool, positions)
        self.number = {key: i for i, key in enumerate(kernel.space.keys(self.outputs))}
        if owned:
            self.unproven = "the pool of candidates is the training outputs"
        if labels is not None and owned:
            self.excluded = only_in_own_group(numbers, labels)

    def _relative_distances(self, points: Embedding) -> np.ndarray:
        """Return ‖g - Φ(y)‖² - ‖g‖² for every point (row) and candidate (column)."""
        return -host(points.scores(self.outputs))

    def gaps(self, points: Embedding) -> np.ndarray:
        """Return each candidate's squared distance minus the smallest, (points, candidates)."""
        D = self._relative_distances(points)
        if points.left_out is not None and self.excluded is not None:
            D = np.where(self.excluded, np.inf, D)
        return D - D.min(axis=1, keepdims=True)

    def numbers_of(self, y: Items) -> np.ndarray:
        """Return the index of each output among the candidates; -1 if it is not one of them."""
        return np.array([self.number.get(key, -1) for key in self.kernel.space.keys(y)])

    def scores(self, points: Embedding, y: Items, scale: Any = None) -> np.ndarray:
        """Return the squared distance of points[i] to y[i] minus that to the nearest candidate."""
        D, known = self.gaps(points), self.numbers_of(y)
        return np.where(known < 0, np.inf, D[np.arange(len(D)), known])

    def own_radii(self, radii: np.ndarray, y: Items) -> np.ndarray:
        """Return the radius that applies to each output of y; candidates may have their own."""
        return radii if radii.ndim == 1 else radii[np.arange(len(radii)), self.numbers_of(y)]

    def ranked(self, points: Embedding) -> list[tuple[np.ndarray, Items]]:
        """Return for each point the scores of all candidates in increasing order, and these."""
        orders = [(gaps, np.argsort(gaps, kind="stable")) for gaps in self.gaps(points)]
        return [(gaps[order], take(self.outputs, order)) for gaps, order in orders]

    def sets(self, points: Embedding, radii: np.ndarray, scale: Any = None) -> list[list]:
        """Return for each point the candidates whose score is at most its radius, nearest first.

        `radii` has one value for each input, or one row with a value for each candidate.
        """
        D = self._relative_distances(points)
        return [
            self._sorted_list(row, row - row.min() <= radius)
            for row, radius in zip(D, radii, strict=True)
        ]

    def moved_sets(
        self, points: Embedding, moves: Moves, held: LeftOutScores, scales: Any = None
    ) -> list[list]:
        """Return for each point the candidates in its jackknife+ set, nearest first."""
        E = host(points.frame.evaluate(self.outputs))
        D, sets = self._relative_distances(points), []
        for rows, move in moves:
            for t, by_group in zip(range(rows.start, rows.stop), host(move), strict=True):
                moved = D[t] + 2.0 * by_group @ E.T  # (rows of calibration, candidates)
                if self.excluded is not None:
                    moved[self.excluded] = np.inf  # the model that leaves it out never saw it
                moved -= moved.min(axis=1, keepdims=True)
                above = held.weights @ (held.scores[:, None] < moved)
                inside = above < held.level - 1e-12
                inside[np.argmin(D[t])] = True
                sets.append(self._sorted_list(D[t], inside))
        return sets

    def _sorted_list(self, distances: np.ndarray, inside: np.ndarray) -> list:
        """Return the candidates where `inside` is True, nearest first."""
        order = np.argsort(distances, kind="stable")
        return [one(self.outputs, int(i)) for i in order if inside[i]]


def only_in_own_group(numbers: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return whether an output (column) occurs only in the group of an example (row)."""
    groups: list[set] = [set() for _ in range(int(numbers.max()) + 1)]
    for number, label in zip(numbers, labels, strict=True):
        groups[number].add(label)
    owner = np.array([next(iter(g)) if len(g) == 1 else -1 for g in groups])
    return labels[:, None] == owner[None, :]


class RankedScore(ListScore):
    """The best score of a ranked list minus an output's score, for models that rank.

    Parameters
    ----------
    space
        The space of the outputs, which compares them.
    """

    complete = False

    def __init__(self, space: Space):
        self.space = space

    def scores(self, points: list[Ranked], y: Items, scale: Any = None) -> np.ndarray:
        """Return the best score of each ranked list minus the score of the output y[i] in it."""
        found = []
        for ranked, own in zip(points, self.space.keys(y), strict=True):
            keys = self.space.keys([output for output, _ in ranked])
            known = own in keys
            found.append(ranked[0][1] - ranked[keys.index(own)][1] if known else np.inf)
        return np.array(found)

    def ranked(self, points: list[Ranked]) -> list[tuple[np.ndarray, Items]]:
        """Return for each ranked list the gaps to the best score, and the outputs."""
        return [
            (np.array([row[0][1] - score for _, score in row]), object_array([o for o, _ in row]))
            for row in points
        ]

    def sets(self, points: list[Ranked], radii: np.ndarray, scale: Any = None) -> list[list]:
        """Return for each ranked list the outputs within the radius of the best score."""
        return [
            [output for output, score in ranked if ranked[0][1] - score <= radius]
            for ranked, radius in zip(points, radii, strict=True)
        ]
