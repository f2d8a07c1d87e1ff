"""Scores of vectors and curves: balls, bands and intervals around the prediction."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.arrays import Array, Items, host, like
from ..decoders import Direct
from ..embedding import Embedding
from .scores import LeftOutScores, Moves, Score
from .shapes import Ball, Bands
from .views import PointModel
from .weights import weighted_quantile


class AroundScore(Score):
    """Base class of scores whose sets are centred at g(x), whatever the decoder predicts."""

    complete = True
    scale: np.ndarray = np.ones(())

    def __init__(self, model: PointModel):
        self.model = model
        self.direct = Direct().fit(model.output_kernel_, model.outputs_)

    def sets(self, points: Embedding, radii: np.ndarray, scale: Any = None) -> Any:
        """Return the set around each point; its radius (or one per location) is times `scale`."""
        scale = self.scale if scale is None else scale
        each = (1,) * self.scale.ndim if np.ndim(radii) == 1 else self.scale.shape
        return self._sets_around(points, np.reshape(radii, (-1, *each)) * scale)

    def moved_sets(
        self, points: Embedding, moves: Moves, held: LeftOutScores, scales: Any = None
    ) -> Any:
        """Return sets around the predictions that contain the jackknife+ sets.

        By the triangle inequality, at each location of a band apart: an output of the jackknife+
        set is within (score · scale + move) of the prediction for more than 1 - level of the
        left-out models, the same ones everywhere. An upper bound, not the smallest such set.

        Parameters
        ----------
        points, moves
            Points of new inputs, and how leaving groups out moves them.
        held
            The scores of the left-out training outputs, their weights, and the coverage.
        scales
            A function of a slice of inputs: the unit of scores for every left-out model; None for
            the scale of the score.
        """
        found = []
        for rows, move in moves:
            scale = self.scale if scales is None else scales(rows)
            found.append(self._half_widths(points, host(move), held, scale))
        return self._sets_around(points, np.concatenate(found))

    def _half_widths(
        self, points: Embedding, move: np.ndarray, held: LeftOutScores, scale: Any
    ) -> np.ndarray:
        """Return for each input the half-width of a set that contains its jackknife+ set."""
        raise NotImplementedError

    def _sets_around(self, points: Embedding, half: np.ndarray) -> Any:
        """Return sets of the given half-widths around the predictions."""
        raise NotImplementedError

    def _predictions(self, points: Embedding) -> np.ndarray:
        """Return the points as outputs, without using the decoder."""
        return host(self.model._restored(self.direct.decode(points)))


class BallScore(AroundScore):
    """The distance ‖g(x) - Φ(y)‖; its sets are balls in the output feature space."""

    def scores(self, points: Embedding, y: Items, scale: Any = None) -> np.ndarray:
        """Return ‖g(x) - Φ(y)‖ / scale for each pair of a point and an output."""
        lengths = np.sqrt(host(points.sqdistances_to(y)))
        return lengths if scale is None else lengths / scale

    def _half_widths(
        self, points: Embedding, move: np.ndarray, held: LeftOutScores, scale: Any
    ) -> np.ndarray:
        """Return the radius of a ball that contains each input's jackknife+ set."""
        lengths = np.sqrt((move * move).sum(axis=-1))
        return weighted_quantile(held.scores * scale + lengths, held.weights, held.level)

    def _sets_around(self, points: Embedding, half: np.ndarray) -> list[Ball]:
        """Return balls of given radii around the predictions."""
        kernel = self.model.output_kernel_
        pairs = zip(self._predictions(points), half, strict=True)
        return [Ball(center, float(radius), kernel) for center, radius in pairs]


class BandScore(AroundScore):
    """The largest residual at any location; its sets are bands of one common shape.

    Parameters
    ----------
    model
        The fitted model.
    points, y
        Points and outputs whose residuals give the shape.
    flat
        Whether bands are as wide at every location; else wide where residuals are large.
    """

    by_location = True

    def __init__(self, model: PointModel, points: Embedding, y: Items, flat: bool = False):
        super().__init__(model)
        self.flat = flat
        spread = self._residuals(points, y).std(axis=0)
        least = 1e-12 * np.abs(host(y)).max() + 1e-300
        self.scale = np.ones_like(spread) if flat else np.maximum(spread, least)
        if not flat:
            self.unproven = "the shape of the bands is made of left-out residuals"

    def scores(self, points: Embedding, y: Items, scale: Any = None) -> np.ndarray:
        """Return the largest absolute residual of each output, in units of the scale."""
        sizes = self._scaled_residuals(points, y, scale)
        return sizes.reshape(len(sizes), -1).max(axis=1)

    def _scaled_residuals(self, points: Embedding, y: Items, scale: Any) -> np.ndarray:
        """Return the absolute residuals, in units of the scale."""
        return np.abs(self._residuals(points, y)) / (self.scale if scale is None else scale)

    def _residuals(self, points: Embedding, y: Items) -> np.ndarray:
        """Return outputs minus predictions, in the shape of an output."""
        predicted = self._predictions(points)  # plain numbers where y is a column of them
        return np.reshape(host(y), predicted.shape) - predicted

    def _half_widths(
        self, points: Embedding, move: np.ndarray, held: LeftOutScores, scale: Any
    ) -> np.ndarray:
        """Return at each location the half-width of a band that contains the jackknife+ set."""
        half = self._each_half_width(points, move, held.scores[:, None], scale)
        half = weighted_quantile(np.moveaxis(half, 1, 2), held.weights, held.level)
        same = self.flat and scale is self.scale  # requested to be as wide at every location
        return np.broadcast_to(half.max(axis=1, keepdims=True), half.shape) if same else half

    def _each_half_width(
        self, points: Embedding, move: np.ndarray, scores: np.ndarray, scale: Any
    ) -> np.ndarray:
        """Return half-widths by each left-out model, (inputs, training outputs, locations)."""
        (t, n, q), locations = move.shape, self.scale.size
        flat = points.frame.kernel_features(like(move.reshape(t * n, q), points.coordinates))
        moved = np.abs(host(self.model.output_kernel_.features.inverse(flat)))
        units = np.reshape(scale, (*np.shape(scale)[: np.ndim(scale) - self.scale.ndim], locations))
        return scores * units + moved.reshape(t, n, locations)

    def _sets_around(self, points: Embedding, half: Array) -> Bands:
        """Return bands of given half widths around the predictions."""
        middle = self._predictions(points)
        half = half.reshape(middle.shape)
        return Bands(middle - half, middle + half)


class IntervalScore(BandScore):
    """The residual of each output value separately; its sets are intervals for single values.

    Other than a band, the intervals of an output hold all of its values together less often.
    """

    def __init__(self, model: PointModel, points: Embedding, y: Items):
        super().__init__(model, points, y, flat=True)

    def scores(self, points: Embedding, y: Items, scale: Any = None) -> np.ndarray:
        """Return the absolute residuals of each output, one column for each value."""
        sizes = self._scaled_residuals(points, y, scale)
        return sizes.reshape(len(sizes), -1)

    def _half_widths(
        self, points: Embedding, move: np.ndarray, held: LeftOutScores, scale: Any
    ) -> np.ndarray:
        """Return the half-width of an interval that contains each value's jackknife+ set."""
        half = self._each_half_width(points, move, held.scores, scale)
        return weighted_quantile(np.moveaxis(half, 1, 2), held.weights, held.level)
