"""What columns hold, read off their cells: the one place that tells kinds of columns apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..cells import MISSING, BadTable, Table
from ..cells.table import Name
from ..cells.values import is_numeric, numbers, refuse_mixed
from ..spaces.label_sets import label_separator
from ..spaces.rankings import BETTER, places, ranks_alike, separator_of

LOOK = 200
"""Rows that a guess looks at, spread over the table."""
SMOOTH = 0.8
"""Neighbouring values of a curve correlate at least this much."""
CATEGORIES = 50
"""A column of text with at most this many values, each of them several times, is a category."""
SENTENCE = 1.5
"""Blanks that texts have on average which are no categories, even if they come again."""
FEW = 20
"""Distinct whole numbers or words up to which one output column is a class."""
INPUTS = ("number", "category", "text", "labels", "smiles", "graph", "nothing")
OUTPUTS = (
    "number", "curve", "image", "labels", "class", "ranking", "text", "smiles", "graph",
)  # fmt: skip


def input_kind(table: Table, name: Name) -> str:
    """What a column of inputs holds."""
    cells = table.columns[name]
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "biufM":
        return "number"
    table = known(table, name)
    if not len(table) or _counts_rows(table, name):
        return "nothing"
    some = _some(table)
    if is_numeric(some, name) and is_numeric(table, name):
        return "number"
    refuse_mixed(table, [name])
    found = _of_cells(list(some.columns[name]), output=False)
    if found != "text":
        return found
    if np.mean([str(cell).count(" ") for cell in some.columns[name]]) >= SENTENCE:
        return "text"
    return "category" if _are_few(table, name, CATEGORIES) else "text"


def output_kind(table: Table, names: Sequence[Name]) -> str:
    """What output columns hold together."""
    cells = table.columns[names[0]]
    if len(names) == 1:
        if isinstance(cells, np.ndarray) and cells.ndim > 2:
            return "image"
        table = known(table, names[0])
    if not len(table):
        return "text"
    some = _some(table)
    if all(is_numeric(some, name) for name in names):
        return _of_numbers(table, some, names)
    if len(names) > 1:
        return "ranking" if places(some, names) else "number"
    refuse_mixed(some, names)
    found = _of_cells(list(some.columns[names[0]]), output=True)
    if found != "text":
        return found
    return "class" if _are_few(table, names[0], FEW) else "text"


def _are_few(table: Table, name: Name, most: int) -> bool:
    """Whether a column has few values, each of them several times."""
    distinct = len({str(cell).strip() for cell in table.columns[name]})
    return distinct <= max(2, min(most, len(table) // 5))


def known(table: Table, name: Name) -> Table:
    """The one column, without its empty cells."""
    alone = replace(table, columns={name: table.columns[name]})
    empty = set(alone.empty(name))
    return alone.rows([i for i in range(len(table)) if i not in empty]) if empty else alone


def with_numbers(table: Table) -> Table:
    """Make cells such as "NA" of columns that hold numbers otherwise empty.

    Text in a table from Python may be a name, such as that of Namibia; in a file `Table.missing`
    says what it is.
    """
    columns = {name: _gaps(cells) for name, cells in table.columns.items()}
    return replace(table, columns=columns, missing=("",))


def _gaps(cells: Any) -> Any:
    if isinstance(cells, np.ndarray) or not any(isinstance(cell, str) for cell in cells[:LOOK]):
        return cells
    holes = [isinstance(c, str) and c.strip().lower() in MISSING for c in cells]
    if not any(holes):
        return cells
    kept = [c for c, hole in zip(cells, holes, strict=True) if not hole and c is not None]
    if not kept or not is_numeric(Table("", {0: kept}, range(len(kept))), 0):
        return cells
    return [None if hole else c for c, hole in zip(cells, holes, strict=True)]


def _some(table: Table) -> Table:
    n = len(table)
    return table if n <= LOOK else table.rows(np.linspace(0, n - 1, LOOK).astype(int))


def _counts_rows(table: Table, name: Name) -> bool:
    """Whether a column without a name counts the rows: the index that pandas writes."""
    unnamed = isinstance(name, str) and name.startswith(("column ", "Unnamed: "))
    cells = [str(cell).strip() for cell in table.columns[name]] if unnamed else []
    return bool(cells) and any(
        cells == [str(i + first) for i in range(len(cells))] for first in (0, 1)
    )


def _of_numbers(table: Table, some: Table, names: Sequence[Name]) -> str:
    try:
        rows = numbers(some, list(names))
    except BadTable:
        return "number"  # ragged or not finite: reading it says so
    width = rows.shape[1]
    if width == 1:
        return "class" if _is_class(table, names[0]) else "number"
    if width >= 3 and _are_rankings(rows):
        return "ranking"
    if np.isin(rows, (0, 1)).all():
        return "labels"
    return "curve" if width >= 16 and _are_smooth(rows) else "number"


def _is_class(table: Table, name: Name) -> bool:
    """Whether one column of numbers has few values, all whole."""
    cells = table.columns[name]
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "b":
        return True
    if isinstance(cells, np.ndarray):
        whole = cells.dtype.kind in "iu"
    else:
        whole = all(isinstance(cell, bool) or str(cell).strip().isdecimal() for cell in cells)
    return whole and _are_few(table, name, FEW)


def _are_rankings(rows: np.ndarray) -> bool:
    ordered = np.sort(rows, axis=1)
    steps = np.arange(rows.shape[1])
    return any(bool((ordered == steps + first).all()) for first in (0, 1))


def _are_smooth(rows: np.ndarray) -> bool:
    centred = rows - rows.mean(axis=0)
    left, right = centred[:, :-1].ravel(), centred[:, 1:].ravel()
    size = np.sqrt((left**2).sum() * (right**2).sum())
    return bool(size > 0 and left @ right / size > SMOOTH)


def _of_cells(cells: list[Any], output: bool) -> str:
    """What cells hold that are no numbers: "text" where they are nothing else."""
    if all(_is_graph(cell) for cell in cells):
        return "graph"
    if any(isinstance(cell, list | tuple | set | frozenset | np.ndarray) for cell in cells):
        return "ranking" if output and ranks_alike(cells, None) else "labels"
    texts = [str(cell).strip() for cell in cells]
    if all(text.startswith("[") and text.endswith("]") and '"' in text for text in texts):
        return "ranking" if output and ranks_alike(texts, None) else "labels"
    between = separator_of(texts) if output else None
    if output and (between is not None or any(all(b in t for t in texts) for b in BETTER)):
        return "ranking"
    separator = label_separator(texts)
    if separator is not None and (output or separator != ","):
        return "labels"
    return "smiles" if _are_smiles(texts) else "text"


def _is_graph(cell: Any) -> bool:
    return hasattr(cell, "nodes") and hasattr(cell, "adjacency")


def _are_smiles(texts: list[str]) -> bool:
    """Only what chemistry software reads, and what has the look of it: rings, bonds, branches."""
    if find_spec("rdkit") is None or any(" " in text or not text for text in texts):
        return False
    if sum(any(c in text for c in "=#()[]123") for text in texts) < 0.5 * len(texts):
        return False
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        return all(Chem.MolFromSmiles(text) is not None for text in texts)
