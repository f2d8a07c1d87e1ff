"""Slots: groups of output components of an item that a kernel treats alike."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._base.arrays import Array, like, namespace, put, take


@dataclass(frozen=True)
class Slots:
    """The output components of a batch, grouped into slots that a kernel treats alike.

    Each of n items has `width` slots of `repeats` components; the kernel couples slots, and acts
    on the components of a slot alike (the letters that could stand at a position, say). Component
    c of an item is component c % repeats of slot c // repeats.

    Attributes
    ----------
    n, width, repeats : int
        Items, slots of an item, components of a slot.
    live : array or None
        The slots that exist, as positions in the n · width slots; None for all of them.

    Examples
    --------
    >>> from mercer.operators import Slots
    >>> slots = Slots(n=2, width=3)
    >>> slots.size, slots.owners, slots.positions
    (6, array([0, 0, 0, 1, 1, 1]), array([0, 1, 2, 0, 1, 2]))
    """

    n: int
    width: int
    repeats: int = 1
    live: np.ndarray | None = None

    @property
    def size(self) -> int:
        """The number of slots (groups of output components) of the batch."""
        return self.n * self.width if self.live is None else len(self.live)

    def like(self, other: Slots) -> bool:
        """Return whether another `Slots` object describes the same slots."""
        alike = (self.n, self.width, self.repeats) == (other.n, other.width, other.repeats)
        none = self.live is None and other.live is None
        return alike and (none or np.array_equal(self.live, other.live))  # type: ignore[arg-type]

    def by_component(self) -> Slots:
        """Return the slots of the same batch with one slot for each output component."""
        return Slots(self.n, self.width * self.repeats)

    @cached_property
    def owners(self) -> np.ndarray:
        """The index of the item that each slot belongs to."""
        every = np.repeat(np.arange(self.n), self.width)
        return every if self.live is None else every[self.live]

    def of_items(self, items: np.ndarray) -> np.ndarray:
        """Return the indices of the slots (groups of components) of given items, item by item."""
        if self.live is None:
            return (np.asarray(items)[:, None] * self.width + np.arange(self.width)).reshape(-1)
        order = np.argsort(self.owners, kind="stable")
        bounds = np.searchsorted(self.owners[order], [items, np.asarray(items) + 1])
        return np.concatenate([order[start:stop] for start, stop in bounds.T])

    @cached_property
    def positions(self) -> np.ndarray:
        """The position of each slot among the slots of its item, from 0 to width - 1."""
        return (np.arange(self.n * self.width) if self.live is None else self.live) % self.width

    def means(self, D: Array, weights: np.ndarray | None = None) -> Array:
        """Return for each position the mean over items of the rows of D (one row for each slot).

        `weights` has one weight for each slot. The shape of the result is (width, any).
        """
        xp = namespace(D)
        if self.live is None and weights is None:
            return xp.mean(xp.reshape(D, (self.n, self.width, -1)), axis=0)
        member = np.eye(self.width)[:, self.positions]  # (width, size)
        member = like(member if weights is None else member * weights, D)
        counts = xp.sum(member, axis=1)
        return (member @ D) / xp.where(counts > 0, counts, xp.ones_like(counts))[:, None]

    def split(self, C: Array) -> Array:
        """Reshape output components, (n, width · repeats), to one row per slot, (size, repeats)."""
        D = namespace(C).reshape(C, (self.n * self.width, self.repeats))
        return D if self.live is None else take(D, self.live)

    def join(self, D: Array) -> Array:
        """Reshape one row per slot to output components, with zeros at missing slots."""
        if self.live is not None:
            D = put(like(np.zeros((self.n * self.width, D.shape[1])), D), self.live, D)
        return namespace(D).reshape(D, (self.n, self.width * D.shape[1]))
