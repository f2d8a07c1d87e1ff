"""Candidates that are given for each input separately."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._base.arrays import Items, blocks, count, host, namespace, object_array, take
from .._base.memory import ENTRIES
from ..embedding import Embedding, OrthonormalFrame
from ..kernels import Kernel
from .base import Ranked

SCORES_AT_ONCE, CANDIDATES_AT_ONCE = 1024, 2048
"""The numbers of scores and of distinct candidates that are computed together."""


class CandidateLists:
    """The candidate lists of several inputs, pooled so that each output is scored once.

    Parameters
    ----------
    kernel
        The output kernel.
    lists
        One list for each input.
    start
        The number of the first input, for messages.
    """

    def __init__(self, kernel: Kernel, lists: Sequence[Items], start: int = 0):
        self.kernel = kernel
        self.lists = [_check_list(row, start + t) for t, row in enumerate(lists)]
        self.pool, self.positions = self._pool(start)
        self.first: dict[Hashable, int] = {}
        keys = kernel.space.keys(self.pool)
        names = [self.first.setdefault(key, len(self.first)) for key in keys]
        self.numbers = np.array(names, dtype=np.intp)[self.positions]
        self.lengths = np.array([len(row) for row in self.lists])
        self.ends = np.cumsum(self.lengths)

    def _pool(self, start: int) -> tuple[Items, np.ndarray]:
        """Return the distinct objects in all lists, and the position of each list entry among them.

        An invalid candidate is reported with the number of its list, counted from `start`.
        """
        objects = {id(y): y for row in self.lists for y in row}
        position = {name: i for i, name in enumerate(objects)}
        try:
            pool = self.kernel.as_outputs(list(objects.values()), "candidates")
            self.kernel.check(pool, "candidates")
        except (TypeError, ValueError):
            for t, row in enumerate(self.lists):
                outputs = self.kernel.as_outputs(row, f"candidates[{start + t}]")
                self.kernel.check(outputs, "candidates")
            raise
        return pool, np.array([position[id(y)] for row in self.lists for y in row], dtype=np.intp)

    @cached_property
    def distinct(self) -> list[np.ndarray]:
        """The sorted indices of the distinct outputs in each list."""
        return [np.unique(own) for own in np.split(self.numbers, self.ends[:-1])]

    def rank(self, points: Embedding, k: int) -> list[Ranked]:
        """Return the `k` best candidates in the list of each predicted point, with their scores."""
        points, lost = points.about(self.pool)
        inner, norms = self._inner_products(points)
        lost = np.broadcast_to(host(lost), len(self.lists))
        ranked = []
        for start, end, shift in zip(self.ends - self.lengths, self.ends, lost, strict=True):
            # Added to l(y, y) itself, small inner products would be rounded away.
            least = norms[start:end].min()
            scores = 2.0 * inner[start:end] - (norms[start:end] - least)
            order = np.argsort(-scores, kind="stable")[:k]
            row = [
                (self.pool[self.positions[start + j]], float(scores[j] - least + shift))
                for j in order
            ]
            ranked.append(row)
        return ranked

    def _inner_products(self, points: Embedding) -> tuple[np.ndarray, np.ndarray]:
        """Return ⟨g, Φ(y)⟩ and l(y, y) of each list entry y, for the predicted point g."""
        distinct = take(self.pool, self.positions[np.unique(self.numbers, return_index=True)[1]])
        owners = np.repeat(np.arange(len(self.lists)), self.lengths)
        inner, squares = np.empty(len(self.numbers)), np.empty(len(self.numbers))
        order, T = np.argsort(self.numbers, kind="stable"), _points_in_features(points)
        for some in blocks(count(distinct), CANDIDATES_AT_ONCE):
            block, frame = take(distinct, np.arange(some.start, some.stop)), points.frame
            E = frame.evaluate(block) if T is None else frame.kernel.features.rows(block)
            norms = frame.sqnorms(block)
            first, last = np.searchsorted(self.numbers[order], [some.start, some.stop])
            for part in blocks(last - first, SCORES_AT_ONCE):
                pairs = order[first + part.start : first + part.stop]
                of, own = owners[pairs], self.numbers[pairs] - some.start
                if T is None:
                    terms = take(E, own) * take(points.coordinates, of)
                    inner[pairs] = host(namespace(terms).sum(terms, axis=1))
                else:
                    inner[pairs] = _sparse_products(T, E, of, own)
                squares[pairs] = host(take(norms, own))
        return inner, squares


def _points_in_features(points: Embedding) -> np.ndarray | None:
    """Return points in sparse features of the output kernel; None if impossible or too large."""
    frame = points.frame
    features = frame.kernel.features
    if features is None or features.sparse is None:
        return None
    if isinstance(frame, OrthonormalFrame) and frame.map.projects:  # other inner products
        return None
    try:
        weights, items = frame.expansion(points.coordinates)
    except (NotImplementedError, ValueError):  # explicit coordinates, or scores
        return None
    F = features.rows(items)
    # Features leave out what the kernel was not fitted on, as given landmarks may have.
    complete = np.allclose(F.multiply(F).sum(axis=1), frame.kernel.diag(items))
    small = len(points) * F.shape[1] <= ENTRIES
    return host(weights) @ F if complete and small else None


def _sparse_products(T: np.ndarray, F: Any, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the inner products of the dense rows T[left[i]] and the sparse rows F[right[i]]."""
    rows = F[right]
    owner = np.repeat(np.arange(len(right)), np.diff(rows.indptr))
    terms = rows.data * T[left[owner], rows.indices]
    return np.bincount(owner, terms, minlength=len(right))


def _check_list(row: Any, t: int) -> list:
    """Return the candidates of input t as a list; raise an error if there are none."""
    if isinstance(row, str | bytes | dict) or not hasattr(row, "__iter__"):
        raise ValueError(
            f"candidates[{t}] must be a list of outputs, one an input; got {row!r:.60}."
        )
    found = list(row)
    if not found:
        raise ValueError(f"the candidate list of input {t} is empty: give it an output.")
    return found


@dataclass(frozen=True)
class OwnCandidates:
    """A decoder for candidates that a function returns for each input.

    Attributes
    ----------
    function, kernel
        The function from an input to its list, and the output kernel.
    known
        The keys of the training outputs.
    """

    function: Callable[[Any], Items]
    kernel: Kernel
    known: Sequence[Hashable]

    def rank(self, points: Embedding, k: int) -> list[Ranked]:
        """Return the `k` best candidates in the list of each predicted point, with their scores.

        Warn if some lists contain training outputs and others do not.
        """
        if points.inputs is None:
            raise ValueError("candidates named by a function of x need points that know their x.")
        lists = CandidateLists(self.kernel, [self.function(x) for x in points.inputs])
        first, distinct = lists.first, lists.distinct
        groups, of_lists = np.arange(len(self.known)), np.full(len(distinct), -2)
        if points.left_out is not None and len(points.left_out) == len(self.known):
            groups = of_lists = points.left_out
        owner = sole_groups([first.get(name, -1) for name in self.known], groups, len(first))
        seen = [
            bool(((owner[row] != -2) & (owner[row] != group)).any())
            for row, group in zip(distinct, of_lists, strict=True)
        ]
        if any(seen) and not all(seen):
            warnings.warn(
                f"{sum(seen)} of {len(seen)} candidate lists contain training outputs and the "
                "others none: a training output votes for itself, so such lists are decided by "
                "what was seen. Give the lists to predict(X, candidates=lists), which leaves "
                "those examples out.",
                stacklevel=4,
            )
        return lists.rank(points, k)


def sole_groups(numbers: Iterable[int], groups: np.ndarray, n: int) -> np.ndarray:
    """Return for each of n outputs the only group that has it; -1 for several, -2 for none.

    Example i is in groups[i] and has output numbers[i]; -1 for none of the n outputs.
    """
    found = np.full(n, -2, dtype=np.intp)
    for number, group in zip(numbers, groups, strict=True):
        if number >= 0:
            found[number] = group if found[number] in (-2, group) else -1
    return found


def outputs_as_array(outputs: list, kernel: Kernel) -> Items:
    """Return decoded outputs as an array, of numbers if the kernel is on vectors."""
    return kernel.as_outputs(outputs) if kernel.on_vectors else object_array(outputs)
