from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .._base.arrays import (
    Array,
    Items,
    blocks,
    count,
    host,
    is_foreign,
    namespace,
    one,
    sliced,
    take,
)
from .._base.errors import require
from .._base.parameters import one_of, parameters
from .._base.reducible import Reducible
from ..embedding import Embedding, Frame
from ..kernels import Kernel
from ._faiss import FaissIndex, append_column
from ._scan import SCORE_COLUMNS, Change, best_of_blocks, score_blocks
from .base import Decoder, Ranked
from .own_candidates import OwnCandidates, outputs_as_array, sole_groups

INDICES = (None, "faiss", "hnsw")


@parameters
class Candidates(Reducible, Decoder):
    r"""A decoder that returns the candidate output with the highest score.

    Parameters
    ----------
    candidates : outputs, callable or None, default=None
        The outputs to choose from; None for the training outputs; or a function that returns the
        list of candidates for an input x. Of equal scores the first candidate wins.
    index : {None, "faiss", "hnsw"}, default=None
        None; "faiss" to search millions of candidates at the speed of single precision, with the
        same answers; "hnsw" for an approximate search that looks at a few thousand of them
        (`recall` says how good it is). Both need ``pip install "mercer[faiss]"`` and outputs in
        finite coordinates: an output kernel with finite features, or `output_features`.

    Notes
    -----
    With an index, scores :math:`2 \langle g, \Phi(y) \rangle - l(y, y)` are inner
    products with :math:`l(y, y)` as one more coordinate. faiss ranks them in single precision; the
    best k + 16 are scored again in double precision. The best k of these are returned if the last
    of them scores higher than any other candidate can within the rounding of float32; otherwise
    all candidates of the point are scored, so that the answers are those without an index. For
    arrays on a device, and for left-out points, all candidates are always scored.

    For left-out points a training output is not a candidate if all its occurrences were left out
    with the point: a model fitted without them would not have known it.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.decoders import Candidates
    >>> model = KernelDependency("rbf", output_kernel="rbf", alpha=0.1, decoder=Candidates())
    >>> _ = model.fit([[0.0], [1.0], [2.0]], [[0.0], [1.0], [4.0]])
    >>> model.predict([[1.9]])
    array([[4.]])
    """

    has_ranked_lists = True

    candidates: Items | Callable[[Any], Items] | None = None
    index: str | None = None

    per_input = property(lambda self: callable(self.candidates))

    def fit(self, kernel: Kernel, y: Items) -> Candidates:
        """Store the distinct candidates, by default the distinct training outputs."""
        one_of(self.index, "index", INDICES)
        if self.index is not None:
            require("faiss", "faiss")
        self.own_: OwnCandidates | None = None
        self.indexed_: FaissIndex | None = None
        if callable(self.candidates):
            if self.index is not None:
                raise ValueError(
                    f"index={self.index!r} is for one set of candidates, and these depend on the "
                    "input. Use index=None."
                )
            self.own_ = OwnCandidates(self.candidates, kernel, kernel.space.keys(y))
            return self
        given = self.candidates is not None
        pool = kernel.as_outputs(self.candidates if given else y, "candidates" if given else "y")
        kernel.check(pool, "candidates")
        positions, numbers = kernel.space.unique(pool)
        self.outputs_ = take(pool, positions)
        self.numbers_ = None if given else numbers
        return self

    def without_training_data(self) -> Candidates:
        """Return a copy without the index and without the data for left-out points."""
        bare = super().without_training_data()
        for name in {"numbers_", "indexed_"} & vars(self).keys():
            setattr(bare, name, None)
        return bare

    def decode(self, points: Embedding) -> Items:
        """Return the candidate with the highest score at each predicted point."""
        if self.own_ is not None:
            return outputs_as_array(
                [row[0][0] for row in self.decode_top(points, 1)], self.own_.kernel
            )
        best, _ = self._search(points, 1)
        return take(self.outputs_, best[:, 0])

    def decode_top(self, points: Embedding, k: int) -> list[Ranked]:
        """Return the best candidates of each predicted point with their scores, at most `k`."""
        if self.own_ is not None:
            return self.own_.rank(points, k)
        return self._as_ranked(*self._search(points, k))

    def _as_ranked(self, best: np.ndarray, scores: np.ndarray) -> list[Ranked]:
        """Convert candidate indices and scores to one list of (output, score) pairs per point."""
        return [
            [
                (one(self.outputs_, j), float(score))
                for j, score in zip(row, values, strict=True)
                if score > -np.inf
            ]
            for row, values in zip(best, scores, strict=True)
        ]

    def _search(
        self, points: Embedding, k: int, prior: Sequence[Change] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return indices and scores of the best `k` candidates, both of shape (points, k).

        The functions in `prior` return what is added to the scores of a block.
        """
        k = min(k, count(self.outputs_))
        points, lost = points.about(self.outputs_)
        best, scores = self._scan(points, k, prior) if prior else self._best_indices(points, k)
        return best, scores + np.reshape(host(lost), (-1, 1))

    def _best_indices(self, points: Embedding, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return indices and scores of the best `k` candidates, with a faiss index if set."""
        plain = points.left_out is None and not is_foreign(points.coordinates)
        if self.index is None or not plain:
            return self._scan(points, k)
        index = self._faiss_index(points.frame)
        best, scores, certain = index.search(points.coordinates, k)
        if not certain.all():
            doubtful = np.flatnonzero(~certain)
            some = Embedding(points.coordinates[doubtful], points.frame)
            best[doubtful], scores[doubtful] = self._scan(some, k)
        return best, scores

    def _scan(
        self, points: Embedding, k: int, prior: Sequence[Change] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return indices and scores of the best `k` candidates after scoring all of them."""
        parts, least = self._score_blocks(points, prior)
        best, scores = best_of_blocks(parts, k)
        return best, scores - least

    def _score_blocks(
        self, points: Embedding, prior: Sequence[Change] = ()
    ) -> tuple[Iterator[tuple[slice, slice, Array]], float]:
        """Return an iterator over blocks of shifted scores, and the constant to subtract from them.

        The constant is the smallest squared norm l(y, y) of a candidate y: next to l(y, y) itself,
        small inner products would be rounded away.
        """
        excess, least = self._norms(points.frame)

        def coordinates(columns: slice) -> Array:
            """Return the coordinates of some candidates with their squared norms appended."""
            # The norm of a candidate is one more coordinate: no second pass.
            some = points.frame.evaluate(sliced(self.outputs_, columns))
            return append_column(some, excess[columns])

        C = append_column(2.0 * points.coordinates, -1.0)
        changes = [*self._left_out_changes(points), *prior]
        return score_blocks(C, coordinates, count(self.outputs_), changes), least

    def _left_out_changes(self, points: Embedding) -> list[Change]:
        """Return functions that change scores to -inf for candidates left out with a point."""
        owners = self._owners(points)
        if owners is None or points.left_out is None:
            return []
        groups = points.left_out
        return [
            lambda rows, columns: np.where(
                groups[rows, None] == owners[None, columns], -np.inf, 0.0
            )
        ]

    def _norms(self, frame: Frame) -> tuple[Array, float]:
        """Return the squared norm of each candidate minus the smallest, and the smallest."""
        n = count(self.outputs_)
        parts = [
            frame.sqnorms(sliced(self.outputs_, columns)) for columns in blocks(n, SCORE_COLUMNS)
        ]
        norms = namespace(*parts).concat(parts)
        least = float(namespace(norms).min(norms))
        return norms - least, least

    def _faiss_index(self, frame: Frame) -> FaissIndex:
        """Return the faiss index of the candidates in the coordinates of a frame, cached."""
        if self.indexed_ is None or self.indexed_.frame != frame:
            self.indexed_ = FaissIndex(frame, self.outputs_, hnsw=self.index == "hnsw")
        return self.indexed_

    def recall(self, points: Embedding, k: int = 10) -> float:
        """Return the fraction of the exact best `k` candidates that `decode_top` finds.

        It is 1 without an index and with index="faiss", and may be lower with index="hnsw".

        Parameters
        ----------
        points : Embedding
            The points, at which all candidates are scored for comparison.
        k : int, default=10
            The number of candidates for each point.
        """
        k = min(k, count(self.outputs_))
        points = points.about(self.outputs_)[0]
        found, exact = self._best_indices(points, k)[0], self._scan(points, k)[0]
        return float(np.mean([np.isin(e, f).mean() for e, f in zip(exact, found, strict=True)]))

    def __getstate__(self) -> dict:
        state = super().__getstate__()
        return {**state, "indexed_": None} if "indexed_" in state else state  # built again on use

    def _owners(self, points: Embedding) -> np.ndarray | None:
        """Return for each candidate the only left-out group that has it; -1 for several groups.

        Groups are those that are left out together; None if the points are not left-out points.
        """
        groups = points.groups_of_training()
        if groups is None or self.numbers_ is None:
            return None
        return sole_groups(self.numbers_, groups, count(self.outputs_))
