"""Predicted points in the sparse features of an output kernel, some points at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._base.arrays import Items, blocks, host
from ..embedding import Embedding

POINTS = 256
"""Points whose features, which may be many, are in memory at once."""


def targets(
    points: Embedding, kernel: Any, size: int = POINTS
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield blocks of points as (rows, features), in the features of the unscaled kernel.

    Points written as sums over outputs are read through the outputs' sparse features: thousands
    of outputs by hundred thousands of features would not fit otherwise.
    """
    C = points.coordinates
    try:
        weights, items = points.frame.expansion(C[:1])
    except ValueError:  # explicit coordinates: they are the features
        F = None
    else:
        F = kernel.multiple.kernel.features.rows(items)
    for rows in blocks(len(points), size):
        if F is None:
            features = host(kernel.multiple.read(points.frame.kernel_features(C[rows])))
            yield rows, np.ascontiguousarray(features, dtype=float)
        else:
            weights, _ = points.frame.expansion(C[rows])
            yield rows, np.ascontiguousarray(host(weights) @ F)


def lengths(points: Embedding, length: Any) -> np.ndarray | None:
    """Return the length that the output of each point must have; None where any is allowed."""
    if length is None:
        return None
    if length != "input" and not callable(length):
        raise ValueError(f'length must be None, "input" or a function of x, got {length!r}.')
    if points.inputs is None:
        raise ValueError("lengths that depend on x need points that know their x.")
    return np.array([_length(x, t, length) for t, x in enumerate(points.inputs)], dtype=np.int64)


def _length(x: Any, t: int, length: Any) -> int:
    """Return the length of the output for input x, the t-th one, by the rule `length`."""
    try:
        found = len(x) if length == "input" else int(length(x))
    except TypeError:
        raise ValueError(
            f'length="input" needs inputs that have a length; input {t} is {x!r:.40}. Give a '
            "function of x."
        ) from None
    if found < 0:
        raise ValueError(f"the length of the output of input {t} is {found}: it must not be < 0.")
    return found


def agreement(y: Items, found: Items) -> float:
    """Return the number of outputs in `found` that equal y, plus a tie-break below one.

    The tie-break is the mean fraction of equal symbols.
    """
    whole = sum(len(a) == len(b) and all(map(_same, a, b)) for a, b in zip(y, found, strict=True))
    parts = sum(
        sum(map(_same, a, b)) / max(1, len(a), len(b)) for a, b in zip(y, found, strict=True)
    )
    return whole + parts / (1.0 + len(y))


def _same(a: Any, b: Any) -> bool:
    """Return whether two symbols are equal."""
    return bool(a == b)


def best_of(grid: Any, decode: Callable[[float], Items], y: Items) -> float:
    """Return the grid value whose decoded outputs agree best with y; of equals the nearest to 0."""
    worth = {value: agreement(y, decode(value)) for value in sorted(grid, key=abs)}
    return float(max(worth, key=lambda value: worth[value]))


def is_automatic(value: Any, name: str) -> bool:
    """Return whether a parameter is "auto"; raise an error for any other string."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f'{name} must be a number or "auto", got {value!r}.')
        return True
    return False
