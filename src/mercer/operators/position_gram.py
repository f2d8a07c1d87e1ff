"""The values of `Positionwise` as one linear map, made some slots of one place at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array, Items, blocks
from .block_gram import BlockGram
from .slots import Slots

if TYPE_CHECKING:
    from .positionwise import Positionwise

ROWS = 1024
"""Slots of one place whose kernel values are held at once."""


class PositionGram(BlockGram):
    """The values of `Positionwise`, made strip by strip: some slots of one place at a time."""

    direct = True

    def __init__(self, kernel: Positionwise, A: Items, B: Items):
        self.kernel = kernel
        self.shares = kernel.mu * kernel.eta > 0
        self.rows = kernel.slots(A)
        self.columns = self.rows if A is B else kernel.slots(B)
        self.words = None if kernel.words_ is None else kernel.words_(A, None if A is B else B)
        self.left = _Places(A, self.rows)
        self.right = self.left if A is B else _Places(B, self.columns)

    def apply(self, D: Array) -> Array:
        """Strip by strip."""
        D = D[self.right.order]
        out = np.zeros((self.rows.size, D.shape[1]))
        for rows, columns, strip in self._strips():
            out[rows] = strip @ D[columns]
        return out

    def matrix(self) -> Array:
        """All strips, each in its place."""
        G = np.zeros((self.rows.size, self.columns.size))
        for rows, columns, strip in self._strips():
            G[np.ix_(rows, self.right.order[columns])] = strip
        return G

    def parts(self) -> Iterable[tuple[np.ndarray, Array]]:
        """The places, where they are kept apart."""
        if self.shares:
            return super().parts()
        return (
            (self.left.at(p), self._apart(self.left.at(p), self.right.span(p)))
            for p in range(self.rows.width)
            if self.left.at(p).size
        )

    def _strips(self) -> Iterator[tuple[np.ndarray, slice, np.ndarray]]:
        """Slots of one place, the slots (in order of place) that they go with, and the values."""
        for p in range(self.rows.width):
            ours, own = self.left.at(p), self.right.span(p)
            for part in blocks(len(ours), ROWS) if len(ours) else ():
                if self.shares:
                    yield ours[part], slice(None), self._shared(ours[part], own)
                elif own.stop > own.start:
                    yield ours[part], own, self._apart(ours[part], own)

    def _apart(self, rows: np.ndarray, own: slice) -> np.ndarray:
        strip = self._words(rows, own)
        if self.kernel.mu == 0:
            return strip
        return strip + self.kernel.mu * self._inner(rows, own)

    def _shared(self, rows: np.ndarray, own: slice) -> np.ndarray:
        strip = self._inner(rows, slice(None))
        same = strip[:, own] * self.kernel.mu
        strip *= self.kernel.mu * self.kernel.eta
        strip[:, own] += same
        strip[:, own] += self._words(rows, own)
        return strip

    def _inner(self, rows: np.ndarray, columns: slice) -> np.ndarray:
        return self.kernel.inputs_.inner(self.left.vectors[rows], self.right.sorted[columns])

    def _words(self, rows: np.ndarray, own: slice) -> Any:
        if self.words is None:
            return np.zeros((len(rows), own.stop - own.start))
        theirs = self.columns.owners[self.right.order[own]]
        return self.words[np.ix_(self.rows.owners[rows], theirs)]


class _Places:
    """The vectors of a batch slot by slot, and their order by place."""

    def __init__(self, A: Items, slots: Slots):
        assert slots.live is not None
        filled = [a[: slots.width] for a in A if len(a)]
        self.vectors = np.concatenate(filled) if filled else np.zeros((0, 1))
        place = slots.live % slots.width
        self.order = np.argsort(place, kind="stable")
        self.sorted = self.vectors[self.order]
        self.starts = np.searchsorted(place[self.order], np.arange(slots.width + 1))

    def span(self, p: int) -> slice:
        """The slots of a place, in order of place."""
        return slice(int(self.starts[p]), int(self.starts[p + 1]))

    def at(self, p: int) -> np.ndarray:
        """The same as positions in the batch."""
        return self.order[self.span(p)]
