"""The output side of a ridge problem: coordinates of the outputs, and the frame of points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._arrays import Array, dense, like, namespace
from .._plan import OUTPUT_SQUARES, require_exact
from ..embedding import Embedding, Frame, OrthonormalFrame
from ..problem import Problem


@dataclass(frozen=True)
class Outputs:
    """Outputs in coordinates.

    Attributes
    ----------
    rows
        One row an output: its coordinates less the mean, times the root of its weight.
    mean
        The weighted mean that was taken off; None without an intercept.
    roots
        The roots of the weights as a column; None for weights of one.
    frame
        The vectors that the coordinates refer to.
    """

    rows: Array
    mean: Array | None
    roots: Array | None
    frame: Frame

    @classmethod
    def of(cls, problem: Problem) -> Outputs:
        """The coordinates that a problem asks for."""
        if problem.inputs.features is not None and problem.exact_outputs():
            # Inputs of low rank alone leave n² for outputs.
            require_exact(problem.n, OUTPUT_SQUARES, where=problem.where)
        map, V = problem.output_coordinates()
        return cls.centred(dense(V), problem.weights, problem.intercept, OrthonormalFrame(map))

    @classmethod
    def centred(
        cls, V: Array, weights: np.ndarray | None, intercept: bool, frame: Frame
    ) -> Outputs:
        """Coordinates less their weighted mean, times the roots of the weights."""
        mean = None
        if intercept:
            share = None if weights is None else like(weights / weights.sum(), V)
            mean = namespace(V).mean(V, axis=0) if share is None else share @ V
        return cls.about(V, mean, weights, frame)

    @classmethod
    def about(
        cls, V: Array, mean: Array | None, weights: np.ndarray | None, frame: Frame
    ) -> Outputs:
        """Coordinates less a given mean, times the roots of the weights."""
        rows = V if mean is None else V - mean
        roots = None if weights is None else like(np.sqrt(weights)[:, None], V)
        return cls(rows if roots is None else roots * rows, mean, roots, frame)

    def points(self, G: Array, problem: Problem) -> Embedding:
        """Left-out points of coordinates G, with the groups that did not see them."""
        labels = problem.left_out_labels
        return Embedding(G, self.frame, left_out=labels, inputs=problem.given)

    def unweighted(self, R: Array) -> Array:
        """Rows without the roots of their weights."""
        return R if self.roots is None else R / self.roots

    @property
    def coordinates(self) -> Array:
        """Coordinates of the outputs as they are, neither centred nor weighted."""
        V = self.unweighted(self.rows)
        return V if self.mean is None else V + self.mean
