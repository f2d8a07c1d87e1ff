"""Dask collections: pairs that a cluster loads and reduces, and lazy predictions."""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Callable
from functools import partial, reduce
from typing import Any
from uuid import uuid4

import numpy as np

from .._base.arrays import Array, Items, require_equal_lengths
from .._base.errors import require
from ..kernels import Kernel
from .base import Source
from .blocks import BadBlock, Expected, Step, number_of_pairs
from .contents import block_hashes
from .stream import is_dask

MERGED_AT_ONCE = 8
"""The number of results that one task merges."""


class DaskStream(Source):
    """Source of pairs in the blocks of Dask collections.

    Only a sample of the pairs and the sum of the moments ever reach the client. A block is loaded
    by its own task wherever it is needed, so that what a lost worker held is made again.

    Parameters
    ----------
    X : Dask array, bag or list of delayed blocks
        A Dask array (with `y` another one), a bag of pairs or two bags, a list of delayed blocks
        (X, y) or (X, y, weights), or two lists.
    y : Dask collection, default=None
        The outputs, if `X` has only the inputs.
    sample_weight : array or Dask collection, default=None
        One number for each pair: an array, or a Dask collection in the blocks of `X`.
    sample, random_state, precision : as in `Stream`
        As in `Stream`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from mercer.sources import DaskStream
    >>> from mercer import KernelDependency
    >>> from mercer.features import IncompleteCholesky
    >>> X = da.from_array(np.linspace(0, 1, 40)[:, None], chunks=(10, 1))
    >>> model = KernelDependency("rbf", features=IncompleteCholesky(5)).fit(DaskStream(X, X))
    >>> model.predict(np.array([[0.5]])).shape
    (1, 1)
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Array | None = None,
        sample: int | None = None,
        random_state: int = 0,
        precision: str = "float64",
    ):
        require("dask", "dask")
        super().__init__(sample, random_state, precision)
        self.blocks, self.lengths = _delayed_blocks(X, y)
        self.hashes: dict[int, tuple[int, ...]] | None = None  # of the blocks at the first reading
        if sample_weight is not None:
            self._add_weights(sample_weight)

    def weighted(self, weights: Array) -> DaskStream:
        """Return a stream of the same pairs with sample weights, one for each pair."""
        other = copy.copy(self)
        other._add_weights(weights)
        return other

    def _add_weights(self, weights: Any) -> None:
        """Add the sample weights to each block as a third element; change this object."""
        if _is_dask_array(weights) and self.lengths is not None:
            weights = weights.rechunk((tuple(self.lengths),))
        if is_dask(weights):
            parts = _delayed_partitions(weights)
        else:
            lengths = self._lengths()
            if len(weights) != sum(lengths):
                raise ValueError(
                    f"sample_weight has {len(weights)} numbers for {sum(lengths)} pairs: give one "
                    "for each pair."
                )
            parts = np.split(np.asarray(weights), np.cumsum(lengths)[:-1])
        pairs = _zip_blocks(self.blocks, parts)
        self.blocks = [_delayed(_with_weights)(block, w) for block, w in pairs]

    def expected(self, kernels: tuple[Kernel, ...], output_kernel: Kernel) -> Expected:
        """Return the shapes, dtypes and names of the first block, which all blocks must have."""
        self.hashes = None  # what an earlier fit read may have changed
        look = partial(Expected.of, kernels, output_kernel)
        return self._compute(_block_task(0, look, self.blocks[0]))

    def map_reduce(
        self, expected: Expected, step: Step, merge: Callable, gatherings: Any = None
    ) -> Any:
        """Apply `step` to all blocks on the cluster, and merge results; `gatherings` are unused."""
        lengths = self._lengths()
        starts = np.cumsum([0, *lengths]).tolist()
        work = _delayed(partial(_checked_step, partial(expected.apply, step)))
        tasks = [
            _block_task(number, work, number, starts[number], lengths[number], block)
            for number, block in enumerate(self.blocks)
        ]
        hashes, total = self._compute(_merge_tree(tasks, partial(_merged, merge)))
        self._require_same_values(hashes)
        return total

    def _require_same_values(self, hashes: dict[int, tuple[int, ...]]) -> None:
        """Raise an error if a block differs from the first reading; store its hashes at first."""
        first = self.hashes or hashes
        changed = [number for number, found in hashes.items() if first[number] != found]
        if changed:
            raise BadBlock(
                f"block {min(changed)} of the stream held other values when it was read again: "
                "give blocks that stay."
            )
        self.hashes = first

    def _lengths(self) -> list[int]:
        """Return the number of pairs in each block, which the cluster counts if unknown."""
        if self.lengths is None:
            self.lengths = self._compute(
                [_block_task(i, number_of_pairs, block) for i, block in enumerate(self.blocks)]
            )
        self.pairs = sum(self.lengths)
        return self.lengths

    def _compute(self, task: Any) -> Any:
        """Compute a delayed object; if a block fails to load, the error has its number."""
        import dask

        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Sending large graph")
                return dask.compute(task)[0]
        except BadBlock:
            raise
        except Exception as error:
            self._raise_bad_block(error)
            raise

    def _raise_bad_block(self, error: Exception) -> None:
        """Load the blocks one by one, and raise an error for the first that fails."""
        distributed: Any = sys.modules.get("distributed")  # imported where a cluster is used
        if distributed is not None and isinstance(error, distributed.KilledWorker):
            return  # it would kill others; the error has the name of the task, with its block
        for number, block in enumerate(self.blocks):
            try:
                _block_task(number, number_of_pairs, block).compute()
            except Exception as problem:
                raise BadBlock(
                    f"block {number} of the stream could not be loaded: "
                    f"{type(problem).__name__}: {problem}"
                ) from error


def mapped(function: Callable[[Items], Items], X: Any, shape: tuple, dtype: Any) -> Any:
    """Apply a function lazily to each block of a Dask collection.

    Parameters
    ----------
    function
        A function of a batch of items that returns as many results.
    X
        A Dask array (the result is one), a bag (likewise) or a list of delayed batches (likewise).
    shape, dtype
        The shape and dtype of one result, for an array `X`.
    """
    require("dask", "dask")
    apply, X = _delayed(partial(_apply_to_block, function)), _array_of_table(X)
    array = _is_dask_array(X)
    X = X.rechunk(dict.fromkeys(range(1, X.ndim), -1)) if array else X
    bag = _is_collection(X) and not array
    batch = _delayed(_as_batch) if bag else lambda part: part
    parts = [apply(i, batch(part)) for i, part in enumerate(_delayed_partitions(X))]
    if array:
        import dask.array as da

        shapes = [(rows, *shape) for rows in X.chunks[0]]
        arrays = [da.from_delayed(*pair, dtype=dtype) for pair in zip(parts, shapes, strict=True)]
        return da.concatenate(arrays, axis=0, allow_unknown_chunksizes=True)
    if bag:
        import dask.bag as db

        return db.from_delayed([_delayed(list)(part) for part in parts])
    return parts


def _delayed_blocks(X: Any, y: Any) -> tuple[list, list[int] | None]:
    """Return the blocks (X, y) of Dask collections as delayed objects, and lengths if known."""
    X, y, lengths = _array_of_table(X), _array_of_table(y), None
    bags = _is_collection(X) and not _is_dask_array(X)
    if _is_dask_array(X):
        X, y, lengths = _rechunked(X, y)
    if not bags and y is None:
        return list(X), lengths
    parts = [_delayed_partitions(A) for A in (X, y) if A is not None]
    read = _delayed(_block_of_bags if bags else _block_of_partitions)
    return [read(*block) for block in _zip_blocks(*parts)], lengths


def _is_dask_array(A: Any) -> bool:
    """Return whether a value is a Dask array."""
    return hasattr(A, "chunks")


def _is_collection(A: Any) -> bool:
    """Return whether a value is a Dask collection, which consists of delayed partitions."""
    return hasattr(A, "to_delayed")


def _array_of_table(A: Any) -> Any:
    """Return the Dask array of a Dask table; return other collections unchanged."""
    return A.to_dask_array(lengths=True) if hasattr(A, "to_dask_array") else A


def _delayed_partitions(A: Any) -> list:
    """Return the partitions of a Dask collection as delayed objects; lists are unchanged."""
    return np.ravel(A.to_delayed()).tolist() if _is_collection(A) else list(A)


def _zip_blocks(*lists: list) -> list[tuple]:
    """Return tuples of one element of each list; raise an error if lengths differ."""
    if len({len(one) for one in lists}) > 1:
        raise ValueError(f"X and y must have as many blocks: got {[len(one) for one in lists]}.")
    return list(zip(*lists, strict=True))


def _rechunked(X: Any, y: Any) -> tuple[Any, Any, list[int] | None]:
    """Return Dask arrays with equal chunks of rows and all columns in one, and chunk lengths."""
    if not _is_dask_array(y):
        got = "none" if y is None else type(y).__name__
        raise ValueError(f"a Dask array X needs a Dask array y of its outputs, got {got}.")
    X, y = (A.rechunk(dict.fromkeys(range(1, A.ndim), -1)) for A in (X, y))
    if np.isnan([*X.chunks[0], *y.chunks[0]]).any():
        return X, y, None
    require_equal_lengths(X.shape[0], y.shape[0])
    return X, y.rechunk({0: X.chunks[0]}), list(X.chunks[0])


def _delayed(value: Any) -> Any:
    """Return a function or another object wrapped as one node of the task graph."""
    from dask import delayed

    return delayed(value, traverse=False, pure=False)


def _block_task(number: int, function: Any, *arguments: Any) -> Any:
    """Return a delayed call of a function, with the number of its block in its key."""
    return _delayed(function)(*arguments, dask_key_name=f"mercer-block{number}-{uuid4().hex}")


def _merge_tree(tasks: list, merge: Callable) -> Any:
    """Return a delayed merge of the results of all tasks, a few at a time and in fixed order."""
    while len(tasks) > 1:
        groups = [tasks[i : i + MERGED_AT_ONCE] for i in range(0, len(tasks), MERGED_AT_ONCE)]
        tasks = [_delayed(reduce)(merge, group) for group in groups]
    return tasks[0]


def _block_of_partitions(X: Any, y: Any) -> tuple:
    """Return a block (X, y), given computed partitions of X and y."""
    return X, y


def _block_of_bags(*partitions: list) -> tuple[Items, ...]:
    """Return a block from computed partitions of the bags X and y, or of one bag of pairs."""
    columns = partitions if len(partitions) > 1 else list(zip(*partitions[0], strict=True))
    return tuple(map(_as_batch, columns or ([], [])))  # an empty block is refused by its number


def _as_batch(items: Any) -> Items:
    """Return items as one array if they are numbers or arrays of one shape, else as a list."""
    items = list(items)
    numeric = all(isinstance(item, np.ndarray | np.number | int | float) for item in items)
    alike = numeric and len({np.shape(item) for item in items}) == 1
    return np.stack(items) if alike else items


def _with_weights(block: tuple, weights: Any) -> tuple:
    """Return the block (X, y) with weights as a third element."""
    return (*block, weights)


def _merged(merge: Callable, one: tuple[dict, Any], other: tuple[dict, Any]) -> tuple[dict, Any]:
    """Merge two results of `_checked_step`: hashes by the number of the block, and results."""
    return one[0] | other[0], merge(one[1], other[1])


def _checked_step(
    step: Callable, number: int, start: int, pairs: int, block: Any
) -> tuple[dict[int, tuple[int, ...]], Any]:
    """Return the hashes of a block under its number, and `step(number, start, block)`.

    Raise an error unless the block has `pairs` pairs.
    """
    if number_of_pairs(block) != pairs:
        raise BadBlock(
            f"block {number} of the stream had {pairs} pairs when it was first read and "
            f"{number_of_pairs(block)} when read again: give blocks that stay."
        )
    hashes = {number: block_hashes(block, (), objects=False)}  # a step may change the block
    return hashes, step(number, start, block)


def _apply_to_block(function: Callable, number: int, batch: Items) -> Items:
    """Return `function(batch)` for one block; errors have the number of the block."""
    try:
        return function(batch)
    except (ValueError, TypeError) as error:
        raise BadBlock(f"block {number}: {error}") from error
