"""Dask collections: their blocks, and named tasks over them."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any
from uuid import uuid4

import numpy as np

from .._base.arrays import Items
from .._base.errors import require
from .blocks import BadBlock


def delayed_blocks(X: Any, y: Any) -> tuple[list, list[int] | None]:
    """Return the blocks (X, y) of Dask collections as delayed objects, and their lengths."""
    from dask import delayed

    X, y, lengths = array_of_table(X), array_of_table(y), None
    read = _block_of_bags if is_collection(X) else _block_of_parts
    if is_dask_array(X):
        X, y, lengths = _rechunked(X, y)
        read = _block_of_parts
    parts = [delayed_parts(A) for A in (X, y) if A is not None]
    return [delayed(read, pure=False)(*block) for block in zip_blocks(*parts)], lengths


def is_dask_array(A: Any) -> bool:
    """Return whether a value is a Dask array."""
    return hasattr(A, "chunks")


def is_collection(A: Any) -> bool:
    """Return whether a value is a Dask collection, which has delayed parts."""
    return hasattr(A, "to_delayed")


def array_of_table(A: Any) -> Any:
    """Return the Dask array of a Dask table; return other collections unchanged."""
    return A.to_dask_array(lengths=True) if hasattr(A, "to_dask_array") else A


def delayed_parts(A: Any) -> list:
    """Return the delayed parts of a Dask collection, or a given list of parts."""
    return np.ravel(A.to_delayed()).tolist() if is_collection(A) else list(A)


def zip_blocks(*parts: list) -> list[tuple]:
    """Return tuples with one part of each list; raise an error if lengths differ."""
    if len({len(part) for part in parts}) > 1:
        raise ValueError(f"X and y must have as many blocks: got {[len(p) for p in parts]}.")
    return list(zip(*parts, strict=True))


def _rechunked(X: Any, y: Any) -> tuple[Any, Any, list[int] | None]:
    """Return two Dask arrays with equal row chunks and one column chunk, and chunk lengths."""
    if not is_dask_array(y):
        got = "none" if y is None else type(y).__name__
        raise ValueError(f"a Dask array X needs a Dask array y of its outputs, got {got}.")
    X, y = (A.rechunk(dict.fromkeys(range(1, A.ndim), -1)) for A in (X, y))
    if np.isnan([*X.chunks[0], *y.chunks[0]]).any():
        return X, y, None
    if X.shape[0] != y.shape[0]:
        raise ValueError(
            "X and y must have the same length, one output for each input: got "
            f"{X.shape[0]} inputs and {y.shape[0]} outputs."
        )
    return X, y.rechunk({0: X.chunks[0]}), list(X.chunks[0])


def _block_of_parts(*parts: Any) -> Any:
    """Return the parts X and y as a tuple; a single part is already a block."""
    return parts if len(parts) > 1 else parts[0]


def _block_of_bags(*parts: list) -> tuple[Items, ...]:
    """Return a block from the parts of bags: of X and of y, or of one bag of pairs."""
    columns = parts if len(parts) > 1 else list(zip(*parts[0], strict=True))
    return tuple(map(as_batch, columns or ([], [])))  # an empty block is refused by its number


def as_batch(items: Any) -> Items:
    """Return items as one array if they are numbers or arrays of one shape, else as a list."""
    items = list(items)
    numeric = all(isinstance(item, np.ndarray | np.number | int | float) for item in items)
    alike = numeric and len({np.shape(item) for item in items}) == 1
    return np.stack(items) if alike else items


WIDTH = 8
"""The number of results that one task merges."""


def named_task(name: str, number: int, function: Callable, *arguments: Any) -> Any:
    """Return a delayed call of the function, with name and block number in its key."""
    from dask import delayed

    key = f"mercer-{name}-block{number}-{uuid4().hex}"
    return delayed(function, pure=False)(*arguments, dask_key_name=key)


def shared_node(what: Any) -> Any:
    """Return an object as a single node of the task graph, which tasks share."""
    from dask import delayed

    return delayed(what, traverse=False, pure=False)


def merge_tree(tasks: list, merge: Callable) -> Any:
    """Return a delayed merge of all tasks, a few at a time and in a fixed order."""
    from dask import delayed

    while len(tasks) > 1:
        tasks = [delayed(reduce)(merge, tasks[i : i + WIDTH]) for i in range(0, len(tasks), WIDTH)]
    return tasks[0]


def block_loaders(blocks: list) -> list[Callable[[], Any]]:
    """Return for each block a function that loads it; a cluster loads all blocks at once."""
    from dask import delayed

    tasks = [delayed(_load)(block) for block in blocks]
    try:
        from distributed import default_client

        return [future.result for future in default_client().compute(tasks)]
    except (ImportError, ValueError):  # no cluster
        return [task.compute for task in tasks]


def _load(block: Any) -> None:
    """Do nothing; computing this task loads the block."""
    return None


def mapped(function: Callable[[Items], Items], X: Any, shape: tuple, dtype: Any) -> Any:
    """Apply a function lazily to each block of a Dask collection.

    Parameters
    ----------
    function
        From a batch of items to as many results.
    X
        A Dask array (the result is one), a bag (likewise) or a list of delayed batches (likewise).
    shape, dtype
        Of one result, where `X` is an array.
    """
    require("dask", "dask")
    from dask import delayed

    common, X = shared_node(function), array_of_table(X)
    if is_dask_array(X):
        import dask.array as da

        X = X.rechunk(dict.fromkeys(range(1, X.ndim), -1))
        made = [
            da.from_delayed(delayed(_apply)(common, i, block), (rows, *shape), dtype=dtype)
            for i, (block, rows) in enumerate(
                zip(X.to_delayed().reshape(-1), X.chunks[0], strict=True)
            )
        ]
        return da.concatenate(made, axis=0, allow_unknown_chunksizes=True)
    if is_collection(X):
        import dask.bag as db

        parts = [delayed(_apply_to_bag)(common, i, part) for i, part in enumerate(X.to_delayed())]
        return db.from_delayed(parts)
    return [delayed(_apply)(common, i, block) for i, block in enumerate(X)]


def _apply(function: Callable, number: int, batch: Items) -> Items:
    """Apply a function to one block; error messages have the block's number."""
    try:
        return function(batch)
    except (ValueError, TypeError) as error:
        raise BadBlock(f"block {number}: {error}") from error


def _apply_to_bag(function: Callable, number: int, part: Any) -> list:
    """Apply a function to one part of a Dask bag, and return a list."""
    return list(_apply(function, number, as_batch(part)))
