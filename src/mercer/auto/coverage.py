"""Sets of outputs that hold the true one with a given probability, from left-out errors."""

from __future__ import annotations

from math import ceil
from numbers import Real
from typing import Any

import numpy as np

from .._arrays import Items, host


def check_coverage(coverage: Any, n: int) -> float:
    """A share strictly between 0 and 1 that so many rows can tell."""
    if not isinstance(coverage, Real) or not 0.0 < float(coverage) < 1.0:
        raise ValueError(f"coverage must be a number between 0 and 1, got {coverage!r}.")
    if ceil(float(coverage) * (n + 1)) > n:
        raise ValueError(
            f"{n} rows are too few for coverage {coverage}: need at least "
            f"{ceil(float(coverage) / (1.0 - float(coverage)))}."
        )
    return float(coverage)


def quantile(errors: np.ndarray, coverage: float) -> float:
    """The ⌈coverage (n + 1)⌉-th smallest of n errors."""
    return float(np.sort(errors)[ceil(coverage * (len(errors) + 1)) - 1])


def band(truth: np.ndarray, left_out: np.ndarray, coverage: float) -> np.ndarray:
    """Half the width of a band around every value that holds all of an output at once."""
    errors = np.abs(truth - left_out).reshape(len(truth), -1)
    spread = np.sqrt((errors**2).mean(axis=0))
    spread = np.where(spread > 0, spread, 1.0)
    return quantile((errors / spread).max(axis=1), coverage) * spread


def radius(model: Any, y: Items, coverage: float) -> float:
    """The distance in feature space within which that share of left-out outputs lies."""
    return quantile(np.sqrt(host(model.loo_embed().sqdistances_to(y))), coverage)
