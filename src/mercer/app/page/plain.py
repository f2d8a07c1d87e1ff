"""Conversion of values to types that JSON supports."""

from __future__ import annotations

import json
from typing import Any

import numpy as np


def to_json_types(value: Any) -> Any:
    """Convert a value to types that JSON supports; NaN and infinite numbers become None."""
    return json.loads(json.dumps(value, default=_to_json_type), parse_constant=lambda name: None)


def _to_json_type(value: Any) -> Any:
    """Convert a value that JSON does not support: arrays and sets to lists, others to text."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return sorted(map(str, value)) if isinstance(value, set | frozenset) else str(value)
