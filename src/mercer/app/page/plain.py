"""Values as JSON has them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Return a value made of lists, dictionaries, texts and finite numbers; None for the rest."""
    return json.loads(json.dumps(value, default=_simple), parse_constant=lambda name: None)


def _simple(value: Any) -> Any:
    """Return arrays and sets as lists, and other values as text."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return sorted(map(str, value)) if isinstance(value, set | frozenset) else str(value)
