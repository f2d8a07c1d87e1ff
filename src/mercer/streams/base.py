"""What a source of pairs offers to a fit."""

from __future__ import annotations

import numpy as np

from ..kernels import Kernel
from .expected import Expected
from .gathering import Gathering
from .sample import Sample

PRECISIONS = ("float64", "float32")


class PairSource:
    """Pairs that come in blocks: what they look like, a sample of them, and their moments.

    Parameters
    ----------
    sample
        How many pairs to keep; None leaves it to the model.
    random_state
        The seed of the sample, a number.
    precision
        Of the products of a block, "float64" or "float32"; their sums are float64.
    """

    def __init__(
        self, sample: int | None = None, random_state: int = 0, precision: str = "float64"
    ):
        if sample is not None and (not isinstance(sample, int | np.integer) or sample < 2):
            raise ValueError(f"sample must be a whole number of pairs, at least 2, got {sample!r}.")
        if not isinstance(random_state, int | np.integer):
            raise ValueError(f"random_state of a stream must be a number, got {random_state!r}.")
        if precision not in PRECISIONS:
            raise ValueError(f"precision must be one of {PRECISIONS}, got {precision!r}.")
        self.size, self.seed, self.precision = sample, int(random_state), precision

    def expected(self, kernels: tuple[Kernel, ...], output_kernel: Kernel) -> Expected:
        """What its blocks are like, read off the first."""
        raise NotImplementedError

    def sampled(self, expected: Expected, size: int) -> Sample:
        """A uniform sample of its pairs."""
        raise NotImplementedError

    def gather(self, expected: Expected, gatherings: list[Gathering]) -> None:
        """Add every block to every gathering."""
        raise NotImplementedError

    def finish(self) -> None:
        """The model is made: nothing needs to be kept to try again."""
