"""Candidates that each input names for itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import (
    Items,
    blocks,
    count,
    host,
    namespace,
    object_array,
    take,
)
from ..embedding import Embedding
from ..kernels import Kernel
from .base import Ranked

PAIRS, CANDIDATES = 1024, 2048
"""Scores and distinct candidates that are looked at together."""


class OwnCandidates:
    """Candidates that each input names for itself."""

    def __init__(self, function: Callable[[Any], Items], kernel: Kernel, y: Items):
        self.function = function
        self.kernel = kernel
        self.known = kernel.space.keys(y)

    def decode(self, points: Embedding) -> Items:
        """The best of each point's own candidates."""
        return _collected([row[0][0] for row in self.decode_top(points, 1)], self.kernel)

    def decode_top(self, points: Embedding, k: int) -> list[Ranked]:
        """The best `k` of each point's own candidates."""
        lists = self._lists(points)
        pool, places = self._pool(lists)
        first: dict[Any, int] = {}
        names = [first.setdefault(name, len(first)) for name in self.kernel.space.keys(pool)]
        numbers = np.array(names, dtype=np.intp)[places]
        lengths = np.array([len(row) for row in lists])
        ends = np.cumsum(lengths)
        self._warn_if_unfair(points, first, np.split(numbers, ends[:-1]))
        distinct = take(pool, places[np.unique(numbers, return_index=True)[1]])
        owners = np.repeat(np.arange(len(lists)), lengths)
        inner, norms = self._parts(points, distinct, numbers, owners)
        ranked = []
        for start, end in zip(ends - lengths, ends, strict=True):
            # Beside l(y, y) itself small inner products would be rounded away.
            least = norms[start:end].min()
            scores = 2.0 * inner[start:end] - (norms[start:end] - least)
            order = np.argsort(-scores, kind="stable")[:k]
            ranked.append([(pool[places[start + j]], float(scores[j] - least)) for j in order])
        return ranked

    def _parts(
        self, points: Embedding, distinct: Items, numbers: np.ndarray, owners: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """⟨g, Φ(y)⟩ and l(y, y) of each candidate for its owner; distinct ones are read once."""
        C, xp = points.coordinates, namespace(points.coordinates)
        inner, squares = np.empty(len(numbers)), np.empty(len(numbers))
        order = np.argsort(numbers, kind="stable")
        for some in blocks(count(distinct), CANDIDATES):
            block = take(distinct, np.arange(some.start, some.stop))
            E, norms = points.frame.evaluate(block), points.frame.sqnorms(block)
            first, last = np.searchsorted(numbers[order], [some.start, some.stop])
            for part in blocks(last - first, PAIRS):
                pairs = order[first + part.start : first + part.stop]
                own = numbers[pairs] - some.start
                inner[pairs] = host(xp.sum(take(E, own) * take(C, owners[pairs]), axis=1))
                squares[pairs] = host(take(norms, own))
        return inner, squares

    def _lists(self, points: Embedding) -> list[list]:
        if points.inputs is None:
            raise ValueError("candidates named by a function of x need points that know their x.")
        named = [self.function(x) for x in points.inputs]
        for t, row in enumerate(named):
            if isinstance(row, str | bytes | dict) or not hasattr(row, "__iter__"):
                raise ValueError(
                    f"candidates[{t}] must be a list of outputs, one an input; got {row!r:.60}."
                )
        lists = [list(row) for row in named]
        for t, row in enumerate(lists):
            if not row:
                raise ValueError(f"the candidate list of input {t} is empty: give it an output.")
        return lists

    def _pool(self, lists: list[list]) -> tuple[Items, np.ndarray]:
        """The objects in all lists, each once, and the place of every entry among them.

        A bad candidate is named by its list and its place there.
        """
        objects = {id(y): y for row in lists for y in row}
        place = {name: i for i, name in enumerate(objects)}
        try:
            pool = self.kernel.as_outputs(list(objects.values()), "candidates")
            self.kernel.check(pool, "candidates")
        except (TypeError, ValueError):
            for t, row in enumerate(lists):
                self.kernel.check(self.kernel.as_outputs(row, f"candidates[{t}]"), "candidates")
            raise
        return pool, np.array([place[id(y)] for row in lists for y in row], dtype=np.intp)

    def _warn_if_unfair(self, points: Embedding, first: dict, own: list[np.ndarray]) -> None:
        """Warn where some lists hold outputs that were trained on and others hold none."""
        owner = np.full(len(first), -2, dtype=np.intp)  # -2: not trained on; -1: by several groups
        groups, mine = np.arange(len(self.known)), np.full(len(own), -2)
        if points.left_out is not None and len(points.left_out) == len(self.known):
            groups = mine = points.left_out
        for name, group in zip(self.known, groups, strict=True):
            if name in first:
                number = first[name]
                owner[number] = group if owner[number] in (-2, group) else -1
        seen = [
            bool(((owner[row] != -2) & (owner[row] != group)).any())
            for row, group in zip(own, mine, strict=True)
        ]
        if any(seen) and not all(seen):
            warnings.warn(
                f"{sum(seen)} of {len(seen)} candidate lists contain training outputs and the "
                "others none: a training output votes for itself, so such lists are decided by "
                "what was seen. Leave its group out of training, or compare within lists only.",
                stacklevel=5,
            )


def _collected(outputs: list, kernel: Kernel) -> Items:
    """Chosen outputs in a container that survives cross-validation."""
    return kernel.as_outputs(outputs) if kernel.on_vectors else object_array(outputs)
