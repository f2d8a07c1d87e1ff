"""Predictions of a fitted `AutoDependency` as JSON that the page can draw."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from .. import AutoDependency

LISTED = 12
"""Members of a set that are named; of the others their number is told."""


def answer_of(model: AutoDependency, row: dict[Any, list]) -> dict:
    """What a model says of one row: the output, the best five, and the set that holds it."""
    kind = model.outputs_.kind_
    output = {str(name): plain(cells[0]) for name, cells in model.predict(row).items()}
    answer: dict[str, Any] = {"kind": kind, "output": output, "coverage": model.coverage}
    if kind in ("number", "curve", "image"):
        if model.coverage is not None:
            low, high = model.predict_set(row)
            answer["band"] = [plain(np.asarray(low)[0]), plain(np.asarray(high)[0])]
        return answer
    try:
        answer["top"] = [[_text(y), plain(score)] for y, score in model.predict_top(row, k=5)[0]]
    except (ValueError, TypeError):
        pass  # a decoder with one answer for each input
    if model.coverage is not None and "sets_" in vars(model):
        members = [_text(y) for y in model.predict_set(row)[0]]
        answer["set"], answer["members"] = members[:LISTED], len(members)
    return answer


def _text(output: Any) -> str:
    value = plain(output)
    return " · ".join(map(str, value)) if isinstance(value, list) else str(value)


def plain(value: Any) -> Any:
    """A value as JSON has it; what is no finite number is None."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
