"""Sets of outputs: what they are made of, and how far an output is from being in one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._arrays import Array, Items, host, namespace, one, take
from ..embedding import Embedding
from ..kernels import Kernel
from ..spaces import Space


@dataclass(frozen=True)
class Ball:
    """All outputs within `radius` of `center`, in the feature space of the output kernel."""

    center: Any
    radius: float
    kernel: Kernel = field(repr=False)

    def __contains__(self, y: Any) -> bool:
        pair = np.stack([np.asarray(self.center), _shaped(y, np.shape(self.center))])
        F = host(self.kernel.features(self.kernel.as_outputs(pair)))
        return bool(np.linalg.norm(F[0] - F[1]) <= self.radius)

    @property
    def size(self) -> float:
        """The radius."""
        return self.radius


@dataclass(frozen=True)
class Band:
    """All curves (or vectors) that stay between `lower` and `upper` everywhere."""

    lower: np.ndarray
    upper: np.ndarray

    def __contains__(self, y: Any) -> bool:
        y = _shaped(y, np.shape(self.lower))
        return bool(np.all((self.lower <= y) & (y <= self.upper)))

    @property
    def size(self) -> float:
        """The mean width."""
        return float(np.mean(self.upper - self.lower))


def size(a_set: Any) -> float:
    """The number of outputs in a list, the radius of a ball, the mean width of a band."""
    return float(len(a_set)) if isinstance(a_set, list) else a_set.size


def contain(sets: list, y: Items, space: Space) -> np.ndarray:
    """Whether each set holds the output beside it."""
    if isinstance(sets[0], list):
        keys = space.keys
        return np.array([key in keys(some) for key, some in zip(keys(y), sets, strict=True)])
    return np.array([host(one(y, i)) in some for i, some in enumerate(sets)])


Moves = Iterator[tuple[slice, Array]]
"""How left-out models differ from the model, (inputs, groups, q), block by block of inputs."""


class Candidates:
    """Lists of outputs. The score of one is d²(y) - min d²: 0 for the nearest, which is always in.

    An output that is no candidate scores infinity.
    """

    def __init__(self, model: Any, candidates: Items | None):
        kernel = model.output_kernel_
        pool = model.outputs_ if candidates is None else kernel.as_outputs(candidates)
        positions, numbers = kernel.space.unique(pool)
        self.outputs = take(pool, positions)
        self.number = {key: i for i, key in enumerate(kernel.space.keys(self.outputs))}
        self.owned = candidates is None  # then an output that only the left-out has is no candidate
        self.numbers = numbers

    def _farther(self, points: Embedding) -> np.ndarray:
        """d²(y) - ‖g‖² of every candidate, one row a point."""
        return -host(points.scores(self.outputs))

    def scores(self, points: Embedding, y: Items) -> np.ndarray:
        """The score of each point's own output."""
        D = self._farther(points)
        if points.left_out is not None and self.owned:
            D = np.where(self._alone(points.left_out), np.inf, D)
        keys = points.frame.kernel.space.keys(y)
        known = np.array([self.number.get(key, -1) for key in keys])
        own = np.where(known < 0, np.inf, D[np.arange(len(D)), known])
        return own - D.min(axis=1)

    def _alone(self, labels: np.ndarray) -> np.ndarray:
        """Whether a candidate (column) is the output of the point's own group (row) alone."""
        groups: list[set] = [set() for _ in self.number]
        for number, label in zip(self.numbers, labels, strict=True):
            groups[number].add(label)
        owner = np.array([next(iter(g)) if len(g) == 1 else -1 for g in groups])
        return labels[:, None] == owner[None, :]

    def sets(self, points: Embedding, radius: float) -> list[list]:
        """The candidates that score at most `radius`, nearest first."""
        D = self._farther(points)
        return [self._listed(row, row - row.min() <= radius) for row in D]

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
                moved -= moved.min(axis=1, keepdims=True)
                above = weights @ (scores[:, None] < moved)
                inside = above < level - 1e-12
                inside[np.argmin(D[t])] = True
                sets.append(self._listed(D[t], inside))
        return sets

    def _listed(self, distances: np.ndarray, inside: np.ndarray) -> list:
        order = np.argsort(distances, kind="stable")
        return [one(self.outputs, int(i)) for i in order if inside[i]]


class Around:
    """Balls or bands around the prediction: one radius an input."""

    def __init__(self, model: Any):
        self.model = model

    def radii(
        self, points: Embedding, moves: Moves, scores: np.ndarray, weights: np.ndarray, level: float
    ) -> np.ndarray:
        """The radius of the smallest set around the prediction that holds the jackknife+ set."""
        found = []
        for _, move in moves:
            found.append(weighted_quantile(scores + self._lengths(points, move), weights, level))
        return np.concatenate(found)

    def moved_sets(self, points: Embedding, moves: Moves, *calibration: Any) -> list:
        """The sets of those radii."""
        return self._made(points, self.radii(points, moves, *calibration))

    def sets(self, points: Embedding, radius: float) -> list:
        """The sets of one radius."""
        return self._made(points, np.full(len(points), radius))

    def _lengths(self, points: Embedding, move: Array) -> np.ndarray:
        raise NotImplementedError

    def _made(self, points: Embedding, radii: np.ndarray) -> list:
        raise NotImplementedError

    def _predicted(self, points: Embedding) -> np.ndarray:
        return host(self.model._flattened(self.model.decoder_.decode(points)))


class Balls(Around):
    """Balls in the feature space of the output kernel."""

    def scores(self, points: Embedding, y: Items) -> np.ndarray:
        """‖g(x) - Φ(y)‖."""
        return np.sqrt(host(points.sqdistances_to(y)))

    def _lengths(self, points: Embedding, move: Array) -> np.ndarray:
        return host(namespace(move).sum(move * move, axis=-1)) ** 0.5

    def _made(self, points: Embedding, radii: np.ndarray) -> list[Ball]:
        kernel = self.model.output_kernel_
        pairs = zip(self._predicted(points), radii, strict=True)
        return [Ball(center, float(radius), kernel) for center, radius in pairs]


class Bands(Around):
    """Bands of the same shape everywhere, wide where residuals are large."""

    def __init__(self, model: Any, points: Embedding, y: Items):
        super().__init__(model)
        residuals = self._residuals(points, y)
        self.scale = np.maximum(residuals.std(axis=0), 1e-12 * np.abs(host(y)).max() + 1e-300)

    def scores(self, points: Embedding, y: Items) -> np.ndarray:
        """The largest residual anywhere, in units of what is usual there."""
        return self._largest(self._residuals(points, y))

    def _residuals(self, points: Embedding, y: Items) -> np.ndarray:
        predicted = self._predicted(points)  # of numbers one by one, where y is a column of them
        return np.reshape(host(y), predicted.shape) - predicted

    def _largest(self, residuals: np.ndarray) -> np.ndarray:
        return np.abs(residuals / self.scale).reshape(len(residuals), -1).max(axis=1)

    def _lengths(self, points: Embedding, move: Array) -> np.ndarray:
        t, groups, q = move.shape
        flat = points.frame.kernel_features(namespace(move).reshape(move, (t * groups, q)))
        outputs = host(self.model.output_kernel_.features.inverse(flat))
        return self._largest(outputs.reshape(t * groups, *self.scale.shape)).reshape(t, groups)

    def _made(self, points: Embedding, radii: np.ndarray) -> list[Band]:
        pairs = zip(self._predicted(points), radii, strict=True)
        return [Band(curve - r * self.scale, curve + r * self.scale) for curve, r in pairs]


def _shaped(y: Any, shape: tuple) -> np.ndarray:
    """An output as an array of the shape that sets have."""
    y = np.asarray(y)
    if y.shape != shape:
        raise ValueError(f"an output of this set has shape {shape}, got {y.shape}.")
    return y


def row_weights(labels: np.ndarray) -> np.ndarray:
    """What each calibration row weighs: groups alike, and alike the one that is to come.

    One over (K + 1) for each of K groups, shared by its rows; what is left, 1 / (K + 1), is the
    weight of the new group, whose score is unknown.
    """
    sizes = np.bincount(labels)
    return 1.0 / ((len(sizes) + 1.0) * sizes[labels])


def weighted_quantile(scores: np.ndarray, weights: np.ndarray, level: float) -> np.ndarray:
    """The smallest score that at least `level` of the weight does not exceed, along the last axis.

    Infinite where all of the scores together weigh less than that.
    """
    order = np.argsort(scores, axis=-1)
    ranked = np.take_along_axis(scores, order, axis=-1)
    # A tolerance: 18 / 20 of the weight is nine tenths, whatever rounding says.
    enough = np.cumsum(weights[order], axis=-1) >= level - 1e-12
    first = np.argmax(enough, axis=-1)
    found = np.take_along_axis(ranked, first[..., None], axis=-1)[..., 0]
    return np.where(enough.any(axis=-1), found, np.inf)
