"""Where pairs come from, block by block: arrays on disk, generators, functions, files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import Items, blocks, count, part
from ..kernels import Kernel
from .base import PairSource
from .checkpoint import as_checkpoint
from .cluster import is_dask
from .expected import Expected
from .gathering import Gathering
from .sample import Sample
from .shards import Shards

BLOCK = 8192
"""Rows that are read at once from an array."""
EVERY = 64
"""Blocks between two checkpoints."""


@dataclass(frozen=True)
class Rows:
    """Two arrays of equal length, read some rows at a time: they may lie on disk (`np.memmap`)."""

    X: Items
    y: Items
    block: int = BLOCK

    def __post_init__(self) -> None:
        if count(self.X) != count(self.y):
            raise ValueError(
                f"X and y must have the same length, one output for each input: got "
                f"{count(self.X)} inputs and {count(self.y)} outputs."
            )

    def __iter__(self) -> Iterator[tuple[Items, Items]]:
        for rows in blocks(count(self.y), self.block):
            yield part(self.X, rows), part(self.y, rows)


class Stream(PairSource):
    """Pairs that come in blocks (X, y), of which only one is held at a time.

    Parameters
    ----------
    source
        An iterable of blocks (a list, a generator, `Shards`, a loader of one's own), a function
        of no arguments that returns one, the path or pattern of files (as in `Shards`), or, with
        `y`, an array. What can be read again (all but a generator) is read twice: once for the
        sample, once for the moments.
    y
        The outputs, where `source` is the array of inputs.
    block
        Rows to read at once where `source` is an array.
    sample
        How many pairs are kept: landmarks, length scales and the outputs that decoders choose
        among come from them. None is 4,096, or twice the largest rank asked for. Of a generator
        they are the first ones, of anything else a uniform sample.
    random_state
        The seed of the sample, a number. Cut otherwise into blocks, the same pairs in the same
        order give the same sample.
    checkpoint, every
        A file that the moments are written to every so many blocks. A run that finds the file
        goes on after the last block in it; one that ends removes it.
    precision
        Of the products of a block: "float32" is faster on a GPU and rounds moments to about 1e-7
        of their size, which shows where alpha is smaller than that; their sums are float64.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.features import IncompleteCholesky
    >>> from mercer.kernels import RBF
    >>> from mercer.streams import Stream
    >>> def blocks():
    ...     for seed in range(5):
    ...         X = np.random.default_rng(seed).uniform(-1, 1, size=(200, 1))
    ...         yield X, np.hstack([np.sin(3 * X), np.cos(3 * X)])
    >>> model = KernelDependency(RBF(0.5), alpha=1e-3, features=IncompleteCholesky(rank=20))
    >>> model.fit(Stream(blocks, sample=100)).predict([[0.5]]).round(2)
    array([[1.  , 0.07]])
    """

    def __init__(
        self,
        source: Any,
        y: Items = None,
        *,
        block: int = BLOCK,
        sample: int | None = None,
        random_state: int = 0,
        checkpoint: str | Path | None = None,
        every: int = EVERY,
        precision: str = "float64",
    ):
        super().__init__(sample, random_state, precision)
        self.source = _source(source, y, block)
        self.checkpoint = as_checkpoint(checkpoint, every)
        self.buffer: list[Any] = []  # the first blocks of a generator, which cannot go back

    def _pass(self) -> Iterator[Any]:
        return iter(self.source() if callable(self.source) else self.source)

    @property
    def repeats(self) -> bool:
        """Whether the blocks can be read again."""
        return callable(self.source) or iter(self.source) is not self.source

    def expected(self, kernels: tuple[Kernel, ...], output_kernel: Kernel) -> Expected:
        """What its blocks are like, read off the first."""
        if not self.repeats:
            self.buffer = list(islice(self._pass(), 1))
        first = self.buffer or list(islice(self._pass(), 1))
        if not first:
            raise ValueError("the stream is empty: it has no block to learn from.")
        return Expected.of(kernels, output_kernel, first[0])

    def sampled(self, expected: Expected, size: int) -> Sample:
        """A sample of all pairs; of a generator, the first ones."""
        sample, start = Sample(size, self.seed), 0
        for number, block in enumerate(self._leading(size)):
            X, y = expected.checked(number, block)
            sample, start = sample.with_block(start, X, y), start + count(y)
        return sample

    def _leading(self, size: int) -> Iterable[Any]:
        """All blocks; of a generator as many as have `size` pairs, which are held from there on."""
        if self.repeats:
            return self._pass()
        rest = self._pass()
        while sum(_length(block) for block in self.buffer) < size:
            more = next(rest, None)
            if more is None:
                break
            self.buffer.append(more)
        return list(self.buffer)

    def gather(self, expected: Expected, gatherings: list[Gathering]) -> None:
        """Add every block to every gathering."""
        saved = self.checkpoint
        done = saved.resume(gatherings) if saved else 0
        number = -1
        for number, block in enumerate(chain(self.buffer, self._pass())):
            if number < len(self.buffer):
                self.buffer[number] = None  # let go of what is done
            if number < done:
                continue
            X, y = expected.checked(number, block)
            for gathering in gatherings:
                gathering.add_block(number, X, y)
            if saved and (number + 1) % saved.every == 0:
                saved.save(number + 1, gatherings)
        if number + 1 < done:
            raise ValueError(
                f"the stream ended after {number + 1} blocks, but the checkpoint stands for "
                f"{done}: it is of a longer stream. Delete it to start over."
            )
        if saved:
            saved.save(number + 1, gatherings)  # what is solved with them may still be refused

    def finish(self) -> None:
        """Remove the checkpoint of a run that has ended."""
        if self.checkpoint:
            self.checkpoint.clear()


def as_stream(X: Any, y: Items = None) -> PairSource | None:
    """The stream that the arguments of `fit` stand for; None where they are data held whole."""
    if isinstance(X, PairSource):
        if y is not None:
            raise ValueError("a stream has its outputs in its blocks: leave y out.")
        return X
    if is_dask(X):
        from .dask_stream import DaskStream

        return DaskStream(X, y)
    if y is not None:
        return Stream(X, y) if isinstance(X, np.memmap) else None
    if isinstance(X, list | tuple):
        pairs = len(X) > 0 and all(isinstance(block, tuple) and len(block) == 2 for block in X)
        return Stream(X) if pairs else None
    held = X is None or hasattr(X, "shape") or isinstance(X, bytes | dict | set | frozenset)
    known = callable(X) or isinstance(X, str | Path | Iterable)
    return Stream(X) if known and not held else None


def _source(source: Any, y: Items, block: int) -> Callable[[], Iterable] | Iterable:
    if not isinstance(block, int | np.integer) or block < 1:
        raise ValueError(f"block must be a positive whole number of rows, got {block!r}.")
    if y is not None:
        return Rows(source, y, int(block))
    if isinstance(source, str | Path):
        return Shards(source)
    if callable(source) or (isinstance(source, Iterable) and not hasattr(source, "shape")):
        return source
    raise TypeError(
        "a stream is an iterable of blocks (X, y), a function that returns one, the path of "
        f"files, or two arrays X and y; got {type(source).__name__} alone."
    )


def _length(block: Any) -> int:
    """The pairs of a block; none of one that will be refused."""
    pair = isinstance(block, tuple | list) and len(block) == 2 and block[1] is not None
    return count(block[1]) if pair else 0
