"""Checks of what a model file holds: one error, the budgets of loading, and small checkers.

A part checks its own arrays in `check_loaded`, which the reader calls once the part is made, and
before anything is computed with it: compiled loops trust the numbers that they are given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np


class DamagedModel(ValueError):
    """A file that is no model, is not whole, or holds what no model of mercer's holds.

    Examples
    --------
    >>> import os, tempfile
    >>> from mercer import DamagedModel, load
    >>> path = os.path.join(tempfile.mkdtemp(), "model.mercer")
    >>> with open(path, "wb") as file:
    ...     _ = file.write(b"no model")
    >>> try:
    ...     load(path)
    ... except DamagedModel as problem:
    ...     print("refused")
    refused
    """


@dataclass(frozen=True)
class Limits:
    """What a model file may ask for; `mercer.load(path, limits=Limits(...))` raises a limit.

    Parameters
    ----------
    nodes
        The values in the tree of a model, to which come four for each byte of the (compressed)
        tree on disk: loading takes time in proportion to the file.
    depth
        How deep values are nested.
    parts
        Kernels, operators and other parts, each counted as often as it is referred to.
    size
        Numbers that size or steer a computation where no array of the file stands behind them:
        columns of a sparse matrix, the length of a range, any whole number in a part.
    steps
        Numbers of iterations, lengths of n-grams and the like: what multiplies the time that a
        prediction takes.
    memory
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


def must(fine: Any, problem: str) -> None:
    """Refuse a file unless a condition holds."""
    if not fine:
        raise DamagedModel(problem)


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number and no boolean."""
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def bounded(value: Any, name: str, low: int, high: int) -> int:
    """A whole number within bounds."""
    must(is_whole(value) and low <= value <= high, f"{name} is no whole number in {low} … {high}")
    return int(value)


def finite(value: Any, name: str, low: float = -math.inf) -> float:
    """A finite number, at least `low`."""
    number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    must(number and math.isfinite(value) and value >= low, f"{name} is no finite number ≥ {low}")
    return float(value)


def array(value: Any, name: str, dtype: Any, *shape: int | None) -> np.ndarray:
    """An array in C order of one dtype and of a shape, None standing for any length.

    Loops are compiled for each dtype and order anew: others than the usual would take seconds.
    """
    must(isinstance(value, np.ndarray), f"{name} is no array")
    must(value.dtype == dtype and value.flags.c_contiguous, f"{name} has dtype {value.dtype}")
    fits = value.ndim == len(shape) and all(
        want in (None, size) for want, size in zip(shape, value.shape, strict=False)
    )
    must(fits, f"{name} has shape {value.shape}")
    return value


def indices(
    value: Any, name: str, low: int, high: int, *shape: int | None, dtype: Any = np.int64
) -> np.ndarray:
    """An array of whole numbers in low, …, high - 1."""
    array(value, name, dtype, *(shape or (None,)))
    inside = value.size == 0 or (int(value.min()) >= low and int(value.max()) < high)
    must(inside, f"{name} has numbers outside {low} … {high - 1}")
    return value


def offsets(
    value: Any, name: str, end: int, *shape: int | None, dtype: Any = np.int64
) -> np.ndarray:
    """Where runs begin: whole numbers from 0 to `end` that never fall."""
    indices(value, name, 0, end + 1, *shape, dtype=dtype)
    rising = len(value) > 0 and value[0] == 0 and value[-1] == end and (np.diff(value) >= 0).all()
    must(rising, f"{name} does not rise from 0 to {end}")
    return value
