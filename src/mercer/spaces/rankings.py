"""Rankings as cells: ranks, orders such as ``pear > fig = plum``, lists, or one column a place."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from itertools import permutations
from typing import Any, ClassVar

import numpy as np

from .._arrays import Items, host, refuse_empty, refuse_masked
from ..cells import Table
from ..cells.table import Name
from ..cells.values import numbers, refused
from .base import Space

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
    DECODERS: ClassVar = {
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


BETTER = (">", "≻")
BETWEEN = (*BETTER, ";", "|", ",", " ")
"""What may stand between labels in order, best first."""


def order_of(cell: Any, between: str | None) -> list[list[str]] | None:
    """The labels that a cell ranks, best first, those of equal rank together; None for no ranking.

    Parameters
    ----------
    cell
        A text, a list of labels, or a JSON list of them.
    between
        What stands between labels in a text.
    """
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            return None
    if isinstance(cell, str):
        parts = cell.split(between) if between and between != " " else cell.split()
        ties = between in BETTER
        order = [[one.strip() for one in (p.split("=") if ties else [p])] for p in parts]
    elif isinstance(cell, list | tuple) and all(isinstance(a, str | int) for a in cell):
        order = [[str(label).strip()] for label in cell]
    else:
        return None
    labels = [label for tied in order for label in tied]
    return order if len(set(labels)) == len(labels) > 1 and all(labels) else None


def separator_of(cells: Sequence[Any]) -> str | None:
    """What stands between labels in cells that all rank the same ones in some order; else None."""
    texts = [cell for cell in cells if isinstance(cell, str)]
    if any(text.lstrip().startswith("[") for text in texts):
        return None
    for between in BETWEEN:
        if texts and all(between in text.strip() for text in texts) and ranks_alike(cells, between):
            return between
    return None


def ranks_alike(cells: Sequence[Any], between: str | None) -> bool:
    """Whether all cells rank the same labels, three or more unless by a sign, in several orders."""
    orders = [order_of(cell, between) for cell in cells]
    sets = {frozenset(a for tied in order for a in tied) for order in orders if order is not None}
    if None in orders or len(sets) != 1:
        return False
    if between in BETTER:
        return True
    return len(next(iter(sets))) > 2 and len({repr(order) for order in orders}) > 1


def places(table: Table, names: Sequence[Name]) -> list[list[str]] | None:
    """Rows of labels where column j holds the label of place j; None where they are no rankings."""
    columns = [table.columns[name] for name in names]
    if len(names) < 3 or any(isinstance(cells, np.ndarray) for cells in columns):
        return None
    rows = [[str(cell).strip() for cell in row] for row in zip(*columns, strict=True)]
    same = len({frozenset(row) for row in rows}) == 1 and not all(a.isdecimal() for a in rows[0])
    return rows if same and len(set(rows[0])) == len(names) else None


def ranked(order: Sequence[Sequence[str]], labels: Sequence[str]) -> list[int] | None:
    """The rank of each label from 0; None where the order is one of other labels."""
    rank, found = 0, {}
    for tied in order:
        found.update(dict.fromkeys(tied, rank))
        rank += len(tied)
    return [found[label] for label in labels] if sorted(found) == sorted(labels) else None


def no_ranking(
    table: Table, i: int, name: Name, cell: Any, labels: Sequence[str] = ()
) -> Exception:
    """What is wrong with a cell."""
    why = f"does not rank {', '.join(labels)}"[:80] if labels else "is no ranking: write it as"
    return refused(table, i, name, f"{cell!r:.60} {why}{'.' if labels else ' pear > fig > plum.'}")
