from __future__ import annotations

from collections.abc import Hashable
from itertools import permutations
from typing import Any

import numpy as np

from .._base.arrays import Items, host, refuse_empty, refuse_masked
from .base import Space
from .moves import RankingMoves

RANKED_LABELS = 6
"""The largest number of labels for which all rankings are enumerated, 720 of them."""


class Rankings(Space):
    """Rankings as rows of ranks, one column per label: 0 is best, equal is tied, negative missing.

    Examples
    --------
    >>> from mercer.spaces import Rankings
    >>> Rankings().check([[0, 1, 2], [1, 0, -1]])
    array([[ 0,  1,  2],
           [ 1,  0, -1]])
    """

    name = "rankings"

    def check(self, A: Items, name: str = "y") -> np.ndarray:
        """Check that rows are rankings; return the ranks unchanged in an array."""
        as_rankings(A, name)
        return host(A) if hasattr(A, "shape") else np.array([list(row) for row in A])

    def key(self, item: Any) -> Hashable:
        """Return the ranks of an item as a hashable tuple that does not depend on the dtype."""
        return tuple(np.where(np.asarray(item, dtype=float) >= 0, item, -1).tolist())

    def moves(self, y: Items) -> RankingMoves:
        """Return the edits of rankings: exchange two labels, or move one."""
        return RankingMoves(y)

    def every(self, sample: Items) -> np.ndarray | None:
        """Return all rankings without ties of the labels of a sample if there are few, else None.

        None is also returned if the sample has ties or missing labels.
        """
        ranks = np.asarray(sample)
        m = ranks.shape[1]
        complete = (np.sort(ranks, axis=1) == np.arange(m)).all()
        if m > RANKED_LABELS or not complete:
            return None
        return np.array(list(permutations(range(m))), dtype=ranks.dtype)


def as_rankings(A: Items, name: str = "X") -> np.ndarray:
    """Check rankings; return float64 rows of ranks with NaN where a label is not ranked."""
    R = _rank_matrix(A, name)
    n, m = R.shape
    refuse_empty(n, name)
    if m < 2:
        raise ValueError(f"{name} must rank at least 2 labels, got {m}.")
    R = np.where(R < 0, np.nan, R)
    high = np.argwhere(m - 1 < R)
    if high.size:
        i, j = high[0]
        raise ValueError(
            f"{name}[{i}] has the rank {R[i, j]:g} among {m} labels: ranks go from 0, the best, to "
            f"{m - 1}. Equal ranks are ties; negative ranks or NaN are for unranked labels."
        )
    _refuse_scores(R, name)
    unranked = np.flatnonzero(np.isnan(R).all(axis=1))
    if unranked.size:
        raise ValueError(f"{name}[{unranked[0]}] ranks no label at all. Remove it.")
    return R


def _refuse_scores(R: np.ndarray, name: str) -> None:
    """Raise an error for numbers that cannot be ranks, such as scores between 0 and 1.

    Ranks are integers; half ranks are allowed, because ties may have the mean of their ranks.
    """
    scores = np.argwhere(np.isfinite(R) & (np.round(2.0 * R) != 2.0 * R))
    if scores.size:
        i, j = scores[0]
        raise ValueError(
            f"{name}[{i}] has {R[i, j]:g}, which is not a rank: ranks are integers from 0, the "
            "best. Turn scores into ranks, as by scipy.stats.rankdata(-scores, axis=1) - 1."
        )


def _rank_matrix(A: Items, name: str) -> np.ndarray:
    """Return rankings as a numeric matrix, one row per item; raise an error for other items."""
    refuse_masked(A, name)
    if not hasattr(A, "shape") or np.ndim(A) == 1:
        A = _stack_rows(A, name)
    if np.ndim(A) != 2:
        raise ValueError(
            f"{name} must hold a row of ranks for each item, got an array of shape {A.shape}."
        )
    try:
        return np.asarray(host(A), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold ranks, which are numbers: {error}.") from error


def _stack_rows(A: Any, name: str) -> np.ndarray:
    """Return rows of ranks as a matrix; raise an error if their lengths differ."""
    refuse_empty(len(A), name)
    for i, row in enumerate(A):
        if not isinstance(row, list | tuple | np.ndarray):
            raise ValueError(f"{name}[{i}] must be a row of ranks, got {row!r:.60}.")
        if len(row) != len(A[0]):
            raise ValueError(
                f"{name}[{i}] ranks {len(row)} labels, {name}[0] ranks {len(A[0])}: mark labels "
                "that are not ranked by -1."
            )
    return np.array([list(row) for row in A])
