"""The blocks of Dask's collections: how each is read, and its delayed parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import Items


def delayed_blocks(X: Any, y: Any) -> tuple[Callable, list[tuple], list[int] | None]:
    """How to read a block, the delayed parts of every block, and their lengths where known."""
    X, y = untabled(X), untabled(y)
    if hasattr(X, "chunks"):
        return _array_blocks(X, y)
    parts = [delayed_parts(A) for A in (X, y) if A is not None]
    if hasattr(X, "to_delayed"):
        return (_unzipped if y is None else _columns), zipped(*parts), None
    return (_given if y is None else _pair), zipped(*parts), None


def untabled(A: Any) -> Any:
    """The array of a table; anything else as it is."""
    return A.to_dask_array(lengths=True) if hasattr(A, "to_dask_array") else A


def delayed_parts(A: Any) -> list:
    """The delayed parts of a collection, or a list of them."""
    return np.ravel(A.to_delayed()).tolist() if hasattr(A, "to_delayed") else list(A)


def zipped(*parts: list) -> list[tuple]:
    """The parts of every block together; as many of each."""
    if len({len(part) for part in parts}) > 1:
        raise ValueError(f"X and y must have as many blocks: got {[len(p) for p in parts]}.")
    return list(zip(*parts, strict=True))


def _array_blocks(X: Any, y: Any) -> tuple[Callable, list[tuple], list[int] | None]:
    if y is None or not hasattr(y, "chunks"):
        got = "none" if y is None else type(y).__name__
        raise ValueError(f"a Dask array X needs a Dask array y of its outputs, got {got}.")
    X, y = (A.rechunk(dict.fromkeys(range(1, A.ndim), -1)) for A in (X, y))
    known = not np.isnan([*X.chunks[0], *y.chunks[0]]).any()
    if known and X.shape[0] != y.shape[0]:
        raise ValueError(
            "X and y must have the same length, one output for each input: got "
            f"{X.shape[0]} inputs and {y.shape[0]} outputs."
        )
    y = y.rechunk({0: X.chunks[0]}) if known else y
    return _pair, zipped(*map(delayed_parts, (X, y))), list(X.chunks[0]) if known else None


def _given(block: Any) -> Any:
    return block


def _pair(X: Items, y: Items) -> tuple[Items, Items]:
    return X, y


def _columns(X: list, y: list) -> tuple[Items, Items]:
    return batch(X), batch(y)


def _unzipped(pairs: list) -> tuple[Items, ...]:
    # An empty block is refused by its number.
    return tuple(map(batch, zip(*pairs, strict=True))) if pairs else ([], [])


def batch(items: Any) -> Items:
    """Numbers and arrays of one shape as an array, anything else as a list."""
    items = list(items)
    numeric = all(isinstance(item, np.ndarray | np.number | int | float) for item in items)
    alike = numeric and len({np.shape(item) for item in items}) == 1
    return np.stack(items) if alike else items
