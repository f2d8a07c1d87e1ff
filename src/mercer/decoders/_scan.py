"""Scores of candidates in blocks, and the best candidates over all blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from array_api_compat import device

from .._base.arrays import Array, blocks, host, is_foreign, like, namespace

SCORE_ROWS, SCORE_COLUMNS = 1024, 2048
"""Rows and columns of a block of scores: 16 MiB, enough for full speed of the product."""
Change = Callable[[slice, slice], Array]
"""A function of slices of points and candidates that returns an array to add to their scores.

-inf excludes a candidate.
"""


def score_blocks(
    C: Array,
    coordinates: Callable[[slice], Array],
    n: int,
    changes: Sequence[Change],
    size: int | None = None,
) -> Iterator[tuple[slice, slice, Array]]:
    """Yield (rows, columns, scores) for blocks of points (rows) and candidates (columns).

    The scores are C @ coordinates(columns)ᵀ plus all `changes`.

    Parameters
    ----------
    C
        One row for each point.
    coordinates
        A function from a slice of candidates to their rows.
    n, size
        The number of candidates, and how many of them a block has.
    changes
        Functions whose values are added to the scores.
    """
    for columns in blocks(n, size or SCORE_COLUMNS):
        E = coordinates(columns)
        Et = namespace(E).matrix_transpose(E)
        for rows in blocks(int(C.shape[0]), SCORE_ROWS):
            S = C[rows, :] @ Et
            for change in changes:
                S = S + like(change(rows, columns), S)
            yield rows, columns, S


def best_of_blocks(
    parts: Iterator[tuple[slice, slice, Array]], k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return indices and scores of the best `k` candidates of each point.

    `parts` is the result of `score_blocks`.
    """
    best: dict[int, Best] = {}
    for rows, columns, S in parts:
        best[rows.start] = merge_best(best.get(rows.start), S, columns.start, k)
    indices, scores = ([host(pair[j]) for pair in best.values()] for j in (0, 1))
    return np.concatenate(indices), np.concatenate(scores)


Best = tuple[Array, Array]
"""Indices and scores of the best candidates so far, one row for each point, best first."""


def merge_best(earlier: Best | None, S: Array, offset: int, k: int) -> Best:
    """Return the best `k` of the earlier best candidates and of a block of scores S.

    Column j of S has the scores of candidate `offset` + j. Of equal scores the earlier block comes
    first, then the earlier column.
    """
    if k == 1:
        return _merge_single(earlier, S, offset)
    merge = _merge_foreign if is_foreign(S) else _merge_numpy
    return merge(earlier, S, offset, k)


def _merge_single(earlier: Best | None, S: Array, offset: int) -> Best:
    """Return the best of the `earlier` candidate and a block of scores S, for each point.

    The arguments are those of `merge_best`.
    """
    xp = namespace(S)
    column = xp.argmax(S, axis=1)
    # numpy finds a maximum again more slowly than it looks it up
    top = xp.max(S, axis=1) if is_foreign(S) else S[np.arange(len(S)), column]
    index, top = (column + offset)[:, None], top[:, None]
    if earlier is None:
        return index, top
    better = top > earlier[1]
    return xp.where(better, index, earlier[0]), xp.where(better, top, earlier[1])


def _merge_numpy(earlier: Best | None, S: np.ndarray, offset: int, k: int) -> Best:
    """Return the best k of the `earlier` candidates and a block of scores S, for numpy arrays.

    The arguments are those of `merge_best`.
    """
    indices, both = _masked_entries(S, _mask_of_possible_best(earlier, S, k), offset)
    if earlier is not None:
        indices, both = np.hstack([earlier[0], indices]), np.hstack([earlier[1], both])
    order = np.argsort(-both, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(indices, order, axis=1), np.take_along_axis(both, order, axis=1)


def _mask_of_possible_best(earlier: Best | None, S: np.ndarray, k: int) -> np.ndarray:
    """Return a mask of the scores S that may be among the best k of S and `earlier`."""
    if earlier is not None and earlier[1].shape[1] == k:
        return earlier[1][:, -1:] < S
    if earlier is not None or S.shape[1] <= k:
        return np.ones(S.shape, dtype=bool)
    last = S.shape[1] - k
    return np.partition(S, last, axis=1)[:, last, None] <= S


def _masked_entries(S: np.ndarray, hit: np.ndarray, offset: int) -> Best:
    """Return indices and scores of the entries of S in the mask `hit`, left-aligned in each row.

    Scores are padded with -inf; the index of column j is j + offset.
    """
    row, column = np.nonzero(hit)
    counts = np.bincount(row, minlength=len(S))
    slot = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    indices = np.zeros((len(S), counts.max(initial=0)), dtype=np.intp)
    scores = np.full(indices.shape, -np.inf)
    indices[row, slot], scores[row, slot] = column + offset, S[row, column]
    return indices, scores


def _merge_foreign(earlier: Best | None, S: Array, offset: int, k: int) -> Best:
    """Return the best k of the `earlier` candidates and a block of scores S, for other arrays.

    The arguments are those of `merge_best`.
    """
    xp, (rows, columns) = namespace(S), S.shape
    indices = xp.arange(offset, offset + columns, device=device(S))[None, :]
    indices = xp.broadcast_to(indices, (rows, columns))
    if earlier is not None:
        indices, S = xp.concat([earlier[0], indices], axis=1), xp.concat([earlier[1], S], axis=1)
    order = xp.argsort(S, axis=1, descending=True, stable=True)[:, : min(k, S.shape[1])]
    flat = order + xp.arange(rows, device=device(S))[:, None] * S.shape[1]

    def best_entries(A: Array) -> Array:
        """Return the entries of A in the positions of the best scores."""
        return xp.reshape(xp.take(xp.reshape(A, (-1,)), xp.reshape(flat, (-1,))), flat.shape)

    return best_entries(indices), best_entries(S)
