"""Conversion of values to types that JSON supports."""

from __future__ import annotations

import json
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Convert a value to types that JSON supports; NaN and infinite numbers become None."""
    return json.loads(json.dumps(value, default=_simple), parse_constant=lambda name: None)


def _simple(value: Any) -> Any:
    """Convert arrays and sets to lists, and other values to text."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return sorted(map(str, value)) if isinstance(value, set | frozenset) else str(value)
