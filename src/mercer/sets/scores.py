"""Scores: how far an output is from a prediction, and the set of outputs within a radius.

This file has the scores of vectors and curves, whose sets are balls and bands around the
prediction; `lists.py` has those of other outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._base.arrays import Items, host, like
from ..decoders import Direct
from ..embedding import Embedding
from ..kernels import Kernel
from .ellipsoids import Ellipsoid, Ellipsoids, mahalanobis
from .shapes import Ball, Bands


class Score:
    """Base class of scores: how far outputs are from predictions, and the sets they define.

    Attributes
    ----------
    lists
        Whether sets are lists of outputs.
    complete
        Whether every output can be in a set.
    unproven
        Why jackknife+ proves no level with this score; empty where it does.
    """

    lists: ClassVar[bool] = False
    complete: bool
    unproven: str = ""

    def scores(self, points: Any, y: Items, unit: np.ndarray | None = None) -> np.ndarray:
        """Return the score of each output y[i] at points[i]; infinite if no set can contain it.

        `unit` is the length that scores are measured in, if the score has a length: one for each
        point, or one for each location of its output. None stands for 1.
        """
        raise NotImplementedError

    def sets(self, points: Any, radii: np.ndarray) -> Sequence:
        """Return for each point the set of outputs with scores up to its radius.

        `radii` has a value for each point, or a row of values, for candidates or locations.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class AroundScore(Score):
    """Base class of scores whose sets are centred at the predicted point g(x).

    The decoder of the model does not matter.

    Attributes
    ----------
    direct
        The decoder that returns g(x) itself.
    joint
        Whether an output with several errors has one score, the largest, so that a set holds all of
        its values together. If False, each value has its own score and interval; the intervals of
        an output hold all of its values together less often.
    """

    direct: Direct
    joint: bool = True
    complete = True

    @classmethod
    def of(cls, kernel: Kernel, y: Items, **parameters: Any) -> Any:
        """Return the score for a fitted output kernel, with training outputs y."""
        return cls(Direct().fit(kernel, y), **parameters)

    def typical_errors(self, points: Embedding, y: Items) -> np.ndarray:
        """Return the typical size of errors at each location, the shape of the sets."""
        raise NotImplementedError

    def errors(self, points: Embedding, y: Items) -> np.ndarray:
        """Return the size of the error of each prediction, in total or at each location."""
        raise NotImplementedError

    def move_sizes(self, move: np.ndarray, points: Embedding) -> np.ndarray:
        """Return the sizes of changes `move` of the points, measured like `errors`.

        The shape of `move` is (inputs, rows, coordinates).
        """
        raise NotImplementedError

    def scores(self, points: Embedding, y: Items, unit: np.ndarray | None = None) -> np.ndarray:
        """Return the errors over `unit`: the largest of each output if joint, else all."""
        sizes = self.errors(points, y) / (1.0 if unit is None else unit)
        return sizes.max(axis=1) if self.joint and sizes.ndim > 1 else sizes

    def predictions(self, points: Embedding) -> np.ndarray:
        """Return the points as outputs, without using the model's decoder."""
        return host(self.direct.decode(points))

    def residuals(self, points: Embedding, y: Items) -> np.ndarray:
        """Return outputs minus predictions, (outputs, locations)."""
        return (host(y) - self.predictions(points)).reshape(len(points), -1)

    def sets_of_unit(self, points: Embedding, radii: np.ndarray, unit: np.ndarray) -> Sequence:
        """Return the sets whose radii are in units: one for each point, or for each location."""
        return self.sets(points, (radii.T * unit.T).T)


@dataclass(frozen=True)
class BallScore(AroundScore):
    """The distance ‖g(x) - Φ(y)‖; its sets are balls in the output feature space."""

    def typical_errors(self, points: Embedding, y: Items) -> np.ndarray:
        """Return 1, because a ball has a single radius."""
        return np.ones(())

    def errors(self, points: Embedding, y: Items) -> np.ndarray:
        """Return the distance ‖g(x) - Φ(y)‖ for each pair of a point and an output."""
        return np.sqrt(host(points.sqdistances_to(y)))

    def move_sizes(self, move: np.ndarray, points: Embedding) -> np.ndarray:
        """Return the lengths of changes `move` of the points, (inputs, left-out models)."""
        return np.sqrt((move * move).sum(axis=-1))

    def sets(self, points: Embedding, radii: np.ndarray) -> list[Ball]:
        """Return a ball of the given radius around each prediction."""
        pairs = zip(self.predictions(points), radii, strict=True)
        return [Ball(center, float(radius), self.direct.kernel_) for center, radius in pairs]


@dataclass(frozen=True)
class BandScore(AroundScore):
    """The absolute residuals at the locations of an output; its sets are bands or intervals.

    The locations of an output are counted as one axis, whatever the shape of the output.
    """

    def typical_errors(self, points: Embedding, y: Items) -> np.ndarray:
        """Return the standard deviation of residuals at each location; ones for intervals."""
        residuals = self.residuals(points, y)
        if not self.joint:
            return np.ones(residuals.shape[1])
        shares = points.counts / points.counts.sum()
        spread = np.sqrt(shares @ (residuals - shares @ residuals) ** 2)
        return np.maximum(spread, 1e-12 * np.abs(host(y)).max() + 1e-300)

    def errors(self, points: Embedding, y: Items) -> np.ndarray:
        """Return the absolute residuals, (outputs, locations)."""
        return np.abs(self.residuals(points, y))

    def move_sizes(self, move: np.ndarray, points: Embedding) -> np.ndarray:
        """Return absolute changes of predicted values, (inputs, left-out models, locations)."""
        inputs, rows, _ = move.shape
        flat = like(move.reshape(inputs * rows, -1), points.coordinates)
        features = points.frame.kernel_features(flat)
        moved = host(self.direct.kernel_.features.inverse(features))
        return np.abs(moved).reshape(inputs, rows, -1)

    def sets(self, points: Embedding, radii: np.ndarray) -> Bands:
        """Return bands of the given half-widths around the predictions."""
        middle = self.predictions(points)
        shape = len(middle), middle[0].size
        half = np.broadcast_to(radii.reshape(len(middle), -1), shape).reshape(middle.shape)
        return Bands(middle - half, middle + half)


@dataclass(frozen=True)
class EllipsoidScore(AroundScore):
    """The Mahalanobis length of residuals; its sets are ellipsoids around the predictions.

    The unit of an input is the lower triangular root of its shape matrix.
    """

    def scores(self, points: Embedding, y: Items, unit: np.ndarray | None = None) -> np.ndarray:
        """Return ‖L⁻¹(y - g(x))‖ for the root L of each input, given by `unit`."""
        assert unit is not None
        return mahalanobis(unit, self.residuals(points, y))

    def sets_of_unit(self, points: Embedding, radii: np.ndarray, unit: np.ndarray) -> Ellipsoids:
        """Return an ellipsoid of the given radius and root around each prediction."""
        triples = zip(self.predictions(points), unit, radii, strict=True)
        return Ellipsoids([Ellipsoid(c, root, float(radius)) for c, root, radius in triples])


@dataclass(frozen=True)
class QuantileScore(BandScore):
    """How far values lie outside two quantiles; its sets are intervals between the quantiles.

    The unit of an input has the lower and the upper quantile of each residual. A score is negative
    inside, so that intervals may be narrower than the quantiles (Romano, Patterson, Candès 2019).
    """

    def scores(self, points: Embedding, y: Items, unit: np.ndarray | None = None) -> np.ndarray:
        """Return max(lower - r, r - upper) for each residual r, (outputs, locations)."""
        assert unit is not None
        residuals = self.residuals(points, y)
        return np.maximum(unit[..., 0] - residuals, residuals - unit[..., 1])

    def sets_of_unit(self, points: Embedding, radii: np.ndarray, unit: np.ndarray) -> Bands:
        """Return the intervals between both quantiles, widened by the radii."""
        middle = self.predictions(points)
        lower, upper = unit[..., 0] - radii, unit[..., 1] + radii
        crossed = lower > upper  # where radii are very negative, the middle is left
        centre = (lower + upper) / 2.0
        lower, upper = (np.where(crossed, centre, ends) for ends in (lower, upper))
        return Bands(middle + lower.reshape(middle.shape), middle + upper.reshape(middle.shape))
