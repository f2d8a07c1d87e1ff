"""What decoders of sequences share: features of points in blocks, lengths, and calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import eq
from typing import Any

import numpy as np

from .._base.arrays import Items, blocks, host
from ..embedding import Embedding

FEATURE_POINTS = 256
"""The number of points whose features are in memory at once."""


def feature_blocks(
    points: Embedding, kernel: Any, size: int = FEATURE_POINTS
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield (rows, features of these predicted points) for blocks of `size` points.

    The features are those of the kernel without its scale. For points that are weighted sums of
    outputs, they are the product of the weights and the outputs' sparse features, because dense
    features of thousands of outputs would not fit into memory.
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


def required_lengths(points: Embedding, length: Any) -> np.ndarray | None:
    """Return the output length of each predicted point by the rule `length`; None if free."""
    if length is None:
        return None
    if length != "input" and not callable(length):
        raise ValueError(f'length must be None, "input" or a function of x, got {length!r}.')
    if points.inputs is None:
        raise ValueError(
            f"length={length!r} needs points that know their x: predict from inputs, or use "
            "length=None."
        )
    return np.array(
        [_required_length(x, t, length) for t, x in enumerate(points.inputs)], dtype=np.int64
    )


def _required_length(x: Any, t: int, length: Any) -> int:
    """Return the output length that the rule `length` requires for x, the t-th input."""
    try:
        required = len(x) if length == "input" else int(length(x))
    except TypeError:
        raise ValueError(
            f'length="input" needs inputs that have a length, but input {t} is {x!r:.40}. Pass '
            "a function of x as length."
        ) from None
    if required < 0:
        raise ValueError(f"length must not be negative, but that for input {t} is {required}.")
    return required


def agreement(y: Items, decoded: Items, counts: np.ndarray) -> tuple[float, float]:
    """Return the number of decoded sequences that are right, and the sum of fractions of symbols.

    Sequence i counts `counts[i]` times. The second number decides between equals.
    """
    exact = partial = 0.0
    for a, b, count_ in zip(y, decoded, counts.tolist(), strict=True):
        equal = sum(map(eq, a, b))
        exact += count_ * (len(a) == len(b) == equal)
        partial += count_ * equal / max(1, len(a), len(b))
    return exact, partial


def best_value(
    values: Sequence[float], decode: Callable[[float], Items], y: Items, counts: np.ndarray
) -> float:
    """Return the value whose decoded sequences decode(value) agree best with the outputs y.

    Of equally good values it is the nearest to 0. Output i counts `counts[i]` times.
    """
    scores = {value: agreement(y, decode(value), counts) for value in sorted(values, key=abs)}
    return float(max(scores, key=lambda value: scores[value]))


def is_automatic(value: Any, name: str) -> bool:
    """Return whether the parameter `name` is "auto"; raise an error for any other string."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f'{name} must be a number or "auto", got {value!r}.')
        return True
    return False
