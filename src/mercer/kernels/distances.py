"""Distances between vectors, and the length scales that are read off them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import device, is_torch_array
from scipy.sparse import csr_array, issparse
from scipy.spatial.distance import cdist

from .._arrays import Array, count, is_foreign, median, namespace, products, sqnorms, take
from .base import positive

SMALLEST = 1e-75
"""The smallest length scale, and one over the largest: fourth powers must not vanish."""
SAMPLE = 1000
"""A median over this many items is as good as one over all of them."""


def squared(A: Array, B: Array) -> Array:
    """‖a - b‖² for all pairs, by one matrix product.

    Both batches are first moved by the mean of the second: distances do not change, and data far
    from the origin keeps its digits. Sparse batches stay where they are, or they would fill up.
    """
    xp = namespace(A)
    same = A is B
    if not (issparse(A) or issparse(B)):
        shift = xp.mean(B, axis=0, keepdims=True)
        A = A - shift
        B = A if same else B - shift
    D2 = products(A, B)
    D2 *= -2.0
    D2 += sqnorms(A)[:, None]
    D2 += sqnorms(B)[None, :]
    if is_foreign(D2):
        D2 = xp.where(D2 > 0, D2, xp.zeros_like(D2))
        return D2 * (1.0 - xp.eye(A.shape[0], dtype=D2.dtype, device=device(D2))) if same else D2
    np.maximum(D2, 0.0, out=D2)
    if same:
        np.fill_diagonal(D2, 0.0)
    return D2


def euclidean(A: Array, B: Array) -> Array:
    """‖a - b‖ for all pairs, exactly zero for equal ones."""
    return namespace(A).sqrt(squared(A, B)) if is_foreign(A) else cdist(A, B)


def absolute(A: Array, B: Array) -> Array:
    """‖a - b‖₁ for all pairs."""
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


def exp(A: Array) -> Array:
    """E to the power of the entries, in place where the library allows it."""
    return namespace(A).exp(A) if is_foreign(A) else np.exp(A, out=A)


def length_scale(value: Any, items: Any, distances: Callable[[Any, Any], Array]) -> float:
    """A length scale as given, or for "median" the median distance of distinct pairs."""
    if not isinstance(value, str):
        return _given(value)
    if value != "median":
        raise ValueError(f'length_scale must be a positive number or "median", got {value!r}.')
    n = count(items)
    sample = take(items, np.linspace(0, n - 1, min(n, SAMPLE)).astype(int))
    D = distances(sample, sample)
    off_diagonal = D[namespace(D).asarray(~np.eye(D.shape[0], dtype=bool))]
    scale = median(off_diagonal) if off_diagonal.shape[0] else 0.0
    if not scale < np.inf:
        raise ValueError("the items are too large for distances between them: rescale them.")
    # Half of the pairs being equal makes the median zero: then any scale of the data's own will do.
    return scale if scale > 0 else float(namespace(D).max(D)) or 1.0


def settled(kernel: Any) -> float:
    """The length scale of a fitted kernel, or the number it was given."""
    if isinstance(kernel.length_scale, str) and not hasattr(kernel, "length_scale_"):
        raise ValueError(
            f"{kernel} takes its length scale from data: call fit(A) on it first, "
            "or give the length scale as a number."
        )
    return getattr(kernel, "length_scale_", None) or _given(kernel.length_scale)


def _given(value: Any) -> float:
    scale = positive(value, "length_scale")
    if not SMALLEST <= scale <= 1.0 / SMALLEST:
        raise ValueError(
            f"length_scale={value!r} has a fourth power that is no number any more: rescale the "
            "data, and the length scale with it."
        )
    return scale
