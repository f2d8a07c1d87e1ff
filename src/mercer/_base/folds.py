"""Folds of examples, in which groups stay together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .parameters import integer

FOLDS = 5
"""The default number of folds."""


def fold_numbers(labels: np.ndarray, number: int, random: Any = None) -> np.ndarray:
    """Return a random fold number for each example; examples with equal labels share a fold.

    Parameters
    ----------
    labels : array of int
        The number of the group of each example, from 0 on.
    number : int
        The number of folds, at least 2; there are no more folds than groups.
    random : RandomState or Generator, default=None
        The source of the draw; None for the same draw at every call.
    """
    random = np.random.RandomState(0) if random is None else random
    groups = int(labels.max()) + 1
    return random.permutation(groups)[labels] % min(integer(number, "cv", 2), groups)


def fold_rows(folds: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield for each fold the indices of its training rows and of its test rows."""
    for fold in range(int(folds.max()) + 1):
        yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
