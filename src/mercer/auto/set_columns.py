"""Prediction sets as columns of a table, written as the training outputs are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .outputs import ARRAYS, Outputs


def set_columns(sets: Any, outputs: Outputs) -> dict[str, Any]:
    """What `predict_set` gives, by the name of the column.

    Numbers, curves and images have a lower and an upper end. Of label sets there are the labels
    that all sets in the list have, and those that some have. Other outputs are listed.
    """
    if outputs.kind_ in ARRAYS:
        return _both(("lower", "upper"), sets, outputs)
    if outputs.kind_ == "labels":
        ends = [_common(some) for some in sets], [_all(some) for some in sets]
        return _both(("surely", "possibly"), ends, outputs)
    written = [outputs.space_.write(some) for some in sets]
    return {
        f"set of {name}": [_distinct(cells[name]) for cells in written] for name in outputs.columns_
    }


def _both(names: tuple[str, str], ends: Sequence, outputs: Outputs) -> dict[str, Any]:
    return {
        f"{name} {column}": cells
        for name, items in zip(names, ends, strict=True)
        for column, cells in outputs.space_.write(items).items()
    }


def _common(sets: list) -> Any:
    if isinstance(sets[0], np.ndarray):
        return np.min(sets, axis=0)
    return [label for label in sets[0] if all(label in other for other in sets)]


def _all(sets: list) -> Any:
    if isinstance(sets[0], np.ndarray):
        return np.max(sets, axis=0)
    return sorted({label for some in sets for label in some}, key=str)


def _distinct(cells: Any) -> list:
    plain = [cell.tolist() if isinstance(cell, np.ndarray | np.generic) else cell for cell in cells]
    return list({repr(cell): cell for cell in plain}.values())
