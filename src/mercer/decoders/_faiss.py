"""The search for the best of millions of candidates with an index of the faiss library."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, blocks, count, host, like, namespace, sliced, take
from .._base.errors import require
from ..embedding import Frame

INDEXED_ROWS = 65536
"""The number of candidates whose coordinates are computed at once."""
SPARE = 16
"""Candidates beyond the requested ones that are scored again in double precision."""
FLOAT32_ROUNDING = 2.0**-24
"""The largest relative rounding error of a float32."""
NEIGHBOURS, EFFORT = 32, 128
"""Parameters M (links of a candidate) and efSearch (length of the search queue) of HNSW."""


class FaissIndex:
    """A faiss index of candidates, searched by inner product (flat) or by distance (HNSW).

    Notes
    -----
    Let e be the coordinates of Φ(y). The flat index has rows (e, l(y, y) - m), and the query for a
    point g is (2g, -1). Subtracting m, the mean of l(y, y), does not change the order and keeps
    digits. HNSW searches by distance, which gives the same order: ‖g - Φ(y)‖² = ‖g - e‖² +
    (l(y, y) - ‖e‖²), where the last term is the square of one more coordinate.
    """

    def __init__(self, frame: Frame, outputs: Items, hnsw: bool = False):
        require("faiss", "faiss")
        if not frame.compact:
            raise ValueError(
                "an index needs outputs in finite coordinates, but the points of this model are "
                "weights on the training outputs. Pass output_features to the model, such as "
                "mercer.features.RandomPivotedCholesky(rank=500), or use index=None."
            )
        self.frame, self.outputs, self.hnsw = frame, outputs, hnsw
        self.longest = 0.0
        self.mean = self._mean_norm()
        # A power of two, which costs no digit: single precision ends at 1e±38, squares at 1e±19.
        self.unit = 2.0 ** round(np.log2(self.mean) / 2) if self.mean > 0 else 1.0
        self.index = self._build()

    def _coordinate_blocks(self) -> Any:
        """Yield the coordinates and the squared norms of the candidates, block by block."""
        for rows in blocks(count(self.outputs), INDEXED_ROWS):
            some = sliced(self.outputs, rows)
            yield host(self.frame.evaluate(some)), host(self.frame.sqnorms(some))

    def _mean_norm(self) -> float:
        """Return the mean squared norm of the candidates, estimated from 1,000 of them."""
        some = take(self.outputs, np.linspace(0, count(self.outputs) - 1, 1000).astype(int))
        return float(np.mean(host(self.frame.sqnorms(some))))

    def _build(self) -> Any:
        """Return a new faiss index with all candidates."""
        index: Any = None
        for E, norms in self._coordinate_blocks():
            rest = norms - (E * E).sum(axis=1) if self.hnsw else None
            flat = (norms - self.mean) / self.unit**2
            last = flat if rest is None else np.sqrt(np.maximum(rest, 0.0)) / self.unit
            E = append_column(E / self.unit, last)
            index = index or self._empty_index(E.shape[1])
            self.longest = max(self.longest, float(np.sqrt((E * E).sum(axis=1).max())))
            index.add(np.ascontiguousarray(E, dtype=np.float32))
        return index

    def _empty_index(self, width: int) -> Any:
        """Return an empty faiss index for vectors of length `width`."""
        import faiss

        if not self.hnsw:
            return faiss.IndexFlatIP(width)
        index = faiss.IndexHNSWFlat(width, NEIGHBOURS)
        index.hnsw.efSearch = EFFORT
        return index

    def search(self, C: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return indices and scores of the best `k` candidates, and whether they are proved best.

        Each row of C and of the results belongs to one point; C has its coordinates. The third
        array is False where rounding in the flat index may hide a better candidate; with HNSW it is
        not checked and always True.
        """
        wide = min(k + SPARE, count(self.outputs))
        G = C / self.unit
        queries = append_column(G, 0.0) if self.hnsw else append_column(2.0 * G, -1.0)
        near, found = self.index.search(np.ascontiguousarray(queries, dtype=np.float32), wide)
        scores = self._exact_scores(C, found)
        # In the order of the candidates first, so that of equal scores the first one wins.
        by_number = np.argsort(found, axis=1, kind="stable")
        found, scores = (np.take_along_axis(A, by_number, axis=1) for A in (found, scores))
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        best, top = (np.take_along_axis(A, order, axis=1) for A in (found, scores))
        certain = np.ones(len(C), dtype=bool)
        if not self.hnsw and wide < count(self.outputs):
            lengths = np.sqrt((queries * queries).sum(axis=1)) * self.longest
            beyond = near[:, -1] + (queries.shape[1] + 4) * FLOAT32_ROUNDING * lengths
            certain = np.isfinite(near).all(axis=1)
            certain &= top[:, -1] > beyond * self.unit**2
        return best.astype(np.intp), top - self.mean, certain

    def _exact_scores(self, C: np.ndarray, found: np.ndarray) -> np.ndarray:
        """Return the double-precision scores of candidates `found[t]` at each predicted point t.

        The score is 2⟨g, Φ(y)⟩ - l(y, y) + m with m the mean squared norm; -inf for index -1.
        """
        numbers, place = np.unique(found, return_inverse=True)
        some = take(self.outputs, np.maximum(numbers, 0))
        E, norms = host(self.frame.evaluate(some)), host(self.frame.sqnorms(some)) - self.mean
        place = place.reshape(found.shape)
        scores = np.empty(found.shape)
        for rows in blocks(len(C), 256):
            at = place[rows]
            scores[rows] = 2.0 * np.einsum("tkd,td->tk", E[at], C[rows]) - norms[at]
        return np.where(found >= 0, scores, -np.inf)  # HNSW may find fewer than requested


def _search_on_one_thread() -> None:
    """Let faiss use one thread after a fork, because its other threads do not survive it."""
    if "faiss" in sys.modules:
        sys.modules["faiss"].omp_set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_search_on_one_thread)


def append_column(A: Array, last: Array | float) -> Array:
    """Return the matrix A with the column `last` appended; a number is repeated in all rows."""
    xp = namespace(A)
    column = like(np.full((A.shape[0], 1), last), A) if isinstance(last, float) else last[:, None]
    return xp.concat([A, column], axis=1)
