from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from .._arrays import Items, host, refuse_empty, refuse_masked
from ..cells import Table
from ..cells.table import Name
from ..cells.values import numbers
from ._ranking_cells import BETTER, no_ranking, order_of, places, ranked, separator_of
from .base import Space, first_named, resolve

FEW = 6
"""Labels whose rankings are written down, 720 at most."""


class Rankings(Space):
    """Rows of ranks, one column a label, 0 the best; equal ranks are ties, negative ones missing.

    Examples
    --------
    >>> from mercer.spaces import Rankings
    >>> Rankings().check([[0, 1, 2], [1, 0, -1]])
    array([[ 0,  1,  2],
           [ 1,  0, -1]])
    """

    name = "rankings"
    KERNEL = "kernels.Kendall"
    METRIC = "metrics.kendall_tau"
    DECODERS = {
        "Kendall": "decoders.Kemeny",
        "Spearman": "decoders.Borda",
        "Hamming": "decoders.Assignment",
    }

    def check(self, A: Items, name: str = "y") -> np.ndarray:
        """The ranks as they are, in an array."""
        as_rankings(A, name)
        return host(A) if hasattr(A, "shape") else np.array([list(row) for row in A])

    def key(self, item: Any) -> Hashable:
        """The ranks, whatever their type."""
        return tuple(np.where(np.asarray(item, dtype=float) >= 0, item, -1).tolist())

    def every(self, sample: Items) -> np.ndarray | None:
        """All orders of few labels; None where the sample has ties or labels that are missing."""
        ranks = np.asarray(sample)
        m = ranks.shape[1]
        whole = (np.sort(ranks, axis=1) == np.arange(m)).all()
        if m > FEW or not whole:
            return None
        return np.array(list(permutations(range(m))), dtype=ranks.dtype)

    def decoder(self, kernel: Any) -> Any:
        """The one that is exact for the kernel; the best training ranking for others."""
        exact = first_named(kernel.multiple.kernel, self.DECODERS)
        return resolve(self.DECODER)() if exact is None else exact

    def learn(self, table: Table, names: Sequence[Name]) -> np.ndarray:
        """Ranks from 0; whether cells are ranks, orders or places, and the labels, are kept."""
        self.columns_ = list(names)
        self.labels_: list[str] | None = None
        cells = table.columns[names[0]]
        self.between_ = separator_of(cells) if len(names) == 1 else None
        by_place = places(table, names)
        if by_place is not None:
            self.labels_ = sorted(by_place[0])
        elif len(names) == 1 and not isinstance(cells, np.ndarray):
            self.between_ = self.between_ or next((b for b in BETTER if b in str(cells[0])), None)
            order = order_of(cells[0], self.between_)
            if order is None:
                raise no_ranking(table, 0, names[0], cells[0])
            labels = sorted(label for tied in order for label in tied)
            if self.between_ in BETTER or not all(label.isdecimal() for label in labels):
                self.labels_ = labels
        self.first_ = 0 if self.labels_ else int(self._ranks(table).min())
        return self.read(table)

    def _ranks(self, table: Table) -> np.ndarray:
        """Cells that hold ranks rather than labels, as they are."""
        names = table.names(self.columns_)
        if self.between_ in (None, " "):
            return numbers(table, names)
        cells = table.columns[names[0]]
        orders = [order_of(cell, self.between_) or [] for cell in cells]
        rows = [[float(a) for (a,) in order if a.isdecimal()] for order in orders]
        bad = [i for i, row in enumerate(rows) if not row or len(row) != len(rows[0])]
        if bad:
            raise no_ranking(table, bad[0], names[0], cells[bad[0]])
        return np.array(rows)

    def _from_first(self, table: Table, name: Name) -> np.ndarray:
        """Ranks from 0; refuse what is none."""
        R = self._ranks(table) - self.first_
        wrong = ((np.round(R) != R) | (R.shape[1] <= R) | (R < 0)).any(axis=1)
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            raise no_ranking(table, i, name, table.columns[name][i])
        return R.astype(int)

    def read(self, table: Table) -> np.ndarray:
        """Ranks from 0, the best; one column a label."""
        names, labels = table.names(self.columns_), self.labels_
        if labels is None:
            return self._from_first(table, names[0])
        cells = [table.columns[name] for name in names]
        rows = []
        for i, row in enumerate(zip(*cells, strict=True)):
            order = [[str(a).strip()] for a in row] if len(names) > 1 else None
            order = order or order_of(row[0], self.between_)
            if order is None:
                raise no_ranking(table, i, names[0], row[0])
            ranks = ranked(order, labels)
            if ranks is None:
                raise no_ranking(table, i, names[0], row[0], labels)
            rows.append(ranks)
        return np.array(rows)

    def write(self, items: Items) -> dict[Name, Any]:
        """Ranks, orders or places, as the training cells have them."""
        rows = np.asarray(items).astype(int)
        if self.labels_ is None:
            rows = rows + self.first_
            if len(self.columns_) > 1:
                return {n: rows[:, j] for j, n in enumerate(self.columns_)}
            joined = [self.between_.join(map(str, r)) for r in rows] if self.between_ else None
            return {self.columns_[0]: joined or list(rows)}
        orders = [[self.labels_[j] for j in np.argsort(row, kind="stable")] for row in rows]
        if len(self.columns_) > 1:
            return {n: [order[j] for order in orders] for j, n in enumerate(self.columns_)}
        between = f" {self.between_} " if self.between_ in BETTER else self.between_
        return {self.columns_[0]: [between.join(o) if between else o for o in orders]}


def as_rankings(A: Items, name: str = "X") -> np.ndarray:
    """Validated ranks as float64 rows, NaN where a label is not ranked."""
    R = _matrix(A, name)
    n, m = R.shape
    refuse_empty(n, name)
    if m < 2:
        raise ValueError(f"{name} ranks {m} label(s): a ranking has at least 2.")
    R = np.where(R < 0, np.nan, R)
    high = np.argwhere(m - 1 < R)
    if high.size:
        i, j = high[0]
        raise ValueError(
            f"{name}[{i}] has the rank {R[i, j]:g} among {m} labels: ranks go from 0, the best, to "
            f"{m - 1}, one column a label; equal ranks are ties, negative or NaN is not ranked."
        )
    unranked = np.flatnonzero(np.isnan(R).all(axis=1))
    if unranked.size:
        raise ValueError(f"{name}[{unranked[0]}] ranks no label at all: leave it out.")
    return R


def _matrix(A: Items, name: str) -> np.ndarray:
    refuse_masked(A, name)
    if not hasattr(A, "shape") or np.ndim(A) == 1:
        A = _stacked(A, name)
    if np.ndim(A) != 2:
        raise ValueError(
            f"{name} must hold a row of ranks for each item, got an array of shape {A.shape}."
        )
    try:
        return np.asarray(host(A), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold ranks, which are numbers: {error}.") from error


def _stacked(A: Any, name: str) -> np.ndarray:
    refuse_empty(len(A), name)
    for i, row in enumerate(A):
        if not isinstance(row, list | tuple | np.ndarray):
            raise ValueError(f"{name}[{i}] must be a row of ranks, got {row!r:.60}.")
        if len(row) != len(A[0]):
            raise ValueError(
                f"{name}[{i}] ranks {len(row)} labels, {name}[0] ranks {len(A[0])}: mark labels "
                "that are not ranked by -1."
            )
    return np.array([list(row) for row in A])
