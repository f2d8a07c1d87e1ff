"""Prediction sets as users see them: lists, balls and bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, host, one
from ..kernels import Kernel
from ..spaces import Space


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
        pair = np.stack([np.asarray(self.center), _as_shape(y, np.shape(self.center))])
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
        y = _as_shape(y, np.shape(self.lower))
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


def size(a_set: list | Ball | Band) -> float:
    """Return the length of a list, the radius of a ball, or the mean width of a band."""
    return float(len(a_set)) if isinstance(a_set, list) else a_set.size


def in_output_form(sets: Sequence, model: Any) -> Sequence:
    """Convert the outputs in sets to the type and shape of the outputs that the model predicts."""
    if isinstance(sets, Bands):
        return Bands(host(model._restored(sets.lower)), host(model._restored(sets.upper)))
    if len(sets) and isinstance(sets[0], Ball):
        return [replace(ball, center=model._one_restored(ball.center)) for ball in sets]
    return [[model._one_restored(y) for y in some] for some in sets]


def contain(sets: Sequence, y: Items, space: Space) -> np.ndarray:
    """Return whether sets[i] contains the output y[i], for each i."""
    if isinstance(sets[0], list):
        keys = space.keys
        return np.array([key in keys(some) for key, some in zip(keys(y), sets, strict=True)])
    return np.array([host(one(y, i)) in some for i, some in enumerate(sets)])


def _as_shape(y: Any, shape: tuple) -> np.ndarray:
    """Return an output as an array; raise an error unless it has the expected shape."""
    y = np.asarray(y)
    if y.shape != shape:
        raise ValueError(f"an output of this set has shape {shape}, got {y.shape}.")
    return y


def set_columns(sets: Sequence, names: Sequence[Any]) -> dict[str, Any]:
    """Return sets as table columns: lower and upper ends of bands, or lists and their lengths.

    Parameters
    ----------
    sets
        What `LeftOutSets` or `ConformalSets` predict.
    names
        The names of the output columns; one for each value of an output where sets are bands.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.sets import Bands, set_columns
    >>> list(set_columns(Bands(np.zeros((3, 1)), np.ones((3, 1))), ["price"]))
    ['price lower', 'price upper']
    """
    if isinstance(sets, Bands):
        lower, upper = (np.reshape(A, (len(sets), -1)) for A in (sets.lower, sets.upper))
        if lower.shape[1] != len(names):
            names = [f"{names[0]} {j + 1}" for j in range(lower.shape[1])]
        columns: dict[str, Any] = {}
        for name, low, high in zip(names, lower.T, upper.T, strict=True):
            columns |= {f"{name} lower": low, f"{name} upper": high}
        return columns
    if not isinstance(sets[0], list):
        raise TypeError('balls cannot be written as columns: use kind="band".')
    return {f"{names[0]} set": list(sets), f"{names[0]} number": [len(some) for some in sets]}
