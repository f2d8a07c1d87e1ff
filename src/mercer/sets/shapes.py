"""Prediction sets as users see them: balls and bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._base.arrays import Array, host
from ..kernels import Kernel


@dataclass(frozen=True)
class Ball:
    """All outputs within `radius` of `center`, in the feature space of the output kernel.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> from mercer.sets import Ball
    >>> [1.0, 0.5] in Ball([1.0, 0.0], 0.6, Linear())
    True
    """

    center: Array
    radius: float
    kernel: Kernel = field(repr=False)

    def __contains__(self, y: Any) -> bool:
        pair = np.stack([np.asarray(self.center), as_shape(y, np.shape(self.center))])
        F = host(self.kernel.features(self.kernel.as_outputs(pair)))
        return bool(np.linalg.norm(F[0] - F[1]) <= self.radius)

    @property
    def size(self) -> float:
        """The radius of the ball."""
        return self.radius


@dataclass(frozen=True)
class Band:
    """All curves (or vectors) that stay between `lower` and `upper` everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.sets import Band
    >>> [0.5, 2.0] in Band(np.zeros(2), np.ones(2))
    False
    """

    lower: np.ndarray
    upper: np.ndarray

    def __contains__(self, y: Any) -> bool:
        y = as_shape(y, np.shape(self.lower))
        return bool(np.all((self.lower <= y) & (y <= self.upper)))

    @property
    def size(self) -> float:
        """The mean width of the band over all locations."""
        return float(np.mean(self.upper - self.lower))


@dataclass(frozen=True)
class Bands(Sequence):
    """The bands of several inputs, as two arrays; ``bands[i]`` is the `Band` of one input.

    Attributes
    ----------
    lower, upper
        One row for each input, in the shape of an output.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.sets import Bands
    >>> Bands(np.zeros((3, 2)), np.ones((3, 2)))[0].size
    1.0
    """

    lower: np.ndarray
    upper: np.ndarray

    def __len__(self) -> int:
        return len(self.lower)

    def __getitem__(self, which: Any) -> Any:
        kind = Bands if isinstance(which, slice) else Band
        return kind(self.lower[which], self.upper[which])


def as_shape(y: Any, shape: tuple) -> np.ndarray:
    """Return an output as an array; raise an error unless it has the expected shape."""
    y = np.asarray(y)
    if y.shape != shape:
        raise ValueError(f"an output of this set has shape {shape}, got {y.shape}.")
    return y
