"""What is factored of each set of output directions that a kernel does not couple."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from .._arrays import Array, Items, blocks, count, like, namespace, part
from ..problem import Problem
from .inputs import InputSpectrum
from .left_out import Part

DIAGONAL = 64
"""Inputs whose values against each other are made where only k(x, x) is wanted."""


@dataclass(frozen=True)
class DirectionGram:
    """The scalar Gram matrix that some output directions share.

    Attributes
    ----------
    columns
        The directions.
    matrix
        A function that returns the matrix over the training inputs.
    between
        A function of two batches of inputs that returns kernel values.
    X
        The training inputs.
    """

    columns: np.ndarray
    matrix: Callable[[], Array]
    between: Callable[[Items, Items], Array]
    X: Items

    def against(self, A: Items) -> Array:
        """Kernel values of inputs against the training inputs."""
        return self.between(A, self.X)


class GramInputs(InputSpectrum):
    """The spectrum of a Gram matrix that is given."""

    def __init__(self, gram: DirectionGram, problem: Problem):
        K, w = gram.matrix(), problem.weights
        self.gram, self.total = gram, problem.total
        self.means = None
        if problem.intercept:
            share = np.full(problem.n, 1.0 / problem.n) if w is None else w / w.sum()
            self.level = like(share, K)
            self.means = self.level @ K
        self.factor(K + 0.0, w, problem.intercept)

    def project(self, X: Items) -> Array:
        """(√w ∘ k_x) E."""
        K = self.gram.against(X)
        K = K if self.means is None else K - self.means
        return (K if self.roots is None else K * self.roots.T) @ self.E

    def prior(self, X: Items) -> Array:
        """k(x, x), centred where there is an intercept."""
        xp, own = namespace(self.E), []
        for rows in blocks(count(X), DIAGONAL):
            some = part(X, rows)
            own.append(xp.linalg.diagonal(self.gram.between(some, some)))
        diagonal = xp.concat(own)
        if self.means is None:
            return diagonal
        return diagonal - 2.0 * (self.gram.against(X) @ self.level) + self.means @ self.level

    def dual(self, D: Array) -> tuple[Array, Array]:
        """Dual coefficients √w ∘ (E D), and the mean of what they explain."""
        coef = self.reduction.weighted(self.E @ D)
        return coef, 0.0 * coef[0, :] if self.means is None else self.means @ coef


class LazyParts:
    """Parts that are made when they are iterated over, and kept where there is room."""

    def __init__(
        self, make: Callable[[DirectionGram], Part], grams: list[DirectionGram], keep: bool
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
