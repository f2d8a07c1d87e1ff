"""Problems with symmetries: images of the pairs as further pairs, one group with their original."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._arrays import Array, Items, concatenated
from .._plan import Route, Sizes
from ..embedding import Embedding
from ..problem import Problem, Side, Want
from .base import Cache, Solver
from .by_direction import Directions
from .factorization import Factorization, LeftOut, Solution
from .orbits import OverOrbits, orbits_of


def with_images(problem: Problem) -> Problem:
    """The pairs, followed by their images under every other symmetry; images share the label."""
    group: Any = problem.symmetry
    X, Y = zip(*group.images(problem.inputs.items, problem.outputs.items), strict=True)
    number = len(group)
    return replace(
        problem,
        inputs=Side(problem.inputs.kernel, concatenated(X), problem.inputs.features),
        outputs=Side(problem.outputs.kernel, concatenated(Y), problem.outputs.features),
        labels=np.tile(problem.left_out_labels, number),
        weights=None if problem.weights is None else np.tile(problem.weights, number),
        given=None,
        symmetry=None,
    )


class AddedExamples(Solver):
    """Any problem whose images are held whole: solved with the images as further pairs."""

    name = "added examples"

    def accepts(self, problem: Problem, want: Want) -> str | None:
        """Arrays on both sides."""
        whole = all(hasattr(s.items, "shape") for s in (problem.inputs, problem.outputs))
        return None if whole and problem.gathered is None else "symmetries are of arrays held whole"

    def cost(self, sizes: Sizes) -> Route:
        """That of a larger problem, which characters avoid."""
        return replace(sizes, n=16 * sizes.n).spectral()

    def factor(self, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Factor the larger problem by whatever solver suits it."""
        from .route import factor

        inner = factor(with_images(problem), want)
        kept = replace(problem, kernel=inner.problem.kernel)
        group: Any = problem.symmetry
        found = WithImages(kept, inner, len(group))
        if isinstance(inner, Directions) and inner.Q is None:
            orbits = orbits_of(inner.kernel, group, problem.inputs.items)
            found.fast = inner if orbits is None else OverOrbits(inner, orbits)
        return found


class WithImages(Factorization):
    """A factorisation over pairs and their images, told of the pairs alone.

    Notes
    -----
    The loss over all images of a pair is as many times that of the pair, for a map that keeps the
    symmetry; α is multiplied by their number, so that it means the same with and without. `fast`
    gives the same solutions and left-out predictions, where some places are images of others.
    """

    def __init__(self, problem: Problem, inner: Factorization, number: int):
        self.problem, self.inner, self.number = problem, inner, number
        self.fast = inner

    def solve(self, alpha: float) -> Solution:
        """The map g at one α."""
        return self.fast.solve(self.number * alpha)

    def left_out(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[LeftOut]:
        """Left-out predictions of the pairs, each left out with its images."""
        more = [self.number * alpha for alpha in alphas]
        for alpha, found in zip(alphas, self.fast.left_out(more, averaged), strict=True):
            yield LeftOut(alpha, found.sqlengths[: self.problem.n], self._originals(found))

    def _originals(self, found: LeftOut) -> Callable[[], Embedding]:
        n, problem = self.problem.n, self.problem
        return lambda: replace(found.embed()[slice(0, n)], inputs=problem.given)

    def left_out_quickly(self, alpha: float) -> LeftOut:
        """As the factorisation inside."""
        found = self.fast.left_out_quickly(self.number * alpha)
        return LeftOut(alpha, found.sqlengths[: self.problem.n], self._originals(found))

    def compared(self, plain: Factorization) -> tuple[Factorization, Factorization]:
        """On some places, where places are images of others."""
        if not (isinstance(self.fast, OverOrbits) and isinstance(plain, Directions)):
            return self, plain
        fast, plain = self.fast.beside(plain)
        few = WithImages(self.problem, self.inner, self.number)
        few.fast = fast
        return few, plain

    def moves(self, X: Items, alpha: float) -> Iterator[tuple[slice, Array]]:
        """How leaving each pair and its images out moves the points of new inputs."""
        for rows, move in self.inner.moves(X, self.number * alpha):
            yield rows, move[:, : self.problem.n, ...]

    def variance(self, X: Items, alpha: float) -> Array:
        """As the factorisation inside, which counts images as pairs of their own."""
        return self.inner.variance(X, self.number * alpha)

    def __getattr__(self, name: str) -> Any:
        if name in ("outputs", "parts", "Q"):  # what a posterior reads
            return getattr(self.inner, name)
        raise AttributeError(name)

    @property
    def scale(self) -> float:
        """That of the pairs and their images."""
        return self.fast.scale

    @property
    def nbytes(self) -> float:
        """That of the factorisation inside."""
        return self.fast.nbytes
