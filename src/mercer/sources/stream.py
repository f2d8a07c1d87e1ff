"""Pairs that this process reads block by block: arrays, generators, functions, files."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, copy_data, count, is_array
from .._base.parameters import integer
from ..kernels import Kernel
from .base import Source
from .blocks import BadBlock, Expected, Step, number_of_pairs
from .checkpoint import as_checkpoint
from .contents import Progress
from .sample import Sample
from .shards import ROWS_PER_BLOCK, RowBlocks, Shards

BLOCKS_PER_CHECKPOINT = 64
"""The default number of blocks between two checkpoints."""
REMEDY = (
    "give blocks that stay, a function that returns fresh ones at every call, or a generator, "
    "which is read once."
)
"""The remedy if a source changes while it is read."""


class Stream(Source):
    """Source of pairs in blocks (X, y) or (X, y, weights), one block in memory at a time.

    Parameters
    ----------
    source : iterable, callable, str, Path or array
        An iterable of blocks (a list, a generator, `Shards`, a custom loader), a function
        of no arguments that returns one, the path or pattern of files (as in `Shards`), or, with
        `y`, an array. A source that can be read again (all but a generator) is read twice, once
        for the sample and once for the moments, and by a choice of parameters a third time, for
        left-out predictions of every pair.
    y : array, default=None
        The outputs, if `source` is the array of inputs.
    sample_weight : array, default=None
        One number for each pair, if blocks have no weights.
    block : int, default=8192
        Rows to read at once if `source` is an array.
    sample : int, default=None
        How many pairs are kept: landmarks, length scales and the outputs that decoders choose
        among come from them. None is 4,096, or twice the largest rank. The sample of a generator
        are its first pairs, that of any other source is uniform.
    random_state : int, default=0
        The seed of the sample. The same pairs in the same order give the same sample, however
        they are cut into blocks.
    checkpoint : str or Path, default=None
        A file that the moments are written to. A run that finds the file continues after the last
        block in it; a run that ends removes it.
    every : int, default=64
        Blocks between two checkpoints.
    precision : {"float64", "float32"}, default="float64"
        The precision of the products of a block: "float32" is faster on a GPU and rounds moments
        to about 1e-7 of their size, which matters if alpha is smaller; sums are float64.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.features import IncompleteCholesky
    >>> from mercer.kernels import RBF
    >>> from mercer.sources import Stream
    >>> def blocks():
    ...     for seed in range(5):
    ...         X = np.random.default_rng(seed).uniform(-1, 1, size=(200, 1))
    ...         yield X, np.hstack([np.sin(3 * X), np.cos(3 * X)])
    >>> model = KernelDependency(RBF(0.5), alpha=1e-3, features=IncompleteCholesky(rank=20))
    >>> model.fit(Stream(blocks, sample=100)).predict([[0.5]]).round(2)
    array([[1.  , 0.07]])
    """

    first_reading: Progress | None = None

    def __init__(
        self,
        source: Items | Iterable | Callable[[], Iterable],
        y: Items = None,
        *,
        sample_weight: Array | None = None,
        block: int = ROWS_PER_BLOCK,
        sample: int | None = None,
        random_state: int = 0,
        checkpoint: str | Path | None = None,
        every: int = BLOCKS_PER_CHECKPOINT,
        precision: str = "float64",
    ):
        super().__init__(sample, random_state, precision)
        self.source = _as_blocks(source, y, block)
        self.checkpoint = as_checkpoint(checkpoint, every)
        self.repeats = callable(self.source) or iter(self.source) is not self.source
        self.weights = sample_weight
        self.rest = None if self.repeats else self._read()

    def weighted(self, weights: Array) -> Stream:
        """Return a stream of the same pairs with sample weights, one for each pair."""
        if self.weights is not None:
            raise ValueError("the stream has sample weights already: leave sample_weight out.")
        if not isinstance(weights, Sequence) and not is_array(weights):
            raise TypeError(
                "sample_weight of a stream is an array of one number for each pair, or is in its "
                f"blocks, (X, y, weights); got {type(weights).__name__}."
            )
        other = copy.copy(self)
        other.weights = weights
        other.rest = None if self.repeats else other._read()
        return other

    # -- reading ------------------------------------------------------------------------------

    def _blocks(self) -> Iterator[Any]:
        """Return an iterator over all blocks; over the remaining ones of a generator."""
        return self._read() if self.rest is None else self.rest

    def _first_blocks(self, pairs: int) -> list[Any]:
        """Read blocks until they have `pairs` pairs; a generator will yield them once more."""
        found: list[Any] = []
        blocks = self._blocks()
        for block in blocks:
            found.append(_copied_block(block))
            if sum(map(number_of_pairs, found)) >= pairs:
                break
        if not self.repeats:
            self.rest = chain(found, blocks)
        return found

    def _read(self) -> Iterator[Any]:
        """Return a new iterator over all blocks, with the sample weights of the stream if given."""
        blocks = iter(self.source() if callable(self.source) else self.source)
        return blocks if self.weights is None else self._with_weights(blocks)

    def _with_weights(self, blocks: Iterator[Any]) -> Iterator[Any]:
        """Yield the given blocks, each with its slice of the sample weights added."""
        assert self.weights is not None
        start = 0
        for number, block in enumerate(blocks):
            if isinstance(block, tuple | list) and len(block) == 3:
                raise BadBlock(
                    f"block {number} of the stream has weights of its own: leave them out, or "
                    "sample_weight."
                )
            stop = start + number_of_pairs(block)
            yield (*block, self.weights[start:stop])
            start = stop
        if start != count(self.weights):
            raise ValueError(
                f"sample_weight has {count(self.weights)} numbers for {start} pairs: give one for "
                "each pair."
            )

    def expected(self, kernels: tuple[Kernel, ...], output_kernel: Kernel) -> Expected:
        """Return the shapes, dtypes and names of the first block, which all blocks must have."""
        self.first_reading = self.pairs = None  # what an earlier fit read may have changed
        found = self._first_blocks(1)
        if not found:
            raise ValueError("the stream is empty: it has no block to learn from.")
        return Expected.of(kernels, output_kernel, found[0])

    def sample(self, expected: Expected, size: int) -> Sample | None:
        """Draw a random sample of `size` pairs; return None if there are no pairs.

        A generator is read only once, so the sample is of its first blocks, which are kept.
        """
        if self.repeats:
            return super().sample(expected, size)
        found, start = Sample(size, self.seed), 0
        for number, block in enumerate(self._first_blocks(size)):
            found = expected.apply(found.with_block, number, start, block)
            start += number_of_pairs(block)
        return found

    def map_reduce(
        self, expected: Expected, step: Step, merge: Callable, gatherings: Any = None
    ) -> Any:
        """Apply `step(start, X, y, weights)` to each block in order, and merge the results.

        If `gatherings` are given and the stream has a checkpoint, the work is resumed from it and
        saved to it.
        """
        saved = self.checkpoint if gatherings else None
        kept, total = saved.resume(gatherings) if saved else (Progress(), None)
        at = Progress()
        for block in self._blocks():
            if at.blocks >= kept.blocks:
                more = expected.apply(step, at.blocks, at.pairs, block)
                total = more if total is None else merge(total, more)
            at = at.plus(block, objects=saved is not None)
            if saved and at.blocks == kept.blocks and at != kept:
                raise saved.other_run_error(f"its first {at.blocks} blocks hold other pairs")
            if saved and total and at.blocks > kept.blocks and at.blocks % saved.every == 0:
                saved.save(at, total, gatherings)
        self._require_same_reading(at)
        if saved and at.blocks < kept.blocks:
            raise saved.other_run_error(
                f"it stands for {kept.blocks} blocks, and there are {at.blocks}"
            )
        if saved and total:
            saved.save(at, total, gatherings)  # the rest of the fit may still fail
        return total

    def _require_same_reading(self, progress: Progress) -> None:
        """Raise an error if the pairs differ from the first reading; store the progress."""
        first = self.first_reading or progress
        if first.pairs != progress.pairs:
            raise ValueError(
                f"the stream had {first.pairs} pairs when it was first read and {progress.pairs} "
                f"when read again: {REMEDY}"
            )
        if first.values != progress.values:
            raise ValueError(f"the stream held other values when it was read again: {REMEDY}")
        self.first_reading, self.pairs = progress, progress.pairs

    def running(self) -> AbstractContextManager[None]:
        """Return a context in which one fit runs; its checkpoint is removed if it succeeds."""
        return self.checkpoint.running() if self.checkpoint else super().running()


def _copied_block(block: Any) -> Any:
    """Return a block of copied arrays, because a generator may reuse its buffers."""
    return tuple(map(copy_data, block)) if isinstance(block, tuple | list) else block


def as_source(X: Items | Source, y: Items = None, weights: Array | None = None) -> Source | None:
    """Return the arguments of `fit` as a source of blocks; None if the data are in memory.

    Parameters
    ----------
    X : items or Source
        The inputs, or what is read in blocks: a source, an iterable of blocks, a function that
        returns one, the path of files, a Dask collection.
    y : items, default=None
        The outputs; None if the blocks have them.
    weights : array, default=None
        One sample weight for each pair.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.sources import as_source
    >>> as_source(np.zeros((3, 2)), np.zeros(3)) is None            # in memory
    True
    >>> type(as_source(lambda: iter([(np.zeros((3, 2)), np.zeros(3))]))).__name__
    'Stream'
    """
    source = _source_of(X, y)
    return source if source is None or weights is None else source.weighted(weights)


def is_dask(X: Any) -> bool:
    """Return whether `X` is a Dask array, bag or delayed block, or a list of those."""
    first = X[0] if isinstance(X, list | tuple) and len(X) else X
    return type(first).__module__.partition(".")[0] in ("dask", "dask_expr")


def _source_of(X: Any, y: Items) -> Source | None:
    """Return X and y as a source of blocks; None if the data are in memory."""
    if isinstance(X, Source):
        if y is not None:
            raise ValueError("a stream has its outputs in its blocks: leave y out.")
        return X
    if is_dask(X):
        from .dask_stream import DaskStream

        return DaskStream(X, y)
    if y is not None:
        return Stream(X, y) if isinstance(X, np.memmap) else None
    if isinstance(X, list | tuple):
        whole = len(X) > 0 and all(isinstance(b, tuple) and len(b) in (2, 3) for b in X)
        return Stream(X) if whole else None
    held = X is None or is_array(X) or isinstance(X, bytes | dict | set | frozenset)
    known = callable(X) or isinstance(X, str | Path | Iterable)
    return Stream(X) if known and not held else None


def _as_blocks(source: Any, y: Items, block: int) -> Callable[[], Iterable] | Iterable:
    """Return an iterable over blocks of `block` pairs, or a function that returns one."""
    block = integer(block, "block")
    if y is not None:
        return RowBlocks(source, y, block)
    if isinstance(source, str | Path):
        return Shards(source)
    if callable(source) or (isinstance(source, Iterable) and not is_array(source)):
        return source
    raise TypeError(
        "a stream is an iterable of blocks (X, y), a function that returns one, the path of "
        f"files, or two arrays X and y; got {type(source).__name__} alone."
    )
