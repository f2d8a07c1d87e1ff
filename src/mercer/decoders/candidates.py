from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import (
    Array,
    Items,
    blocks,
    count,
    host,
    is_foreign,
    like,
    namespace,
    one,
    take,
    unique,
)
from .._lean import Lean
from ..embedding import Embedding
from ..kernels import Kernel
from .base import Decoder, Ranked
from .own_candidates import OwnCandidates

POINTS, CANDIDATES = 1024, 2048
"""Scores that are held at once: 16 MiB of them, enough for full speed of the product."""


class Candidates(Lean, Decoder):
    """The best of a set of candidates: one blocked matrix product and an argmax.

    Parameters
    ----------
    candidates
        The outputs to choose from; None for the training outputs; or a function that names, for
        an input x, the list of its own candidates. Of equal scores the first candidate wins.

    Notes
    -----
    For leave-one-out points a training output is passed over where all its occurrences were left
    out with the point: a refit without them would not have known it.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.decoders import Candidates
    >>> model = KernelDependency("rbf", output_kernel="rbf", alpha=0.1, decoder=Candidates())
    >>> _ = model.fit([[0.0], [1.0], [2.0]], [[0.0], [1.0], [4.0]])
    >>> model.predict([[1.9]])
    array([[4.]])
    """

    def __init__(self, candidates: Items | Callable[[Any], Items] | None = None):
        self.candidates = candidates

    def fit(self, kernel: Kernel, y: Items) -> Candidates:
        """Keep the distinct candidates."""
        self.own_: OwnCandidates | None = None
        if callable(self.candidates):
            self.own_ = OwnCandidates(self.candidates, kernel, y)
            return self
        given = self.candidates is not None
        pool = kernel.as_outputs(self.candidates if given else y, "candidates" if given else "y")
        kernel.check(pool, "candidates")
        positions, numbers = unique(pool)
        self.outputs_ = take(pool, positions)
        self.numbers_ = None if given else numbers
        return self

    def lean(self) -> Candidates:
        """Without the number of every training output, which only left-out points ask for."""
        bare = super().lean()
        if "numbers_" in vars(self):
            bare.numbers_ = None
        return bare

    def decode(self, points: Embedding) -> Items:
        """The best candidate of each point."""
        if self.own_ is not None:
            return self.own_.decode(points)
        best, _ = self._search(points, 1)
        return take(self.outputs_, best[:, 0])

    def decode_top(self, points: Embedding, k: int) -> list[Ranked]:
        """The best `k` candidates of each point, fewer where there are fewer."""
        if self.own_ is not None:
            return self.own_.decode_top(points, k)
        best, scores = self._search(points, k)
        return [
            [
                (one(self.outputs_, j), float(score))
                for j, score in zip(row, values, strict=True)
                if score > -np.inf
            ]
            for row, values in zip(best, scores, strict=True)
        ]

    def _search(self, points: Embedding, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Numbers and scores of the best candidates, (points, k), with a running best."""
        n, m = len(points), count(self.outputs_)
        k = min(k, m)
        best = np.zeros((n, k), dtype=np.intp)
        scores = np.full((n, k), -np.inf)
        owners = self._owners(points)
        # The norm of a candidate rides along as one more coordinate: no second pass over scores.
        C = _appended(2.0 * points.coordinates, -1.0)
        for columns in blocks(m, CANDIDATES):
            some = take(self.outputs_, np.arange(columns.start, columns.stop))
            E = _appended(points.frame.evaluate(some), points.frame.sqnorms(some))
            Et = namespace(E).matrix_transpose(E)
            for rows in blocks(n, POINTS):
                S = C[rows, :] @ Et
                if owners is not None:
                    own = points.left_out[rows, None] == owners[None, columns]  # type: ignore[index]
                    S = namespace(S).where(namespace(S).asarray(own), like(-np.inf, S), S)
                _merge(best[rows], scores[rows], S, columns.start)
        return best, scores

    def _owners(self, points: Embedding) -> np.ndarray | None:
        """The group that alone has a candidate; -1 where several have it."""
        if points.left_out is None or self.numbers_ is None:
            return None
        first = np.full(count(self.outputs_), -2, dtype=np.intp)
        for number, group in zip(self.numbers_, points.left_out, strict=True):
            first[number] = group if first[number] in (-2, group) else -1
        return first


def _appended(A: Array, last: Array | float) -> Array:
    xp = namespace(A)
    column = like(np.full((A.shape[0], 1), last), A) if isinstance(last, float) else last[:, None]
    return xp.concat([A, column], axis=1)


def _merge(best: np.ndarray, scores: np.ndarray, S: Array, offset: int) -> None:
    """Let the columns of S compete with the best so far, which keep their place in ties."""
    k = best.shape[1]
    if k == 1:
        column = host(namespace(S).argmax(S, axis=1))
        top = host(namespace(S).max(S, axis=1)) if is_foreign(S) else S[np.arange(len(S)), column]
        better = top > scores[:, 0]
        best[better, 0], scores[better, 0] = column[better] + offset, top[better]
        return
    S = host(S)
    if k < S.shape[1]:
        chosen = np.sort(np.argpartition(-S, k - 1, axis=1)[:, :k], axis=1)
    else:
        chosen = np.broadcast_to(np.arange(S.shape[1]), S.shape)
    both = np.concatenate([scores, np.take_along_axis(S, chosen, axis=1)], axis=1)
    numbers = np.concatenate([best, chosen + offset], axis=1)
    order = np.argsort(-both, axis=1, kind="stable")[:, :k]
    best[:] = np.take_along_axis(numbers, order, axis=1)
    scores[:] = np.take_along_axis(both, order, axis=1)
