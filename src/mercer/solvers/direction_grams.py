"""What is factored of each set of output directions that a kernel does not couple."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from .._arrays import Array, Items, blocks, count, namespace, part
from .left_out import Part

DIAGONAL = 64
"""Inputs whose values against each other are made where only k(x, x) is wanted."""


@dataclass(frozen=True)
class DirectionKernel:
    """The scalar kernel that some output directions share, as far as `InputGram` asks.

    Attributes
    ----------
    columns
        The directions.
    matrix
        A function that returns the Gram matrix of the training inputs.
    between
        A function of two batches of inputs that returns kernel values.
    """

    columns: np.ndarray
    matrix: Callable[[], Array]
    between: Callable[[Items, Items], Array]
    features = None

    def __call__(self, A: Items, B: Items) -> Array:
        """Kernel values."""
        return self.between(A, B)

    def checked_gram(self, X: Items) -> Array:
        """The Gram matrix of the training inputs."""
        return self.matrix()

    def diag(self, A: Items) -> Array:
        """k(a, a), of a few inputs against each other at a time."""
        few = [part(A, rows) for rows in blocks(count(A), DIAGONAL)]
        own = [self.between(some, some) for some in few]
        xp = namespace(*own)
        return xp.concat([xp.linalg.diagonal(K) for K in own])


class LazyParts:
    """Parts that are made when they are iterated over, and kept where there is room."""

    def __init__(
        self, make: Callable[[DirectionKernel], Part], grams: list[DirectionKernel], keep: bool
    ):
        self.make, self.grams, self.keep = make, grams, keep
        self.made: list[Part] = []

    def __len__(self) -> int:
        return len(self.grams)

    def __getitem__(self, i: int) -> Part:
        return next(islice(self, i, None))

    def __iter__(self) -> Iterator[Part]:
        yield from self.made
        for gram in self.grams[len(self.made) :]:
            made = self.make(gram)
            if self.keep:
                self.made.append(made)
            yield made
