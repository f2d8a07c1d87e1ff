"""Guesses of the kind of a column from its cells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..._base.arrays import is_networkx
from ...estimators.default_kernels import SMOOTH
from ..tables.bad_table import BadTable
from ..tables.columns import Column, is_numeric, numbers
from ..tables.table import Name, Table
from .labels import label_separator
from .rankings import BETTER, labels_by_rank, rank_few_labels, rank_same_labels, ranking_separator

EXAMINED_ROWS = 200
"""The number of rows that a guess examines, evenly spaced in the table."""
CATEGORIES = 50
"""A column of text with at most this many values, each of them several times, is a category."""
WORDS_OF_A_TEXT = 1.5
"""Texts with more blanks than this on average are not categories, even if they repeat."""
FEW_CLASSES = 20
"""An output column with at most this many distinct integers or words is a class."""
INTEGER = re.compile(r"[+\-−]?\d+")
INPUT_KINDS = ("number", "category", "text", "labels", "smiles", "graph", "nothing")


def input_kind(table: Table, name: Name) -> str:
    """Guess the kind of an input column from its cells, such as "number" or "text"."""
    column = Column.of(table, name)
    if not len(column.cells) or _is_row_counter(name, column.cells):
        return "nothing"
    if column.is_numeric:
        return "number"
    column.refuse_mixed()
    sample = _sample_cells(column.cells)
    kind = _kind_of_cells(sample, output=False)
    if kind != "text":
        return kind
    if np.mean([str(cell).count(" ") for cell in sample]) >= WORDS_OF_A_TEXT:
        return "text"
    return "category" if _has_few_values(column.cells, CATEGORIES) else "text"


def common_kind(table: Table, names: Sequence[Name]) -> str | None:
    """Guess the common kind of output columns, such as "ranking"; None if their kinds differ."""
    if len(names) == 1:
        return output_kind(table, names[0])
    if all(is_numeric(table, name) for name in names):
        return _kind_of_numbers(table.filled(names, drop=True), names)
    return "ranking" if labels_by_rank(_sample_rows(table), names) else None


def output_kind(table: Table, name: Name) -> str:
    """Guess the kind of an output column, such as "ranking"."""
    cells = table.columns[name]
    if isinstance(cells, np.ndarray) and cells.ndim > 2:
        return "image"
    column = Column.of(table, name)
    if not len(column.cells):
        return "text"
    if column.is_numeric:
        return _kind_of_numbers(without_empty_cells(table, name), [name])
    column.refuse_mixed()
    kind = _kind_of_cells(_sample_cells(column.cells), output=True)
    if kind != "text":
        return kind
    return "class" if _has_few_values(column.cells, FEW_CLASSES) else "text"


def with_guesses(table: Table, names: Sequence[Name], chosen: dict[Any, str]) -> dict[Name, str]:
    """Return the kind of each output column: the one in `chosen`, or else a guess."""
    return {name: chosen.get(name) or output_kind(table, name) for name in names}


def _has_few_values(cells: Any, most: int) -> bool:
    """Return whether cells have few distinct values, as classes and categories have.

    At most `most` values with five cells each on average are few, and so are two values.
    """
    distinct = len({str(cell).strip() for cell in cells})
    return distinct <= max(2, min(most, len(cells) // 5))


def without_empty_cells(table: Table, name: Name) -> Table:
    """Return a table of column `name` alone, without the rows in which it is empty."""
    alone = replace(table, columns={name: table.columns[name]})
    empty = set(table.empty(name))
    if not empty:
        return alone
    return alone.rows([i for i in range(len(table)) if i not in empty])


def _sample_cells(cells: Any) -> list:
    """Return at most `EXAMINED_ROWS` evenly spaced cells."""
    return [cells[i] for i in _sample_indices(len(cells))]


def _sample_rows(table: Table) -> Table:
    """Return a table of at most `EXAMINED_ROWS` evenly spaced rows."""
    return table if len(table) <= EXAMINED_ROWS else table.rows(_sample_indices(len(table)))


def _sample_indices(n: int) -> np.ndarray:
    """Return at most `EXAMINED_ROWS` evenly spaced indices between 0 and n - 1."""
    return np.arange(n) if n <= EXAMINED_ROWS else np.linspace(0, n - 1, EXAMINED_ROWS).astype(int)


def _is_row_counter(name: Name, cells: Any) -> bool:
    """Return whether the first column has no name, and increasing integers, as an index has.

    It does not count from 0 or 1 if rows were left out.
    """
    if not isinstance(name, str) or not name.startswith("Unnamed: 0"):
        return False
    texts = [str(cell).strip() for cell in cells]
    counts = [int(text) for text in texts if text.isdecimal() and len(text) < 19]
    return len(counts) == len(texts) and all(np.diff(counts) > 0)


def _kind_of_numbers(table: Table, names: Sequence[Name]) -> str:
    """Guess the common kind of numeric output columns, such as "class", "ranking" or "curve"."""
    try:
        rows = numbers(_sample_rows(table), list(names))
    except BadTable:
        return "number"  # ragged or not finite: reading it says so
    width = rows.shape[1]
    if width == 1:
        is_class = Column.of(table, names[0]).is_truth or _is_class(table.columns[names[0]])
        return "class" if is_class else "number"
    if width >= 3 and _are_rankings(rows):
        return "ranking"
    if np.isin(rows, (0, 1)).all():
        return "labels"
    return "curve" if width >= 16 and _are_smooth(rows) else "number"


def _is_class(cells: Any) -> bool:
    """Return whether numeric cells are class labels: few distinct values, all integers."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "b":
        return True
    if isinstance(cells, np.ndarray):
        whole = cells.dtype.kind in "iu"
    else:
        whole = all(isinstance(c, bool) or INTEGER.fullmatch(str(c).strip()) for c in cells)
    return whole and _has_few_values(cells, FEW_CLASSES)


def _are_rankings(rows: np.ndarray) -> bool:
    """Return whether each row is a permutation of the ranks 0, 1, … or 1, 2, …."""
    ordered = np.sort(rows, axis=1)
    steps = np.arange(rows.shape[1])
    return any(bool((ordered == steps + first).all()) for first in (0, 1))


def _are_smooth(rows: np.ndarray) -> bool:
    """Return whether neighbouring columns are correlated, as the values of a curve are."""
    centred = rows - rows.mean(axis=0)
    left, right = centred[:, :-1].ravel(), centred[:, 1:].ravel()
    size = np.sqrt((left**2).sum() * (right**2).sum())
    return bool(size > 0 and left @ right / size > SMOOTH)


def _kind_of_cells(cells: list[Any], output: bool) -> str:
    """Guess the kind of a column from cells that are not numbers; "text" if nothing else fits."""
    if all(is_networkx(cell) for cell in cells):
        return "graph"
    if any(isinstance(cell, list | tuple | set | frozenset | np.ndarray) for cell in cells):
        return "ranking" if output and rank_same_labels(cells, None) else "labels"
    texts = [str(cell).strip() for cell in cells]
    if all(text.startswith("[") and text.endswith("]") and '"' in text for text in texts):
        return "ranking" if output and rank_same_labels(texts, None) else "labels"
    if output and (ranking_separator(texts) or any(rank_few_labels(texts, b) for b in BETTER)):
        return "ranking"
    separator = label_separator(texts)
    if separator is not None and (output or separator != ","):
        return "labels"
    return "smiles" if _are_smiles(texts) else "text"


def _are_smiles(texts: list[str]) -> bool:
    """Return whether rdkit parses all texts, and at least half have rings, bonds or branches."""
    if find_spec("rdkit") is None or any(" " in text or not text for text in texts):
        return False
    if sum(any(c in text for c in "=#()[]123") for text in texts) < 0.5 * len(texts):
        return False
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        return all(Chem.MolFromSmiles(text) is not None for text in texts)
