"""Rankings as cells: ranks, orders such as ``pear > fig = plum``, lists, or one column a place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..cells import Table
from ..cells.table import Name
from ..cells.values import refused

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
