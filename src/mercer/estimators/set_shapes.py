"""The kinds of prediction sets: how far an output is from the prediction, and the sets of that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._arrays import Array, Items, host, namespace, one, take
from ..embedding import Embedding
from .prediction_sets import Ball, Bands, weighted_quantile

Moves = Iterator[tuple[slice, Array]]
"""How left-out models differ from the model, (inputs, groups, q), block by block of inputs."""


class CandidateShape:
    """Lists of outputs. The score of one is d²(y) - min d²: 0 for the nearest, which is always in.

    An output that is no candidate scores infinity.

    Parameters
    ----------
    model
        The fitted model.
    candidates
        The pool; None for all outputs where the space is small enough to write them down, and
        else for the training outputs.
    labels
        The groups of the training outputs, where they are to be left out one by one.
    """

    alone: np.ndarray | None = None  # as files of version 0.1 leave it

    def __init__(self, model: Any, candidates: Items | None, labels: np.ndarray | None = None):
        kernel = model.output_kernel_
        pool = candidates
        self.complete, self.alone = False, None
        if candidates is None:
            pool = kernel.space.every(model.outputs_)
            self.complete = pool is not None
        self.owned = pool is None
        pool = model.outputs_ if pool is None else kernel.as_outputs(pool)
        positions, numbers = kernel.space.unique(pool)
        self.outputs = take(pool, positions)
        self.number = {key: i for i, key in enumerate(kernel.space.keys(self.outputs))}
        if labels is not None and self.owned:
            self.alone = alone(numbers, labels)

    def _farther(self, points: Embedding) -> np.ndarray:
        """d²(y) - ‖g‖² of every candidate, one row a point."""
        return -host(points.scores(self.outputs))

    def gaps(self, points: Embedding) -> np.ndarray:
        """d²(y) - min d² of every candidate, one row a point."""
        D = self._farther(points)
        if points.left_out is not None and self.alone is not None:
            D = np.where(self.alone, np.inf, D)
        return D - D.min(axis=1, keepdims=True)

    def known(self, y: Items, space: Any) -> np.ndarray:
        """The number of each output among the candidates, -1 for none."""
        return np.array([self.number.get(key, -1) for key in space.keys(y)])

    def scores(self, points: Embedding, y: Items, scale: Any = None) -> np.ndarray:
        """The score of each point's own output."""
        D, known = self.gaps(points), self.known(y, points.frame.kernel.space)
        return np.where(known < 0, np.inf, D[np.arange(len(D)), known])

    def sets(self, points: Embedding, radii: np.ndarray, scale: Any = None) -> list[list]:
        """The candidates that score at most the radius of their input, nearest first.

        `radii` has one value an input, or one row with a value for each candidate.
        """
        D = self._farther(points)
        return [
            self._listed(row, row - row.min() <= radius)
            for row, radius in zip(D, radii, strict=True)
        ]

    def moved_sets(
        self, points: Embedding, moves: Moves, scores: np.ndarray, weights: np.ndarray, level: float
    ) -> list[list]:
        """The candidates whose score under the left-out models is not above too many of theirs.

        `scores` and `weights` have one row a calibration example, whose group `moves` tell apart.
        """
        E = host(points.frame.evaluate(self.outputs))
        D, sets = self._farther(points), []
        for rows, move in moves:
            for t, by_group in zip(range(rows.start, rows.stop), host(move), strict=True):
                moved = D[t] + 2.0 * by_group @ E.T  # (rows of calibration, candidates)
                if self.alone is not None:
                    moved[self.alone] = np.inf  # the model that leaves it out never saw it
                moved -= moved.min(axis=1, keepdims=True)
                above = weights @ (scores[:, None] < moved)
                inside = above < level - 1e-12
                inside[np.argmin(D[t])] = True
                sets.append(self._listed(D[t], inside))
        return sets

    def _listed(self, distances: np.ndarray, inside: np.ndarray) -> list:
        order = np.argsort(distances, kind="stable")
        return [one(self.outputs, int(i)) for i in order if inside[i]]


def alone(numbers: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Whether an output (column) is that of the example's own group (row) alone."""
    groups: list[set] = [set() for _ in range(int(numbers.max()) + 1)]
    for number, label in zip(numbers, labels, strict=True):
        groups[number].add(label)
    owner = np.array([next(iter(g)) if len(g) == 1 else -1 for g in groups])
    return labels[:, None] == owner[None, :]


class AroundShape:
    """Balls or bands around the prediction: one radius an input."""

    def __init__(self, model: Any):
        self.model = model

    def radii(
        self, points: Embedding, moves: Moves, scores: np.ndarray, weights: np.ndarray, level: float
    ) -> np.ndarray:
        """The radius of a set around the prediction that holds the jackknife+ set.

        By the triangle inequality: an upper bound, not the smallest such radius.
        """
        found = []
        for _, move in moves:
            found.append(weighted_quantile(scores + self._lengths(points, move), weights, level))
        return np.concatenate(found)

    def moved_sets(self, points: Embedding, moves: Moves, *calibration: Any) -> Any:
        """The sets of those radii."""
        return self.sets(points, self.radii(points, moves, *calibration))

    def sets(self, points: Embedding, radii: np.ndarray, scale: Any = None) -> Any:
        """The sets of one radius an input, in units of `scale` where inputs have their own."""
        raise NotImplementedError

    def _lengths(self, points: Embedding, move: Array) -> np.ndarray:
        raise NotImplementedError

    def _predicted(self, points: Embedding) -> np.ndarray:
        return host(self.model._flattened(self.model.decoder_.decode(points)))


class BallShape(AroundShape):
    """Balls in the feature space of the output kernel."""

    def scores(self, points: Embedding, y: Items, scale: Any = None) -> np.ndarray:
        """‖g(x) - Φ(y)‖, in units of the scale."""
        lengths = np.sqrt(host(points.sqdistances_to(y)))
        return lengths if scale is None else lengths / scale

    def _lengths(self, points: Embedding, move: Array) -> np.ndarray:
        return host(namespace(move).sum(move * move, axis=-1)) ** 0.5

    def sets(self, points: Embedding, radii: np.ndarray, scale: Any = None) -> list[Ball]:
        """A ball for each input."""
        kernel = self.model.output_kernel_
        radii = radii if scale is None else radii * scale
        pairs = zip(self._predicted(points), radii, strict=True)
        return [Ball(center, float(radius), kernel) for center, radius in pairs]


class BandShape(AroundShape):
    """Bands of the same shape everywhere, wide where residuals are large unless they are flat."""

    def __init__(self, model: Any, points: Embedding, y: Items, flat: bool = False):
        super().__init__(model)
        self.flat = flat
        residuals = self._residuals(points, y)
        if flat:
            self.scale = np.ones(residuals.shape[1:])
            return
        self.scale = np.maximum(residuals.std(axis=0), 1e-12 * np.abs(host(y)).max() + 1e-300)

    def scores(self, points: Embedding, y: Items, scale: Any = None) -> np.ndarray:
        """The largest residual anywhere, in units of what is usual there."""
        return self._largest(self._residuals(points, y), scale)

    def _residuals(self, points: Embedding, y: Items) -> np.ndarray:
        predicted = self._predicted(points)  # of numbers one by one, where y is a column of them
        return np.reshape(host(y), predicted.shape) - predicted

    def _largest(self, residuals: np.ndarray, scale: Any = None) -> np.ndarray:
        scale = self.scale if scale is None else scale
        return np.abs(residuals / scale).reshape(len(residuals), -1).max(axis=1)

    def _lengths(self, points: Embedding, move: Array) -> np.ndarray:
        t, groups, q = move.shape
        flat = points.frame.kernel_features(namespace(move).reshape(move, (t * groups, q)))
        outputs = host(self.model.output_kernel_.features.inverse(flat))
        return self._largest(outputs.reshape(t * groups, *self.scale.shape)).reshape(t, groups)

    def sets(self, points: Embedding, radii: np.ndarray, scale: Any = None) -> Bands:
        """A band for each input."""
        middle = self._predicted(points)
        scale = self.scale if scale is None else scale
        half = np.reshape(radii, (-1,) + (1,) * (middle.ndim - 1)) * scale
        return Bands(middle - half, middle + half)


class RankedShape:
    """Lists of the best outputs that a model names itself, by how far they score below the best."""

    complete, owned = False, False

    def scores(self, points: Any, y: Items, scale: Any = None) -> np.ndarray:
        """The gap between the best score and that of each input's own output."""
        pairs = zip(points.lists, points.space.keys(y), strict=True)
        return np.array(
            [_gap(some, points.space.keys([o for o, _ in some]), k) for some, k in pairs]
        )

    def sets(self, points: Any, radii: np.ndarray, scale: Any = None) -> list[list]:
        """The outputs that score at most the radius below the best."""
        return [
            [output for output, score in some if some[0][1] - score <= radius]
            for some, radius in zip(points.lists, radii, strict=True)
        ]


def _gap(ranked: list, keys: list, key: Any) -> float:
    return ranked[0][1] - ranked[keys.index(key)][1] if key in keys else np.inf
