"""Bags of hashed features (the feature counts of items) and their Gram matrices.

A feature is a 64-bit hash, so that no vocabulary is needed: two batches are compared by the hashes
that they share. Among a million distinct features, two collide with probability 3e-8.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._base.hashes import text_hash
from ..spaces.base import python_scalar


@dataclass(frozen=True)
class Bags:
    """The feature counts of a batch of items, as arrays of (item, feature, count) entries.

    Attributes
    ----------
    owner, key, value
        One entry for each feature of an item: the index of the item, the hash of the feature, and
        its count.
    n
        The number of items.
    size
        The number of features, if keys are 0, 1, … rather than hashes; else None.
    """

    owner: np.ndarray
    key: np.ndarray
    value: np.ndarray
    n: int
    size: int | None = None

    @classmethod
    def of(cls, items: Iterable[tuple[np.ndarray, np.ndarray]]) -> Bags:
        """Return the bags of a batch, given a pair (feature hashes, counts) for each item."""
        pairs = list(items)
        sizes = [len(keys) for keys, _ in pairs]
        key = np.concatenate([keys for keys, _ in pairs]).astype(np.uint64, copy=False)
        value = np.concatenate([counts for _, counts in pairs])
        # Values are complex for derivatives by complex steps.
        kind = np.complex128 if np.iscomplexobj(value) else np.float64
        value = value.astype(kind, copy=False)
        return cls(np.repeat(np.arange(len(pairs)), sizes), key, value, len(pairs))


UNSORTED_SIZE = 2**20
"""The largest `size` for which all features have a column, so that keys need not be sorted."""


def count_matrix(bags: Bags) -> sparse.csr_array:
    """Return the sparse (items, features) count matrix of bags whose keys are column numbers."""
    return _sparse_counts(bags, bags.key, bags.size or 0)


def count_matrices(A: Bags, B: Bags | None = None) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return sparse count matrices of two batches with the same columns; B=None means B=A."""
    B = A if B is None else B
    if A.size is not None and A.size <= UNSORTED_SIZE:
        F = count_matrix(A)
        return F, F if B is A else count_matrix(B)
    if B is A:
        distinct, column = np.unique(A.key, return_inverse=True)
        F = _sparse_counts(A, column, len(distinct))
        return F, F
    distinct, column = np.unique(np.concatenate([A.key, B.key]), return_inverse=True)
    left, right = np.split(column, [len(A.key)])
    return _sparse_counts(A, left, len(distinct)), _sparse_counts(B, right, len(distinct))


def _sparse_counts(bags: Bags, column: np.ndarray, size: int) -> sparse.csr_array:
    """Return the sparse (items, size) count matrix of bags, given the column of each entry."""
    return sparse.csr_array((bags.value, (bags.owner, column)), shape=(bags.n, size))


def inner_products(A: Bags, B: Bags) -> np.ndarray:
    """Return the matrix of inner products of the feature counts of A and B, (items, items)."""
    from ._bag_loops import add_inner_products

    return sum_over_shared_features(add_inner_products, *count_matrices(A, B))


class Compressed(NamedTuple):
    """A sparse matrix by rows (CSR) or by columns (CSC), with the names of scipy.

    The compiled loops take it, because they know no matrix of scipy.
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray


def sum_over_shared_features(loop: Any, F: Any, G: Any) -> np.ndarray:
    """Return the matrix of sums over features that `loop` computes for rows of F and of G.

    `loop` is one of the compiled loops of `_bag_loops`.
    """
    rows, columns = sparse.csr_array(F), sparse.csc_array(G)
    out = np.zeros((rows.shape[0], columns.shape[0]), rows.dtype)
    for M in (rows, columns):
        M.sum_duplicates()
    loop(*(Compressed(M.indptr, M.indices, M.data) for M in (rows, columns)), out)
    return out


def sqnorms(A: Bags) -> np.ndarray:
    """Return the squared Euclidean norm of the feature counts of each item."""
    F, _ = count_matrices(A)
    return np.asarray((F * F).sum(axis=1)).reshape(-1)


def stable_hash(label: Any) -> np.uint64:
    """Return a 64-bit hash of a label that is the same in every Python process."""
    label = python_scalar(label)
    if isinstance(label, float) and label.is_integer():
        label = int(label)  # an adjacency matrix may have 1.0 where networkx has 1
    return text_hash(f"{type(label).__name__}:{label!r}")


def mix_bits(x: np.ndarray, seed: int = 0) -> np.ndarray:
    """Return the 64-bit words x with their bits mixed by a seeded bijection (SplitMix64).

    Sums of such words identify multisets of words.
    """
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15) * np.uint64(2 * seed + 1)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))
