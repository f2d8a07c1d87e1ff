"""Checks of the content of model files: the error, the limits of loading, and small checks.

A part checks in `check_loaded` what compiled loops and scipy cannot check: numbers that multiply
time or memory, orders without which a loop would not end, and dtypes, for each of which a loop
would be compiled again. The reader calls it before anything is computed with the part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np


class DamagedModel(ValueError):
    """Error for a file that is not a model, is incomplete, or has invalid content.

    Examples
    --------
    >>> import os, tempfile
    >>> from mercer import DamagedModel, load
    >>> path = os.path.join(tempfile.mkdtemp(), "model.mercer")
    >>> with open(path, "wb") as file:
    ...     _ = file.write(b"not a model")
    >>> try:
    ...     load(path)
    ... except DamagedModel as problem:
    ...     print("refused")
    refused
    """


@dataclass(frozen=True)
class Limits:
    """Limits on the content of a model file, for `mercer.load(path, limits=Limits(...))`.

    Parameters
    ----------
    nodes : int, default=500000
        The values in the tree of a model. Four more are allowed for each byte of the (compressed)
        tree on disk, so that loading takes time in proportion to the file.
    depth : int, default=200
        How deep values are nested.
    parts : int, default=10000
        Kernels, operators and other parts, each counted as often as it is referred to.
    size : int, default=2**24
        Integers that determine the size of a computation: columns of a sparse matrix, the length
        of a range, any integer in a part.
    steps : int, default=10000
        Numbers of iterations, lengths of n-grams and other integers that multiply the time of a
        prediction.
    memory : float or None, default=None
        Bytes of all members of the file, unpacked; None for 256 MB and 50 times the file on disk,
        and at most half of the memory that is free.

    Examples
    --------
    >>> import mercer
    >>> mercer.Limits(nodes=50_000_000).nodes
    50000000
    """

    nodes: int = 500_000
    depth: int = 200
    parts: int = 10_000
    size: int = 2**24
    steps: int = 10_000
    memory: float | None = None


def must(holds: Any, problem: str) -> None:
    """Raise `DamagedModel` with the message `problem` unless the condition holds."""
    if not holds:
        raise DamagedModel(problem)


def is_integer(value: Any) -> bool:
    """Return whether a value is an integer, and not a boolean."""
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def is_finite(value: Any) -> bool:
    """Return whether a value is a finite number, and not a boolean."""
    number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    return number and math.isfinite(value)


def bounded(value: Any, name: str, low: int, high: int) -> int:
    """Return an integer after checking that it is from `low` to `high`."""
    inside = is_integer(value) and low <= value <= high
    must(inside, f"{name} must be an integer in {low} … {high}, got {value!r:.40}")
    return int(value)


def finite(value: Any, name: str, low: float = -math.inf) -> float:
    """Return a value as a float after checking that it is finite and at least `low`."""
    must(is_finite(value) and value >= low, f"{name} must be a finite number ≥ {low}")
    return float(value)


def array(value: Any, name: str, dtype: Any, *shape: int | None) -> np.ndarray:
    """Return an array after checking its dtype and shape, where None is any length.

    A loop is compiled for each dtype and order, which takes seconds.
    """
    must(isinstance(value, np.ndarray), f"{name} must be an array")
    must(value.dtype == dtype and value.flags.c_contiguous, f"{name} has dtype {value.dtype}")
    fits = value.ndim == len(shape) and all(
        want in (None, size) for want, size in zip(shape, value.shape, strict=False)
    )
    must(fits, f"{name} has shape {value.shape}")
    return value


def indices(
    value: Any, name: str, low: int, high: int, *shape: int | None, dtype: Any = np.int64
) -> np.ndarray:
    """Return an array after checking that its entries are integers in low, …, high - 1."""
    array(value, name, dtype, *(shape or (None,)))
    inside = value.size == 0 or (int(value.min()) >= low and int(value.max()) < high)
    must(inside, f"{name} must have integers in {low} … {high - 1}")
    return value


def offsets(
    value: Any, name: str, end: int, *shape: int | None, dtype: Any = np.int64
) -> np.ndarray:
    """Return an array after checking that its integers rise from 0 to `end`, as row starts do."""
    indices(value, name, 0, end + 1, *shape, dtype=dtype)
    rising = len(value) > 0 and value[0] == 0 and value[-1] == end and (np.diff(value) >= 0).all()
    must(rising, f"{name} must rise from 0 to {end}")
    return value


def permutation(value: Any, name: str) -> np.ndarray:
    """Return an array after checking that it has each of the integers 0, …, n - 1 once."""
    size = len(value) if isinstance(value, np.ndarray) and value.ndim == 1 else 0
    indices(value, name, 0, max(size, 1))
    must(len(np.unique(value)) == size, f"{name} must have each integer below {size} once")
    return value
