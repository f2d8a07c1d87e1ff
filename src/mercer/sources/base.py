"""The base of all sources of pairs: one method that reduces a function over the blocks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from operator import add
from typing import Any

import numpy as np

from .._base.arrays import Array
from .._base.parameters import integer, one_of
from ..kernels import Kernel
from .blocks import Expected, Step
from .sample import Sample

PRECISIONS = ("float64", "float32")
"""The allowed precisions of the products of a block."""


class Source:
    """Base class of sources: pairs that are read in blocks (X, y) or (X, y, weights).

    A kind of source implements `expected` and `map_reduce`. A sample, moments and
    left-out risks are each one `map_reduce`, so that a model does not depend on the kind.

    Parameters
    ----------
    sample : int, default=None
        How many pairs to keep; None leaves the number to the model.
    random_state : int, default=0
        The seed of the sample.
    precision : {"float64", "float32"}, default="float64"
        The precision of the products of a block; sums are float64.

    Attributes
    ----------
    repeats
        Whether the blocks can be read again.
    pairs
        How many pairs there are; None while that is not known.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.features import IncompleteCholesky
    >>> from mercer.kernels import RBF
    >>> from mercer.sources import Stream
    >>> X = np.linspace(0, 1, 60)[:, None]
    >>> blocks = Stream(lambda: ((X[i : i + 20], X[i : i + 20] ** 2) for i in (0, 20, 40)))
    >>> model = KernelDependency(RBF(0.5), features=IncompleteCholesky(10), alpha=1e-3).fit(blocks)
    >>> model.predict([[0.5]]).shape
    (1, 1)
    """

    repeats: bool = True
    pairs: int | None = None

    def __init__(
        self, sample: int | None = None, random_state: int = 0, precision: str = "float64"
    ):
        if sample is not None:
            integer(sample, "sample", 2)
        if not isinstance(random_state, int | np.integer):
            raise ValueError(f"random_state of a stream must be a number, got {random_state!r}.")
        one_of(precision, "precision", PRECISIONS)
        self.size, self.seed, self.precision = sample, int(random_state), precision

    def __len__(self) -> int:
        if self.pairs is None:
            raise TypeError("the number of pairs of this stream is known once it was read.")
        return self.pairs

    def expected(self, kernels: tuple[Kernel, ...], output_kernel: Kernel) -> Expected:
        """Return the shapes, dtypes and names of the first block, which all blocks must have."""
        raise NotImplementedError

    def map_reduce(
        self, expected: Expected, step: Step, merge: Callable, gatherings: Any = None
    ) -> Any:
        """Apply `step` to all blocks and merge the results; return None if there are no blocks.

        Parameters
        ----------
        expected
            What checks the blocks.
        step
            A function `step(start, X, y, weights)` of the number of the first pair of a block, and
            of its checked contents.
        merge
            An associative function of two results of `step`.
        gatherings
            The list of `Gathering` whose moments are summed, to be saved in a checkpoint if the
            source has one; None if results are not moments.
        """
        raise NotImplementedError

    def weighted(self, weights: Array) -> Source:
        """Return a source of the same pairs with sample weights, one for each pair."""
        raise NotImplementedError

    def running(self) -> AbstractContextManager[None]:
        """Return a context in which one fit runs; checkpoints are removed if it succeeds."""
        return nullcontext()

    def sample(self, expected: Expected, size: int) -> Sample | None:
        """Draw a uniform sample of `size` pairs; return None if there are no pairs."""
        return self.map_reduce(expected, Sample(size, self.seed).with_block, add)
