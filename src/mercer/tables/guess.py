"""What columns hold, read off their cells."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from .spaces.labels import label_separator
from .table import BadTable, Table
from .values import is_numeric, numbers, refuse_mixed

LOOK = 200
"""Rows that a guess looks at."""
SMOOTH = 0.8
"""Neighbouring values of a curve correlate at least this much."""


def guess(table: Table, names: Sequence[str], output: bool) -> str:
    """The name of the space that some columns hold, as input or as output.

    Examples
    --------
    >>> from mercer.tables import Table
    >>> from mercer.tables.guess import guess
    >>> columns = {"text": ["sunny sea", "rainy hill"] * 6, "tag": ["sun", "rain"] * 6}
    >>> table = Table("a list", columns, lines=range(12))
    >>> guess(table, ["text"], output=False), guess(table, ["tag"], output=True)
    ('text', 'labels')
    """
    table = table.rows(range(min(len(table), LOOK)))
    columns = [table.columns[name] for name in names]
    first = columns[0]
    if len(columns) == 1 and isinstance(first, np.ndarray) and first.ndim > 2:
        return "image"
    if all(is_numeric(table, name) for name in names):
        try:
            return _of_numbers(numbers(table, list(names)), output, len(columns))
        except BadTable:
            return "vector"  # ragged or not finite: reading it says so
    refuse_mixed(table, names)
    if len(columns) > 1:
        return "vector"
    return _of_text(list(first), output)


def _of_numbers(rows: np.ndarray, output: bool, columns: int) -> str:
    width = rows.shape[1]
    if output and width >= 3 and _are_rankings(rows):
        return "ranking"
    if output and width >= 2 and np.isin(rows, (0, 1)).all():
        return "labels"
    if width >= 16 and _are_smooth(rows):
        return "curve"
    return "vector"


def _are_rankings(rows: np.ndarray) -> bool:
    ordered = np.sort(rows, axis=1)
    steps = np.arange(rows.shape[1])
    return any(bool((ordered == steps + first).all()) for first in (0, 1))


def _are_smooth(rows: np.ndarray) -> bool:
    centred = rows - rows.mean(axis=0)
    left, right = centred[:, :-1].ravel(), centred[:, 1:].ravel()
    size = np.sqrt((left**2).sum() * (right**2).sum())
    return bool(size > 0 and left @ right / size > SMOOTH)


def _of_text(cells: list[Any], output: bool) -> str:
    if any(isinstance(cell, list | tuple) for cell in cells):
        return "labels"
    texts = [str(cell).strip() for cell in cells]
    if all(">" in text for text in texts):
        return "ranking"
    if all(text.startswith("[") and text.endswith("]") and '"' in text for text in texts):
        return "labels"
    if output and label_separator(texts):
        return "labels"
    if _are_smiles(texts):
        return "smiles"
    distinct = len(set(texts))
    return "labels" if output and distinct <= max(2, min(20, len(texts) // 5)) else "text"


def _are_smiles(texts: list[str]) -> bool:
    """Only what chemistry software reads, and what has the look of it: rings, bonds, branches."""
    if find_spec("rdkit") is None or any(" " in text or not text for text in texts):
        return False
    if sum(any(c in text for c in "=#()[]123") for text in texts) < 0.5 * len(texts):
        return False
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        return all(Chem.MolFromSmiles(text) is not None for text in texts)
