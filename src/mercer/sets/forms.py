"""Sets in the form of the outputs that a model predicts, what they contain, and as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._base.arrays import Items, host, one
from ..spaces import Space
from .ellipsoids import Ellipsoid, Ellipsoids
from .shapes import Ball, Band, Bands


def size(a_set: list | Ball | Band | Ellipsoid) -> float:
    """Return the length of a list, the radius of a ball, or the mean width of a band.

    Of an ellipsoid, it is the radius of the ball of the same volume.
    """
    return float(len(a_set)) if isinstance(a_set, list) else a_set.size


def in_output_form(sets: Sequence, model: Any) -> Sequence:
    """Convert the outputs in sets to the type and shape of the outputs that the model predicts."""
    if isinstance(sets, Bands):
        return Bands(host(model._restored(sets.lower)), host(model._restored(sets.upper)))
    if isinstance(sets, Ellipsoids):
        names = None if model.output_names_ is None else tuple(model.output_names_)
        return Ellipsoids(
            [
                replace(one, center=np.asarray(model._one_restored(one.center)), names=names)
                for one in sets
            ]
        )
    if len(sets) and isinstance(sets[0], Ball):
        return [replace(ball, center=model._one_restored(ball.center)) for ball in sets]
    return [[model._one_restored(y) for y in some] for some in sets]


def contain(sets: Sequence, y: Items, space: Space) -> np.ndarray:
    """Return whether sets[i] contains the output y[i], for each i."""
    if isinstance(sets[0], list):
        keys = space.keys
        return np.array([key in keys(some) for key, some in zip(keys(y), sets, strict=True)])
    return np.array([host(one(y, i)) in some for i, some in enumerate(sets)])


def set_columns(sets: Sequence, names: Sequence[Any]) -> dict[str, Any]:
    """Return sets as table columns: ends of bands and boxes, or lists and their lengths.

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
    sets = sets.boxes if isinstance(sets, Ellipsoids) else sets
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
