"""Conversion of values to types that JSON supports."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ...tables import BadTable, Option


def sentence_of(problem: Exception) -> str:
    """Return the message of an error, with those ways out that the page has."""
    return problem.worded(_page_words) if isinstance(problem, BadTable) else str(problem)


def _page_words(option: Option) -> str | None:
    """Return what the page calls an option; None for one that it does not have."""
    words = {"drop_missing": "leave such rows out", "kind": "choose another kind for it"}
    return words.get(option.name)


def to_json_types(value: Any) -> Any:
    """Convert a value to types that JSON supports; NaN and infinite numbers become None."""
    return json.loads(json.dumps(value, default=_to_json_type), parse_constant=lambda name: None)


def _to_json_type(value: Any) -> Any:
    """Convert a value that JSON does not support: arrays and sets to lists, others to text."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return sorted(map(str, value)) if isinstance(value, set | frozenset) else str(value)
