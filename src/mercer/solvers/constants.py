"""The constants that an intercept adds to a fit: one, or one for each output component."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._base.arrays import Array, like, namespace, put, take
from ..operators.slots import Slots


@dataclass(frozen=True)
class Constants:
    """The unit vectors N that an intercept fits, one column for each constant.

    Every row belongs to one constant, that of its output component. There its entry is √w / √(Σw
    over the rows of the constant); its other entries are zero.

    Attributes
    ----------
    slots
        The example and the output component of each row.
    totals
        The sum Σw of each constant over all training data; 0 for a component that never occurs, and
        for all components without an intercept, so that N is zero.
    roots
        √w, the square root of the sample weight of each row; None for ones.
    all_rows
        Whether the rows are those of all training examples, not of a sample of a stream.

    Examples
    --------
    >>> from mercer.operators import Slots
    >>> from mercer.solvers import Constants
    >>> constants = Constants.by_component(Slots(4, 1), weights=None)
    >>> constants.count, constants.new_entries
    (1, array([0.5]))
    """

    slots: Slots
    totals: np.ndarray
    roots: np.ndarray | None = None
    all_rows: bool = True

    @classmethod
    def by_component(
        cls, slots: Slots, weights: np.ndarray | None, intercept: bool = True
    ) -> Constants:
        """Return one constant for each output component; there is one weight for each slot."""
        totals = np.bincount(slots.positions, weights, minlength=slots.width).astype(float)
        return cls(slots, intercept * totals, None if weights is None else np.sqrt(weights))

    @property
    def count(self) -> int:
        """The number of constants that are fitted."""
        return int((self.totals > 0).sum())

    @property
    def new_entries(self) -> np.ndarray:
        """1/√Σw, the entry of each constant at a new input."""
        return np.where(self.totals > 0, self.totals, np.inf) ** -0.5

    def entries(self, index: np.ndarray | slice) -> np.ndarray:
        """Return for each of the rows `index` the entry of N in the column of its component.

        The other entries of the row are zero. This one is too where the component has no constant.
        """
        entries = self.new_entries[self.slots.positions[index]]
        return entries if self.roots is None else self.roots[index] * entries

    def project(self, A: Array) -> Array:
        """Return NNᵀA, the part of the columns of A that the constants fit."""
        rows = np.arange(len(self.slots.positions))
        return like(self.entries(rows)[:, None], A) * self._coefficients_at(rows, A, self.slots)

    def _coefficients_at(self, rows: np.ndarray, A: Array, slots: Slots) -> Array:
        """Return, for each slot, the row of N[rows]ᵀA that belongs to the constant of the slot.

        If there is one constant only, the result is a single row, which broadcasts.
        """
        A = like(self.entries(rows)[:, None], A) * A
        if len(self.totals) == 1:
            return namespace(A).sum(A, axis=0)[None, :]
        return take(self._sums_by_constant(rows[None, :], A[None, :, :]), slots.positions)

    # -- new inputs -----------------------------------------------------------------------------

    def at(self, slots: Slots, A: Array) -> Array:
        """Return the entry 1/√Σw of N for each new row, a column in the library of A."""
        return like(self.new_entries[slots.positions][:, None], A)

    def change(self, slots: Slots, rows: np.ndarray, e: Array) -> Array:
        """Return the change of the constants at new rows if e is added to the targets of `rows`."""
        return self.at(slots, e) * self._coefficients_at(rows, e, slots)

    # -- groups of rows that are left out ---------------------------------------------------------

    def blocks(self, members: np.ndarray, A: Array) -> tuple[Array, Array]:
        """Return the blocks of NNᵀ over groups of rows, and their parts from one-group constants.

        `members` holds the rows of each group, (groups, size). Whether a constant has rows in one
        group only is decided by counting rows: squared entries may sum to almost one because of
        a single large weight.
        """
        components, entries = self.slots.positions[members], like(self.entries(members), A)
        products = entries[:, :, None] * entries[:, None, :]
        same = components[:, :, None] == components[:, None, :]
        products = like(same, A) * products
        alone = same.sum(axis=2) >= self._row_counts[components]
        return products, like(alone[:, :, None], A) * products

    @property
    def _row_counts(self) -> np.ndarray:
        """The number of training rows of each constant; one more if not all rows are known."""
        return np.bincount(self.slots.positions, minlength=len(self.totals)) + (not self.all_rows)

    def solve(self, members: np.ndarray, A: Array) -> Array:
        """Solve (I - N_gN_gᵀ) x = A_g for each group g of rows, without one-group constants."""
        number, width, components = len(members), len(self.totals), self.slots.positions[members]
        entries = self.entries(members)
        constants = (np.arange(number)[:, None] * width + components).reshape(-1)
        mass = np.bincount(constants, (entries**2).reshape(-1), number * width)
        rows = np.bincount(constants, minlength=number * width)
        shared = rows < np.tile(self._row_counts, number)
        gain = np.where(shared, 1.0 / np.where(shared, 1.0 - mass, 1.0), 0.0)
        weights = like(entries[:, :, None], A)
        inner = like(gain[:, None], A) * self._sums_by_constant(members, weights * A)
        return A + weights * namespace(A).reshape(take(inner, constants), A.shape)

    def _sums_by_constant(self, members: np.ndarray, D: Array) -> Array:
        """Return the sums of D for each group and constant, (groups · constants, columns).

        `members` holds the rows of each group, (groups, size), and D has an entry for each of them,
        (groups, size, columns). An example has at most one row for each constant, so that the sums
        are over the examples of a group.
        """
        xp, (number, size, columns), width = namespace(D), D.shape, len(self.totals)
        owners = self.slots.owners[members]
        item = np.cumsum(np.diff(owners, axis=1, prepend=owners[:, :1]) != 0, axis=1)
        items = int(item.max()) + 1
        first = (np.arange(number)[:, None] * items + item) * width
        at = (first + self.slots.positions[members]).reshape(-1)
        rows = xp.reshape(D, (number * size, columns))
        if len(at) < number * items * width:
            rows = put(like(np.zeros((number * items * width, columns)), D), at, rows)
        sums = xp.sum(xp.reshape(rows, (number, items, width, columns)), axis=1)
        return xp.reshape(sums, (number * width, columns))
