"""Problems with symmetries: images of the pairs as further pairs, one group with their original."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .._base.arrays import Array, Items, concatenated, host, like, namespace, take
from ..embedding import Embedding
from ..problem import Problem, Want
from ..spaces.symmetries import Group
from .by_direction import ByDirection
from .factorization import Cache, Factorization, LeftOut, Solution, Variances
from .left_out import Part


def with_images(problem: Problem) -> Problem:
    """The pairs, followed by their images under every other symmetry; images share the label."""
    group: Any = problem.symmetry
    X, Y = zip(*group.images(problem.inputs.items, problem.outputs.items), strict=True)
    number = len(group)
    return replace(
        problem,
        inputs=replace(problem.inputs, items=concatenated(X), sample=None),
        outputs=replace(problem.outputs, items=concatenated(Y), sample=None),
        labels=np.tile(problem.left_out_labels, number),
        weights=None if problem.weights is None else np.tile(problem.weights, number),
        given=None,
        symmetry=None,
    )


class AddedExamples(Factorization):
    """Any problem whose images are held whole: solved with the images as further pairs.

    Notes
    -----
    The loss over all images of a pair is as many times that of the pair, for a map that keeps the
    symmetry; α is multiplied by their number, so that it means the same with and without. `fast`
    gives the same solutions and left-out predictions, where some places are images of others.
    """

    name, costs = "added examples", "spectral"

    def __init__(self, problem: Problem, inner: Factorization, number: int):
        self.problem, self.inner, self.number = problem, inner, number
        self.fast = inner

    @classmethod
    def accepts(cls, problem: Problem, want: Want) -> str | None:
        """Arrays on both sides."""
        whole = all(hasattr(s.items, "shape") for s in (problem.inputs, problem.outputs))
        return None if whole and problem.gathered is None else "symmetries are of arrays held whole"

    @classmethod
    def factor(cls, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Factor the larger problem by whatever solver suits it."""
        from .route import factor

        inner = factor(with_images(problem), want)
        kept = replace(problem, kernel=inner.problem.kernel)
        group: Any = problem.symmetry
        found = cls(kept, inner, len(group))
        if isinstance(inner, ByDirection) and inner.Q is None:
            orbits = orbits_of(inner.kernel, group, problem.inputs.items)
            found.fast = inner if orbits is None else OverOrbits(inner, orbits)
        return found

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
        if not (isinstance(self.fast, OverOrbits) and isinstance(plain, ByDirection)):
            return self, plain
        fast, plain = self.fast.beside(plain)
        few = AddedExamples(self.problem, self.inner, self.number)
        few.fast = fast
        return few, plain

    def moves(self, X: Items, alpha: float) -> Iterator[tuple[slice, Array]]:
        """How leaving each pair and its images out moves the points of new inputs."""
        for rows, move in self.inner.moves(X, self.number * alpha):
            yield rows, move[:, : self.problem.n, ...]

    def variances(self, alpha: float) -> Variances:
        """Those of the factorisation inside, which counts images as pairs of their own."""
        return self.inner.variances(self.number * alpha)

    def noise(self, alpha: float) -> float:
        """That of the pairs and their images."""
        return self.inner.noise(self.number * alpha)

    def left_out_noises(self, alpha: float) -> np.ndarray:
        """Those of the pairs and their images."""
        return self.inner.left_out_noises(self.number * alpha)

    @property
    def Q(self) -> Array | None:  # type: ignore[override]
        """The directions of the operator."""
        return self.inner.Q

    @property
    def outputs(self) -> Any:
        """Those of the pairs and their images."""
        return self.inner.outputs

    @property
    def scale(self) -> float:
        """That of the pairs and their images."""
        return self.fast.scale


LARGEST = 256
"""The most elements of a group whose products are tabled."""
COMPARED = 8
"""Orbits on which a symmetry is tried."""
EQUIVARIANT = 1e-9
"""How much kernel values may differ by rounding."""


class Orbits(NamedTuple):
    """How output components are images of a few.

    Attributes
    ----------
    chosen
        The components that are solved.
    of, sign
        For each component the position in `chosen` of the one that it is an image of, and whether
        its sign changes.
    row
        (elements, components): the image of the pairs at which the chosen component has the value
        that this one has at an image h: g⁻¹h, where g turns the chosen one into this one.
    """

    chosen: np.ndarray
    of: np.ndarray
    sign: np.ndarray
    row: np.ndarray

    def spread(self, A: Array) -> Array:
        """Columns of the chosen components, rows image by image, as columns of all components."""
        xp, (rows, number) = namespace(A), A.shape
        if rows == 1:
            return xp.matrix_transpose(take(xp.matrix_transpose(A), self.of)) * like(self.sign, A)
        images = len(self.row)
        turned = xp.permute_dims(xp.reshape(A, (images, -1, number)), (0, 2, 1))
        turned = xp.reshape(turned, (images * number, -1))
        at = self.row * number + self.of
        found = xp.reshape(take(turned, at.reshape(-1)), (*at.shape, -1))
        return xp.reshape(xp.permute_dims(found, (0, 2, 1)), (rows, -1)) * like(self.sign, A)

    def some(self, number: int) -> tuple[Orbits, np.ndarray]:
        """A few orbits from first to last, and the components that they hold."""
        kept = np.unique(np.linspace(0, len(self.chosen) - 1, number).astype(int))
        own = np.flatnonzero(np.isin(self.of, kept))
        place = np.searchsorted(kept, self.of[own])
        return Orbits(self.chosen[kept], place, self.sign[own], self.row[:, own]), own


def orbits_of(kernel: Any, group: Group, X: Items) -> Orbits | None:
    """The orbits of output components; None where the kernel does not move with the group."""
    if len(group) > LARGEST or not _moves_along(kernel, group, X):
        return None
    outputs = group.outputs
    source = np.stack([action.source for action in outputs])
    signs = np.stack([action.sign for action in outputs])
    first = source.min(axis=0)  # the least component of each orbit
    chosen, of = np.unique(first, return_inverse=True)
    by = np.argmax(source == first, axis=0)  # the element g with (g y)_c = ± y_first
    own = np.arange(source.shape[1])
    return Orbits(chosen, of.reshape(-1), signs[by, own], _quotients(group)[by].T)


def _quotients(group: Group) -> np.ndarray:
    """The number of g⁻¹h for the elements g (row) and h (column)."""
    both = list(zip(group.inputs, group.outputs, strict=True))
    number = {left.key + right.key: i for i, (left, right) in enumerate(both)}
    table = np.empty((len(both), len(both)), dtype=np.intp)
    for g, (left, right) in enumerate(both):
        for k, (x, y) in enumerate(both):
            table[g, number[left.after(x).key + right.after(y).key]] = k
    return table


def _moves_along(kernel: Any, group: Group, X: Items) -> bool:
    """Whether K(gx, gx')_cc is K(x, x') at the component that c comes from, tried on a pair."""
    pair = host(take(X, [0, len(X) - 1]))
    images = [concatenated([act(pair[i : i + 1]) for act in group.inputs]) for i in (0, 1)]
    gram = kernel.by_component(*images)
    values = np.stack([np.diagonal(K) for _, K in gram.by_scalar()], axis=1)[:, gram.labels]
    expected = np.stack([values[0, action.source] for action in group.outputs])
    return bool(np.abs(values - expected).max() <= EQUIVARIANT * np.abs(values).max())


class OverOrbits(ByDirection):
    """One component of each orbit, factored; what is known of it is moved to the others."""

    def __init__(self, whole: ByDirection, orbits: Orbits):
        self.orbits = orbits
        few = whole.restricted(orbits.chosen)
        super().__init__(whole.problem, whole.kernel, whole.outputs, None, few.grams)

    def beside(self, plain: ByDirection) -> tuple[ByDirection, ByDirection]:
        """Both on a few orbits: this, and the same problem without symmetries."""
        orbits, columns = self.orbits.some(COMPARED)
        return OverOrbits(self, orbits), plain.restricted(columns)

    def _in_order(self, columns: list[Array]) -> Array:
        """Columns of all components from those of the chosen ones."""
        return self.orbits.spread(super()._in_order(columns))

    def _times(self, part: Part) -> np.ndarray:
        """How long the orbit of each component is."""
        assert part.columns is not None
        sizes = np.bincount(self.orbits.of)
        return sizes[np.searchsorted(self.orbits.chosen, part.columns)]

    @property
    def scale(self) -> float:
        """As of all parts, each as often as its orbit is long."""
        xp = namespace(self.T)
        reached = total = 0.0
        for part in self.parts:
            times = like(self._times(part), part.T)
            length = float(xp.sum(part.T * part.T * times))
            reached += float(xp.sum(part.inputs.s)) / part.inputs.total * length
            total += length
        return reached / total if reached > 0 and total > 0 else 1.0
