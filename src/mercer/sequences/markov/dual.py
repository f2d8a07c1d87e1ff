"""The dual of the max-margin problem on chains: its points, their certificates, its ascent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np

from .chains import LABEL

STEPS = 10
"""Steps among the active labellings of a chain for each answer of the oracle."""
ROOM = 32
"""Active labellings that a chain has room for at first."""
NEGLIGIBLE = 0.1
"""Fraction of the tolerated gap, spread over the chains, below which no step is made."""


@dataclass(frozen=True)
class DualityGap:
    """Values of the primal and the dual, between which the optimum lies."""

    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """How far the objective can be from its minimum."""
        return max(self.primal - self.dual, 0.0)

    @property
    def relative(self) -> float:
        """The gap relative to the dual value; 0 if there is no gap."""
        if self.gap <= 1e-12 * abs(self.primal):
            return 0.0
        return self.gap / self.dual if self.dual > 0 else np.inf


@dataclass(frozen=True)
class DualProblem:
    """Chains to be labelled, with a margin.

    Attributes
    ----------
    rows
        K between all places of all chains (`gram`), or coordinates U with UUᵀ = K.
    gram
        Which of the two.
    starts, gold
        Where the places of each chain begin, and the number of the right label of every place.
    size
        The number of labels.
    C
        What a unit of missing margin costs.
    transitions
        The weight of the label bigrams in the joint kernel.
    """

    rows: np.ndarray
    gram: bool
    starts: np.ndarray
    gold: np.ndarray
    size: int
    C: float
    transitions: float

    def nodes(self, W: np.ndarray) -> np.ndarray:
        """Return the node scores K A of all positions."""
        return np.ascontiguousarray(W.T) if self.gram else self.rows @ W.T


@dataclass(frozen=True)
class Point:
    """A dual point by what is linear in it: A, W = Aᵀ rows and the edge scores.

    A[t, c] = C ([c is right at t] - μ_t(c)), where μ_t are the marginals of place t under the
    weights of the labellings.
    """

    A: np.ndarray
    W: np.ndarray
    edges: np.ndarray

    @classmethod
    def origin(cls, problem: DualProblem) -> Point:
        """Return the point with all weight on the right labellings, whose scores are zero."""
        size, (places, columns) = problem.size, problem.rows.shape
        return cls(*(np.zeros(s) for s in ((places, size), (size, columns), (size, size))))

    def towards(self, other: Point, share: float) -> Point:
        """Return a mixture of the point with another."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Point(*((1.0 - share) * a + share * b for a, b in pairs))

    def refreshed(self, problem: DualProblem) -> Point:
        """Return the same point without the rounding errors that W has accumulated."""
        return Point(self.A, self.A.T @ problem.rows, self.edges)

    def certificate(self, problem: DualProblem) -> DualityGap:
        """Return the primal and dual values of a point."""
        from ._chain_loops import total_hinge

        nodes = problem.nodes(self.W)
        sqnorm = float((self.A * nodes).sum())
        if problem.transitions > 0:
            sqnorm += float((self.edges**2).sum()) / problem.transitions
        loss = float(self.A[np.arange(len(self.A)), problem.gold].sum())
        hinge = total_hinge(nodes, self.edges, problem.starts, problem.gold)
        return DualityGap(0.5 * sqnorm + problem.C * hinge, loss - 0.5 * sqnorm)


class Ascent:
    """Block-coordinate Frank–Wolfe: passes over the chains, each in an order of its own.

    Parameters
    ----------
    problem, goal
        What to solve, and the relative gap at which one means to stop.
    average
        Whether to give the average of the points after all passes, later ones counting more.
    rng
        Draws the orders.

    Attributes
    ----------
    paths, weights, sizes
        The active labellings of every chain, their weights and their number; at first the right
        one has all weight.
    """

    def __init__(
        self, problem: DualProblem, goal: float, average: bool, rng: np.random.RandomState
    ):
        self.problem, self.goal, self.average, self.rng = problem, goal, average, rng
        lengths = np.diff(problem.starts)
        n, longest = len(lengths), int(lengths.max(initial=0))
        self.paths, self.weights = np.zeros((n, ROOM, longest), dtype=LABEL), np.zeros((n, ROOM))
        self.paths[:, 0][np.arange(longest) < lengths[:, None]] = problem.gold
        self.weights[:, 0] = 1.0
        self.sizes = np.ones(n, dtype=np.int64)

    def passes(self) -> Iterator[tuple[Point, DualityGap]]:
        """Yield the point after every pass, with its certificate."""
        point = mean = Point.origin(self.problem)
        small = 0.0
        for k in count():
            self._sweep(point, small)
            now = point.certificate(self.problem)
            small = NEGLIGIBLE * self.goal * max(now.dual, 0.0) / len(self.sizes)
            if self.average:
                mean = mean.towards(point, 2.0 / (k + 2.0))
                yield mean, mean.certificate(self.problem)
            else:
                yield point, now

    def _sweep(self, point: Point, small: float) -> None:
        from ._dual_loops import sweep

        p = self.problem
        order = self.rng.permutation(len(self.sizes))
        while True:
            done = sweep(
                order, p.rows, p.gram, p.starts, p.gold, p.C, p.transitions, point.W, point.A,
                point.edges, self.paths, self.weights, self.sizes, small, STEPS,
            )  # fmt: skip
            if done == len(order):
                return
            order = order[done:]  # one chain had no room: make twice as much
            self.paths = np.concatenate([self.paths, np.zeros_like(self.paths)], axis=1)
            self.weights = np.concatenate([self.weights, np.zeros_like(self.weights)], axis=1)
