"""Distances between vectors, and length scales computed from them."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from array_api_compat import device, is_cupy_array, is_torch_array
from scipy.sparse import csr_array, issparse
from scipy.spatial.distance import cdist

from .._base.arrays import (
    Array,
    blocks,
    count,
    dense,
    host,
    is_foreign,
    median,
    namespace,
    put,
    sqnorms,
    take,
)
from .._base.parameters import positive
from .._base.threads import THREADED_ENTRIES, run_in_cache_blocks

SMALLEST = 1e-75
"""The smallest length scale, and 1 / the largest one, such that fourth powers do not underflow."""
SCALE_SAMPLE = 1000
"""Number of items from which the scale of all items is estimated."""
TYPICAL_ROWS = 31
"""Number of rows whose median is taken as the centre of a batch."""
RECOMPUTED_ENTRIES = 2**16
"""Number of entries of differences of near pairs that are computed at once."""
FEW_COLUMNS = 16
"""Number of columns up to which differences are as fast as a matrix product."""
CANCELLED_DISTANCE = 1e-5
"""Below this fraction of ‖a‖² + ‖b‖² a squared distance has lost more than five digits."""


def squared_distances(A: Array, B: Array) -> Array:
    """Return the squared Euclidean distances of all rows of A and B.

    They are computed from differences if there are few columns, else from one matrix product.

    Differences are accurate to the last digits, products to about ten. Before a product a typical
    row of the second batch is subtracted from both: distances do not change, and data far from the
    origin loses no digits. Sparse batches are not shifted, because they would become dense. Pairs
    much nearer to each other than to the typical row lose digits by cancellation and are computed
    again from their differences.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import squared_distances
    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [1.0, 0.0]]))
    array([[25.,  1.]])
    """
    if isinstance(A, np.ndarray) and isinstance(B, np.ndarray) and A.shape[1] <= FEW_COLUMNS:
        if len(A) * len(B) < THREADED_ENTRIES:
            return cdist(A, B, "sqeuclidean")
        D2 = np.empty((len(A), len(B)))
        run_in_cache_blocks(lambda rows: cdist(A[rows], B, "sqeuclidean", out=D2[rows]), *D2.shape)
        return D2
    same = A is B
    if not (issparse(A) or issparse(B)):
        shift = typical_row(B)
        A = A - shift
        B = A if same else B - shift
    left, right = sqnorms(A), sqnorms(B)
    D2 = _squared_distances_by_product(A, B, left, right)
    most = right[None, :] if is_foreign(D2) else right.max()  # a bound is cheaper to compare with

    def recompute_cancelled(rows: slice) -> Array:
        """Recompute the distances in some rows of D2 that have lost digits; return D2."""
        block = D2 if is_foreign(D2) else D2[rows]
        near = block < CANCELLED_DISTANCE * (left[rows, None] + most)
        if same and not is_foreign(D2):  # the diagonal is zero
            diagonal = np.arange(rows.start, rows.stop)
            block[diagonal - rows.start, diagonal] = 0.0
            near[diagonal - rows.start, diagonal] = False
        elif same and is_torch_array(D2):
            block.fill_diagonal_(0.0)
            near.fill_diagonal_(False)
        if bool(namespace(near).any(near)):
            return _recompute_near_pairs(D2, near, A, B, (left, right), rows.start)
        return D2

    if is_foreign(D2):
        return recompute_cancelled(slice(0, count(A)))
    run_in_cache_blocks(recompute_cancelled, count(A), count(B))
    return D2


def _squared_distances_by_product(A: Array, B: Array, left: Array, right: Array) -> Array:
    """Return left + right - 2⟨a, b⟩ for all pairs, with left = ‖a‖² and right = ‖b‖² given."""
    if issparse(A) or issparse(B):
        D2 = -2.0 * dense(A @ B.T)
        D2 += left[:, None]
        D2 += right[None, :]
        return D2
    xp = namespace(A, B)
    A = xp.concat([A, left[:, None], xp.ones_like(left)[:, None]], axis=1)
    B = xp.concat([-2.0 * B, xp.ones_like(right)[:, None], right[:, None]], axis=1)
    return A @ xp.matrix_transpose(B)


def typical_row(B: Array) -> Array:
    """Return the median of each column over a sample of rows, a centre robust to outliers."""
    sample = take(B, np.linspace(0, count(B) - 1, min(count(B), TYPICAL_ROWS)).astype(int))
    ordered = namespace(sample).sort(sample, axis=0)
    return ordered[sample.shape[0] // 2, :][None, :]


def _recompute_near_pairs(
    D2: Array, near: Array, A: Array, B: Array, squares: tuple[Array, Array], start: int
) -> Array:
    """Recompute the squared distances D2 of pairs marked in `near` from differences; return D2.

    Differences do not lose digits by cancellation. `near` marks rows of D2 from `start` on, and
    `squares` are the squared norms of A and of B.
    """
    if is_foreign(near):
        i, j = (host(index) for index in namespace(near).nonzero(near))
    else:
        i, j = np.divmod(np.flatnonzero(near), near.shape[1])  # numpy's nonzero is slow
        i += start
        cancelled = D2[i, j] < CANCELLED_DISTANCE * (squares[0][i] + squares[1][j])
        i, j = i[cancelled], j[cancelled]
    for block in blocks(len(i), max(1, RECOMPUTED_ENTRIES // int(A.shape[1]))):
        row, column = i[block], j[block]
        values = sqnorms(take(A, row) - take(B, column))
        if not is_foreign(D2) or is_torch_array(D2) or is_cupy_array(D2):
            at = [row, column] if not is_foreign(D2) else [_as_index(v, D2) for v in (row, column)]
            D2[at[0], at[1]] = values
        else:  # the array API standard has no assignment by index arrays
            flat = put(namespace(D2).reshape(D2, (-1,)), row * D2.shape[1] + column, values)
            D2 = namespace(D2).reshape(flat, D2.shape)
    return D2


def _as_index(positions: np.ndarray, A: Array) -> Array:
    """Return integer positions as an array of the library of A, on its device."""
    return namespace(A).asarray(positions, device=device(A))


def l1_distances(A: Array, B: Array) -> Array:
    """Return the L1 distances ‖a - b‖₁ of all rows of A and B."""
    if issparse(A) or issparse(B):
        from sklearn.metrics.pairwise import manhattan_distances  # slow to import, seldom needed

        return manhattan_distances(csr_array(A), csr_array(B))
    if not is_foreign(A):
        return cdist(A, B, "cityblock")
    xp = namespace(A)
    if is_torch_array(A):
        import torch

        return torch.cdist(A, B, p=1)
    return xp.stack([xp.sum(xp.abs(B - A[i, :]), axis=1) for i in range(A.shape[0])])


def scaled_exp(A: Array, factor: float = 1.0) -> Array:
    """Return exp(factor · A); A may be overwritten."""
    if is_foreign(A) or A.ndim != 2 or A.size < THREADED_ENTRIES:
        A *= factor
        return namespace(A).exp(A) if is_foreign(A) else np.exp(A, out=A)

    def exponentiate(rows: slice) -> None:
        """Replace some rows of A by exp(factor · A)."""
        block = A[rows]
        block *= factor
        np.exp(block, out=block)

    run_in_cache_blocks(exponentiate, *A.shape)
    return A


def length_scale(value: Any, items: Any = None, distances: Any = None) -> Any:
    """Return a checked length scale, or an array of them; "median" is computed from `items`.

    Parameters
    ----------
    value
        A number, an array of numbers, or "median": the median distance of two different items.
    items
        The items, for "median".
    distances
        The function from two batches to their matrix of distances, for "median".
    """
    if isinstance(value, Real) and SMALLEST <= float(value) <= 1.0 / SMALLEST:
        return float(value)
    if np.ndim(value) > 0:
        return np.array([length_scale(float(one)) for one in value])
    if not isinstance(value, str):
        raise ValueError(
            f"length_scale={positive(value, 'length_scale')!r} has a fourth power that overflows "
            "or is zero: rescale the data, and the length scale with it."
        )
    if value != "median":
        raise ValueError(f'length_scale must be a positive number or "median", got {value!r}.')
    n = count(items)
    sample = take(items, np.linspace(0, n - 1, min(n, SCALE_SAMPLE)).astype(int))
    D = distances(sample, sample)
    off_diagonal = D[namespace(D).asarray(~np.eye(D.shape[0], dtype=bool))]
    scale = median(off_diagonal) if off_diagonal.shape[0] else 0.0
    # The median is zero if half of the pairs are equal: use the largest distance instead.
    scale = scale if scale > 0 else float(namespace(D).max(D)) or 1.0
    if not SMALLEST <= scale <= 1.0 / SMALLEST:
        size = "large" if scale > 1 or scale != scale else "small"
        raise ValueError(
            f"the items are too {size} for squared distances between them ({scale:.0e} is typical)"
            ": rescale them."
        )
    return scale


def scales_by_feature(A: Any, distances: Callable[[Any, Any], Array]) -> np.ndarray:
    """Return a length scale per feature: its spread times the median standardised distance."""
    D = host(dense(A))
    spread = np.sqrt(np.mean((D - D.mean(axis=0)) ** 2, axis=0))
    spread = np.where(spread > 0, spread, 1.0)
    return spread * length_scale("median", D / spread, distances)


def fitted_scale(kernel: Any) -> Any:
    """Return the fitted length scale(s) of a kernel; before a fit, the given ones."""
    known = vars(kernel).get("length_scale_")
    if known is not None:
        return known
    if isinstance(kernel.length_scale, str):
        raise ValueError(
            f"{kernel} takes its length scale from data: call fit(A) on it first, "
            "or give the length scale as a number."
        )
    return length_scale(kernel.length_scale)
