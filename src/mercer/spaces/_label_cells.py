"""Sets of labels as cells: ``sea;sun``, lists, JSON lists, or columns of zeros and ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..cells import Table
from ..cells.table import Name
from ..cells.values import refused

SEPARATORS = {"|": 0.05, ";": 0.05, ",": 0.2}
"""What stands between labels, and the share of cells in which it does; commas do so elsewhere."""
MOVING = 0.2
"""The share of repeated labels that stand at several places where a comma separates labels."""
ON, OFF = ("1", "1.0", "true"), ("0", "0.0", "false")


def label_separator(texts: Sequence[str], certain: bool = False) -> str | None:
    """What separates labels in cells, if anything does: labels come again, and are short.

    `certain` says that the cells hold labels, of which "|" and ";" are no parts.

    A comma does so only if labels move about: in "New York, NY" the state always comes second.
    """
    for separator, share in SEPARATORS.items():
        having = sum(separator in text for text in texts)
        if having and certain and separator != ",":
            return separator
        if not having or having < share * len(texts):
            continue
        split = [[part.strip() for part in text.split(separator)] for text in texts]
        labels = [label for parts in split for label in parts]
        if len(set(labels)) > 0.5 * len(labels) or max(map(len, labels)) > 40:
            return None
        return separator if separator != "," or _move(split) else None
    return None


def _move(split: list[list[str]]) -> bool:
    places: dict[str, set[int]] = {}
    for parts in {tuple(parts) for parts in split}:
        for place, label in enumerate(parts):
            places.setdefault(label, set()).add(place)
    several = sum(len(found) > 1 for found in places.values())
    return several >= max(1.0, MOVING * len(places))


def label_set(table: Table, i: int, name: Name, cell: Any, separator: str | None) -> list[str]:
    """The labels of a cell in order; an empty cell holds none."""
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            raise refused(table, i, name, f"{cell!r:.40} is no list.") from None
    if not isinstance(cell, list | tuple | set | frozenset | np.ndarray):
        if table.is_missing(cell):
            return []
        if isinstance(cell, dict):
            raise refused(table, i, name, f"{cell!r:.40} is no set of labels.")
        parts = str(cell).split(separator) if separator else [str(cell)]
        return sorted({part.strip() for part in parts if part.strip()})
    nested = any(label is None or isinstance(label, list | tuple | dict) for label in cell)
    if nested:
        raise refused(table, i, name, f"{cell!r:.40} is no set of labels, such as "
                      '["sea", "sun"].')  # fmt: skip
    return sorted({str(label) for label in cell})


def indicators(table: Table, names: Sequence[Name]) -> np.ndarray:
    """Columns of zeros and ones as rows of them."""
    return np.concatenate([_indicator(table, name) for name in names], axis=1)


def _indicator(table: Table, name: Name) -> np.ndarray:
    cells = table.columns[name]
    if len(cells) and isinstance(cells[0], np.ndarray) and len({np.shape(c) for c in cells}) == 1:
        cells = np.array(list(cells))
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf":
        rows = cells.reshape(len(cells), -1)
        wrong = ~np.isin(rows, (0, 1)).all(axis=1)
    else:
        texts = [str(cell).strip().lower() for cell in cells]
        rows = np.array([[text in ON] for text in texts])
        wrong = np.array([text not in ON + OFF for text in texts])
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise refused(table, i, name, f"{cells[i]!r:.40} is neither 0 nor 1.")
    return rows.astype(int)
