"""Assertions of the checks, with their tolerances and error messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.arrays import Array, Items, host, take

IDENTITY = 1e-10
"""Relative error of two ways to compute the same number."""
ROOT = 1e-7
"""Relative error where a root of rounding errors is unavoidable."""
DERIVATIVE = 1e-5
"""Relative error of a derivative against a difference quotient."""


def claim(holds: Any, otherwise: str) -> None:
    """Raise an AssertionError with the message `otherwise` unless `holds` is true."""
    if not holds:
        raise AssertionError(otherwise)


def claim_close(a: Array, b: Array, tolerance: float, otherwise: str) -> None:
    """Raise an AssertionError unless two arrays are equal up to an absolute tolerance."""
    a, b = host(a), host(b)
    claim(a.shape == b.shape, f"{otherwise}: shapes {a.shape} and {b.shape}")
    difference = float(np.abs(a - b).max()) if a.size else 0.0
    claim(difference <= tolerance, f"{otherwise}: off by {difference:.3g}")


def claim_near(a: float, b: float, otherwise: str) -> None:
    """Raise an AssertionError unless two numbers agree as well as finite differences can."""
    claim(abs(a - b) <= DERIVATIVE * max(1.0, abs(a), abs(b)), f"{otherwise}: {a:.6g} and {b:.6g}")


def items_at(items: Items, index: list[int]) -> Items:
    """Return the items at the positions `index` of an array or a list."""
    return take(items, index) if hasattr(items, "shape") else [items[i] for i in index]
