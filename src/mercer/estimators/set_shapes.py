"""The kinds of prediction sets: how far an output is from the prediction, and the sets of that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._arrays import Array, Items, host, like, one, take
from ..decoders.base import Ranked
from ..embedding import Embedding
from ..spaces import Space
from .prediction_sets import Ball, Bands, predicted_directly, weighted_quantile

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
    """Balls or bands around the prediction: one radius an input, in units of `scale`."""

    scale: np.ndarray = np.ones(())

    def __init__(self, model: Any):
        self.model = model

    def sets(self, points: Embedding, radii: np.ndarray, scale: Any = None) -> Any:
        """The sets of one radius an input, in units of `scale` where inputs have their own."""
        scale = self.scale if scale is None else scale
        return self._around(points, np.reshape(radii, (-1,) + (1,) * self.scale.ndim) * scale)

    def moved_sets(
        self,
        points: Embedding,
        moves: Moves,
        scores: np.ndarray,
        weights: np.ndarray,
        level: float,
        scales: Any = None,
    ) -> Any:
        """Sets around the prediction that hold the jackknife+ sets.

        By the triangle inequality, at each place of a band apart: an output of the jackknife+ set
        is within (score · scale + move) of the prediction for more than 1 - level of the left-out
        models, the same ones everywhere. An upper bound, not the smallest such set.

        Parameters
        ----------
        points, moves
            Points of new inputs, and how leaving groups out moves them.
        scores, weights, level
            Of the left-out training outputs, and the coverage.
        scales
            A function of a slice of inputs: what scores are in units of, for every left-out model;
            None for the scale of the shape.
        """
        found = []
        for rows, move in moves:
            scale = self.scale if scales is None else scales(rows)
            found.append(self._reached(points, host(move), scores, weights, level, scale))
        return self._around(points, np.concatenate(found))

    def _reached(
        self, points: Embedding, move: Array, scores: Any, weights: Any, level: float, scale: Any
    ) -> np.ndarray:
        raise NotImplementedError

    def _around(self, points: Embedding, half: np.ndarray) -> Any:
        raise NotImplementedError

    def _predicted(self, points: Embedding) -> np.ndarray:
        return host(self.model._flattened(self.model.decoder_.decode(points)))


class BallShape(AroundShape):
    """Balls in the feature space of the output kernel."""

    def scores(self, points: Embedding, y: Items, scale: Any = None) -> np.ndarray:
        """‖g(x) - Φ(y)‖, in units of the scale."""
        lengths = np.sqrt(host(points.sqdistances_to(y)))
        return lengths if scale is None else lengths / scale

    def _reached(
        self, points: Embedding, move: Array, scores: Any, weights: Any, level: float, scale: Any
    ) -> np.ndarray:
        lengths = np.sqrt((move * move).sum(axis=-1))
        return weighted_quantile(scores * scale + lengths, weights, level)

    def _around(self, points: Embedding, half: np.ndarray) -> list[Ball]:
        kernel = self.model.output_kernel_
        pairs = zip(self._predicted(points), half, strict=True)
        return [Ball(center, float(radius), kernel) for center, radius in pairs]


class BandShape(AroundShape):
    """Bands of the same shape everywhere, wide where residuals are large unless they are flat."""

    def __init__(self, model: Any, points: Embedding, y: Items, flat: bool = False):
        super().__init__(model)
        self.flat = flat
        spread = self._residuals(points, y).std(axis=0)
        least = 1e-12 * np.abs(host(y)).max() + 1e-300
        self.scale = np.ones_like(spread) if flat else np.maximum(spread, least)

    def scores(self, points: Embedding, y: Items, scale: Any = None) -> np.ndarray:
        """The largest residual anywhere, in units of what is usual there."""
        residuals = self._residuals(points, y) / (self.scale if scale is None else scale)
        return np.abs(residuals).reshape(len(residuals), -1).max(axis=1)

    def _residuals(self, points: Embedding, y: Items) -> np.ndarray:
        predicted = self._predicted(points)  # of numbers one by one, where y is a column of them
        return np.reshape(host(y), predicted.shape) - predicted

    def _reached(
        self, points: Embedding, move: Array, scores: Any, weights: Any, level: float, scale: Any
    ) -> np.ndarray:
        (t, n, q), places = move.shape, self.scale.size
        flat = points.frame.kernel_features(like(move.reshape(t * n, q), points.coordinates))
        moved = np.abs(host(self.model.output_kernel_.features.inverse(flat)))
        units = np.reshape(scale, (*np.shape(scale)[: np.ndim(scale) - self.scale.ndim], places))
        half = scores[:, None] * units + moved.reshape(t, n, places)
        half = weighted_quantile(np.moveaxis(half, 1, 2), weights, level)
        same = self.flat and scale is self.scale  # asked to be as wide at every place
        return np.broadcast_to(half.max(axis=1, keepdims=True), half.shape) if same else half

    def _around(self, points: Embedding, half: np.ndarray) -> Bands:
        middle = self._predicted(points)
        half = half.reshape(middle.shape)
        return Bands(middle - half, middle + half)


class RankedShape:
    """Lists of the best outputs that a model names itself, by how far they score below the best.

    Parameters
    ----------
    space
        That of the outputs, which tells them apart.
    """

    complete, owned = False, False

    def __init__(self, space: Space):
        self.space = space

    def scores(self, points: list[Ranked], y: Items, scale: Any = None) -> np.ndarray:
        """The gap between the best score and that of each input's own output."""
        found = []
        for ranked, own in zip(points, self.space.keys(y), strict=True):
            keys = self.space.keys([output for output, _ in ranked])
            known = own in keys
            found.append(ranked[0][1] - ranked[keys.index(own)][1] if known else np.inf)
        return np.array(found)

    def sets(self, points: list[Ranked], radii: np.ndarray, scale: Any = None) -> list[list]:
        """The outputs that score at most the radius below the best."""
        return [
            [output for output, score in ranked if ranked[0][1] - score <= radius]
            for ranked, radius in zip(points, radii, strict=True)
        ]


def shape_of(sets: Any, points: Any, labels: np.ndarray | None = None) -> Any:
    """What sets look like; bands take their shape from the residuals of training points."""
    view = sets.view_
    kernel, kind = view.output_kernel_, sets.kind
    direct = predicted_directly(kernel)
    kind = ("ball" if direct else "candidates") if kind == "auto" else kind
    if kind != "candidates" and not direct:
        raise ValueError(
            f'kind="{kind}" is for vectors and curves under a linear output kernel, and '
            f'{kernel} is none: use kind="candidates".'
        )
    if kind == "band":
        return BandShape(view, points, view.outputs_, sets.scale in ("flat", "posterior"))
    if kind == "ball":
        return BallShape(view)
    if isinstance(points, list):
        return RankedShape(kernel.space)
    return CandidateShape(view, sets.candidates, labels)
