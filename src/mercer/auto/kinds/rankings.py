"""Rankings as cells: ranks, orders such as ``pear > fig = plum``, lists, or a column per rank."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._base.arrays import Items
from ...decoders import Borda, Decoder
from ...spaces import Rankings
from ..pictures import Picture, ranking
from ..tables.bad_table import BadTable
from ..tables.columns import numbers
from ..tables.table import Name, Table
from .base import Comparison, Kind, Rows

BETTER = (">", "≻")
RANKING_SEPARATORS = (*BETTER, ";", "|", ",", " ")
"""Signs that may separate the labels of a ranking, best label first."""
EXACT_RANKINGS = 10
"""The exact best ranking is found for at most this many labels; each one doubles the time."""
Order = list[list[str]]
"""Labels, best first, those of equal rank together."""


class RankingKind(Kind):
    """Rankings of one set of labels, perhaps with labels missing.

    Attributes
    ----------
    labels_
        The labels; None where cells hold ranks.
    separator_
        What separates labels in a cell, if anything.
    first_
        The best rank: 0 or 1.
    n_labels_
        The number of labels.
    """

    kind_ = "ranking"
    metric_name = "Kendall tau"
    has_linear_average = has_pictures = True
    space = Rankings()

    @property
    def needs_parsing(self) -> bool:
        """Whether a cell holds a complete ranking as text or a list."""
        return self.labels_ is not None and len(self.columns_) == 1

    def fit_cells(self, table: Table) -> np.ndarray:
        """Determine how cells write rankings, and return the ranks of the training rows."""
        names = self.columns_
        self.labels_: list[str] | None = None
        cells = table.columns[names[0]]
        self.separator_ = ranking_separator(cells) if len(names) == 1 else None
        by_place = labels_by_rank(table, names)
        if by_place is not None:
            self.labels_ = sorted(by_place[0])
        elif len(names) == 1 and not isinstance(cells, np.ndarray):
            self.separator_ = self.separator_ or next(
                (b for b in BETTER if b in str(cells[0])), None
            )
            labels = self._all_labels(table, names[0])
            if self.separator_ in BETTER or not all(label.isdecimal() for label in labels):
                self.labels_ = labels
        if self.labels_ is None:
            ranks = self._raw_ranks(table)
            self.first_ = int(ranks[ranks >= 0].min(initial=1))
        else:
            self.first_ = 0
        rows = self.read_cells(table)
        self.n_labels_ = rows.shape[1]
        return rows

    def _all_labels(self, table: Table, name: Name) -> list[str]:
        """Return all labels that occur in a column of rankings, in alphabetical order."""
        labels: set[str] = set()
        for i, cell in enumerate(table.columns[name]):
            order = parse_ranking(cell, self.separator_)
            if order is None:
                raise _ranking_error(table, i, name, cell)
            labels |= {label for tied in order for label in tied}
        return sorted(labels)

    def _raw_ranks(self, table: Table) -> np.ndarray:
        """Return the ranks, (rows, labels), in columns that hold ranks rather than labels."""
        names = table.names(self.columns_)
        if self.separator_ in (None, " "):
            return numbers(table, names)
        cells = table.columns[names[0]]
        orders = [parse_ranking(cell, self.separator_) or [] for cell in cells]
        rows = [[float(a) for (a,) in order if a.isdecimal()] for order in orders]
        bad = [i for i, row in enumerate(rows) if not row or len(row) != len(rows[0])]
        if bad:
            raise _ranking_error(table, bad[0], names[0], cells[bad[0]])
        return np.array(rows)

    def _checked_ranks(self, table: Table, name: Name) -> np.ndarray:
        """Return the ranks in a table, counted from 0; -1 for missing labels."""
        ranks = self._raw_ranks(table)
        R = np.where(ranks < 0, -1, ranks - self.first_)
        wrong = ((np.round(R) != R) | (R.shape[1] <= R) | (R < -1)).any(axis=1)
        wrong |= (R < 0).all(axis=1)
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            raise _ranking_error(table, i, name, table.columns[name][i])
        return R.astype(int)

    def read_cells(self, table: Table) -> np.ndarray:
        """Return ranks, (rows, labels), from 0 for the best label; -1 for missing labels."""
        names, labels = table.names(self.columns_), self.labels_
        if labels is None:
            return self._checked_ranks(table, names[0])
        cells = [table.columns[name] for name in names]
        rows = []
        for i, row in enumerate(zip(*cells, strict=True)):
            order = [[str(a).strip()] for a in row] if len(names) > 1 else None
            order = order or parse_ranking(row[0], self.separator_)
            if order is None:
                raise _ranking_error(table, i, names[0], row[0])
            ranks = ranks_of_labels(order, labels)
            if ranks is None or (len(names) > 1 and min(ranks) < 0):
                shown = row[0] if len(names) == 1 else " > ".join(map(str, row))
                raise _ranking_error(table, i, names[0], shown, labels)
            rows.append(ranks)
        return np.array(rows)

    def write(self, items: Items) -> dict[Name, Any]:
        """Convert ranks to columns of cells by name, in the format of the training rows."""
        rows = np.asarray(items).astype(int)
        if self.labels_ is None:
            rows = np.where(rows < 0, -1, rows + self.first_)
            if len(self.columns_) > 1:
                return {n: rows[:, j] for j, n in enumerate(self.columns_)}
            joined = [self.separator_.join(map(str, r)) for r in rows] if self.separator_ else None
            return {self.columns_[0]: joined or list(rows)}
        orders = [self.tied_labels(row) for row in rows]
        if len(self.columns_) > 1:
            flat = [[label for tied in order for label in tied] for order in orders]
            return {n: [order[j] for order in flat] for j, n in enumerate(self.columns_)}
        return {self.columns_[0]: [self._write_cell(order) for order in orders]}

    def unparsed(self, items: Items) -> Items:
        """Return ranks counted like the training ranks."""
        ranks = np.asarray(items)
        return np.where(ranks < 0, -1, ranks + self.first_)

    def decoder(self) -> Decoder | None:
        """Return the decoder by mean ranks for many labels; else the exact default."""
        return Borda() if self.n_labels_ > EXACT_RANKINGS else None

    def other_decoder(self, rows: int, labels: int) -> tuple[str, Decoder] | None:
        """Return the decoder by mean ranks, if rankings are decoded exactly."""
        return None if self.n_labels_ > EXACT_RANKINGS else ("Borda", Borda())

    def label_scores(self, truth: Items, predicted: Items) -> Rows:
        """Return a table of the mean absolute rank error of each label."""
        ranks = np.asarray(truth)
        known = ranks >= 0
        gaps = (np.abs(ranks - np.asarray(predicted)) * known).sum(axis=0) / known.sum(axis=0)
        names = self.label_names(len(gaps))
        return [{"label": str(n), "places off": float(g)} for n, g in zip(names, gaps, strict=True)]

    def description(self, y: Items) -> str:
        """Return the number of labels."""
        return f"orders of {np.shape(y)[1]} labels"

    def notes(self, table: Table, y: Items) -> list[str]:
        """Return a note on rankings that leave labels out."""
        partial = int((np.asarray(y) < 0).any(axis=1).sum())
        note = f"{partial} rankings leave out some labels; predictions rank all of them."
        return [note] if partial else []

    def pictures(self, shown: Comparison) -> list[Picture]:
        """Return the true and the predicted ranking of some rows."""
        names = self.label_names(np.shape(shown.truth)[1])
        pictures = []
        for number, i in shown.numbered:
            orders = [
                [names[j] for j in np.argsort(np.asarray(items)[i], kind="stable")]
                for items in (shown.truth, shown.left_out)
            ]
            pictures.append(ranking(f"row {number}", *orders))
        return pictures

    def tied_labels(self, ranks: Sequence[int]) -> Order:
        """Return lists of labels of equal rank, best first, from the ranks of one row."""
        names = self.label_names(len(ranks))
        levels = sorted({int(rank) for rank in ranks if rank >= 0})
        return [[n for n, r in zip(names, ranks, strict=True) if r == level] for level in levels]

    def label_names(self, width: int) -> list[str]:
        """Return the names of the labels that are ranked; `width` is their number."""
        several = len(self.columns_) == width
        return self.labels_ or [str(c) for c in (self.columns_ if several else range(width))]

    def _write_cell(self, order: Order) -> Any:
        """Return lists of tied labels as one cell: a text with separators, or a list."""
        if self.separator_ in BETTER:
            return f" {self.separator_} ".join(" = ".join(tied) for tied in order)
        flat = [label for tied in order for label in tied]
        return self.separator_.join(flat) if self.separator_ else flat


def parse_ranking(cell: Any, separator: str | None) -> Order | None:
    """Parse a cell into lists of tied labels, best first; None if it is not a ranking.

    Parameters
    ----------
    cell
        A text, a list of labels, or a JSON list of them.
    separator
        What separates labels in a text.
    """
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            return None
    if isinstance(cell, str):
        parts = cell.split(separator) if separator and separator != " " else cell.split()
        ties = separator in BETTER
        order = [[one.strip() for one in (p.split("=") if ties else [p])] for p in parts]
    elif isinstance(cell, list | tuple | np.ndarray) and all(
        isinstance(label, str | int | np.integer) for label in cell
    ):
        order = [[str(label).strip()] for label in cell]
    else:
        return None
    labels = [label for tied in order for label in tied]
    return order if len(set(labels)) == len(labels) > 1 and all(labels) else None


def ranking_separator(cells: Sequence[Any]) -> str | None:
    """Return the separator with which all cells rank the same labels; None if there is none."""
    texts = [cell for cell in cells if isinstance(cell, str)]
    if any(text.lstrip().startswith("[") for text in texts):
        return None
    for separator in RANKING_SEPARATORS:
        if (
            texts
            and all(separator in text.strip() for text in texts)
            and rank_same_labels(cells, separator)
        ):
            return separator
    return None


def rank_same_labels(cells: Sequence[Any], separator: str | None) -> bool:
    """Return whether all cells are rankings of one set of labels, separated by `separator`.

    Unless the separator is a sign such as ">", there must be three labels or more, and two
    different orders.
    """
    orders = [parse_ranking(cell, separator) for cell in cells]
    sets = {frozenset(a for tied in order for a in tied) for order in orders if order is not None}
    if None in orders or len(sets) != 1:
        return False
    if separator in BETTER:
        return True
    return len(next(iter(sets))) > 2 and len({repr(order) for order in orders}) > 1


def rank_few_labels(texts: Sequence[str], separator: str) -> bool:
    """Return whether all texts are rankings of labels that repeat, perhaps with labels left out.

    Text in HTML, or an address such as ``Ann <ann@x.org>``, is not a ranking.
    """
    orders = [parse_ranking(text, separator) if separator in text else None for text in texts]
    labels = [label for order in orders if order for tied in order for label in tied]
    clear = None not in orders and not any("<" in label for label in labels)
    return clear and len(set(labels)) <= len(labels) / 2


def labels_by_rank(table: Table, names: Sequence[Name]) -> list[list[str]] | None:
    """Return the labels of each row, best first, if column j holds the label of rank j."""
    columns = [table.columns[name] for name in names]
    if len(names) < 3 or any(isinstance(cells, np.ndarray) for cells in columns):
        return None
    rows = [[str(cell).strip() for cell in row] for row in zip(*columns, strict=True)]
    same = len({frozenset(row) for row in rows}) == 1 and not all(a.isdecimal() for a in rows[0])
    return rows if same and len(set(rows[0])) == len(names) else None


def ranks_of_labels(order: Order, labels: Sequence[str]) -> list[int] | None:
    """Return the rank of each label, -1 if not in `order`; None if `order` has unknown labels."""
    rank, rank_by_label = 0, {}
    for tied in order:
        rank_by_label.update(dict.fromkeys(tied, rank))
        rank += len(tied)
    return (
        [rank_by_label.get(label, -1) for label in labels]
        if set(rank_by_label) <= set(labels)
        else None
    )


def _ranking_error(
    table: Table, i: int, name: Name, cell: Any, labels: Sequence[str] = ()
) -> BadTable:
    """Return the error that cell i of column `name` is not a ranking of the labels."""
    if labels:
        why = f"does not rank {', '.join(labels)}"[:80]
        return table.refused(i, name, f"{cell!r:.60} {why}", "fix the cell", "leave the row out")
    return table.refused(
        i, name, f"{cell!r:.60} is not a ranking", "write it like pear > fig > plum"
    )
