"""Streams on a cluster: Dask loads the blocks and gathers their moments where they lie."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import count
from .._extras import require
from ..kernels import Kernel
from ..operators import Moments
from .base import PairSource
from .dask_blocks import delayed_blocks
from .dask_tasks import problems, shared, task, tree
from .expected import BadBlock, Expected
from .gathering import Gathering
from .sample import Sample


class DaskStream(PairSource):
    """Pairs in the blocks of a Dask collection.

    Only a sample of the pairs and the sum of the moments ever reach the client. A block is loaded
    by its own task wherever it is needed, so that what a lost worker held is made again.

    Parameters
    ----------
    X
        A Dask array (with `y` another one), a bag of pairs or two bags, a list of delayed blocks
        (X, y) or two lists.
    y
        The outputs, where `X` has the inputs alone.
    sample, random_state, precision
        As in `Stream`.
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        sample: int | None = None,
        random_state: int = 0,
        precision: str = "float64",
    ):
        require("dask", "dask")
        super().__init__(sample, random_state, precision)
        self.read, self.parts, self.lengths = delayed_blocks(X, y)

    def expected(self, kernels: tuple[Kernel, ...], output_kernel: Kernel) -> Expected:
        """Read off the first block, where it is."""
        kinds = self.read, kernels, output_kernel
        return self._compute(task("look", 0, _expected, *kinds, *self.parts[0]))

    def sampled(self, expected: Expected, size: int) -> Sample:
        """The samples of the blocks, added up on the cluster."""
        starts = np.cumsum([0, *self._lengths()])
        what = shared((self.read, expected, Sample(size, self.seed)))
        tasks = [
            task("sample", number, _sampled, what, number, int(starts[number]), *parts)
            for number, parts in enumerate(self.parts)
        ]
        return self._compute(tree(tasks, _sum))

    def gather(self, expected: Expected, gatherings: list[Gathering]) -> None:
        """The moments of the blocks, added up on the cluster."""
        what = shared((self.read, expected, [gathering.for_worker() for gathering in gatherings]))
        tasks = [
            task("moments", number, _gathered, what, number, *parts)
            for number, parts in enumerate(self.parts)
        ]
        total = self._compute(tree(tasks, _sums))
        for gathering, moments in zip(gatherings, total, strict=True):
            gathering.merge(moments)

    def _lengths(self) -> list[int]:
        """How many pairs each block has, where Dask does not know: one number a block."""
        if self.lengths is None:
            tasks = [task("count", i, _count, self.read, *p) for i, p in enumerate(self.parts)]
            self.lengths = list(self._compute(tasks))
        return self.lengths

    def _compute(self, what: Any) -> Any:
        """Run on whatever cluster there is, and name the block whose loading fails."""
        import dask

        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Sending large graph")
                return dask.compute(what)[0]
        except BadBlock:
            raise
        except Exception as error:
            self._blame(error)
            raise

    def _blame(self, error: Exception) -> None:
        """Load the blocks alone, on the failing path only, to say which one it was."""
        if type(error).__name__ == "KilledWorker":
            return  # it would kill others; the error has the name of the task, with its block
        for number, problem in enumerate(problems(self.parts)):
            if problem is not None:
                raise BadBlock(
                    f"block {number} of the stream could not be loaded: "
                    f"{type(problem).__name__}: {problem}"
                ) from error


# -- what the workers do ----------------------------------------------------------------------


def _expected(read: Callable, kernels: Any, output_kernel: Kernel, *parts: Any) -> Expected:
    return Expected.of(kernels, output_kernel, read(*parts))


def _count(read: Callable, *parts: Any) -> int:
    return count(read(*parts)[1])


def _sampled(what: tuple, number: int, start: int, *parts: Any) -> Sample:
    read, expected, empty = what
    return empty.with_block(start, *expected.checked(number, read(*parts)))


def _gathered(what: tuple, number: int, *parts: Any) -> list[Moments]:
    read, expected, gatherings = what
    X, y = expected.checked(number, read(*parts))
    fresh = [gathering.blank() for gathering in gatherings]
    for gathering in fresh:
        gathering.add_block(number, X, y)
    return [gathering.raw for gathering in fresh]


def _sum(samples: list[Sample]) -> Sample:
    total = samples[0]
    for sample in samples[1:]:
        total = total + sample
    return total


def _sums(moments: list[list[Moments]]) -> list[Moments]:
    total = moments[0]
    for more in moments[1:]:
        total = [a + b for a, b in zip(total, more, strict=True)]
    return total
