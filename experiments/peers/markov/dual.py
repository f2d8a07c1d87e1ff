"""The dual of the max-margin problem on chains: its points, their duality gaps, its solver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np

from .chains import LABEL_TYPE

STEPS = 10
"""The number of pairwise steps of a chain after each call of Viterbi."""
ROOM = 32
"""The number of active labellings for which each chain has memory at first."""
NEGLIGIBLE = 0.1
"""A chain is skipped if its gap is below this fraction of the allowed gap per chain."""


@dataclass(frozen=True)
class DualityGap:
    """A primal and a dual objective value, between which the optimum lies."""

    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """The primal minus the dual value, a bound on the distance from the optimum."""
        return max(self.primal - self.dual, 0.0)

    @property
    def relative(self) -> float:
        """The gap divided by the dual value; 0 if the gap is only a rounding error."""
        if self.gap <= 1e-12 * abs(self.primal):
            return 0.0
        return self.gap / self.dual if self.dual > 0 else np.inf


@dataclass(frozen=True)
class DualProblem:
    """The dual of the max-margin problem for labelled chains.

    Attributes
    ----------
    rows, gram
        The Gram matrix K of all positions of all chains if `gram` is True, else coordinates U with
        UUᵀ = K.
    starts, gold
        Where the positions of each chain begin, and the number of the true label at each position.
    size
        The number of labels.
    C
        The cost of a unit of missing margin in the objective.
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

    def node_scores(self, W: np.ndarray) -> np.ndarray:
        """Return the score of each label (column) at each position (row) at a dual point.

        The scores are K A, with the Gram matrix K of the positions, the coefficients A of the
        point, and its products W = A.T @ rows.
        """
        return np.ascontiguousarray(W.T) if self.gram else self.rows @ W.T


@dataclass(frozen=True)
class DualPoint:
    """A point of the dual problem: the coefficients of label scores, and the edge scores.

    W is A.T @ rows, and `edges` the scores of label bigrams. The coefficients are
    A[t, c] = C ([c is the true label at t] - μ_t(c)), where μ_t(c) is the total weight of the
    labellings that have label c at position t.
    """

    A: np.ndarray
    W: np.ndarray
    edges: np.ndarray

    @classmethod
    def origin(cls, problem: DualProblem) -> DualPoint:
        """Return the starting point: weight 1 on the true labellings, so that all scores are 0."""
        size, (positions, columns) = problem.size, problem.rows.shape
        return cls(*(np.zeros(s) for s in ((positions, size), (size, columns), (size, size))))

    def interpolate(self, other: DualPoint, weight: float) -> DualPoint:
        """Return the point (1 - weight) * self + weight * other."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return DualPoint(*((1.0 - weight) * a + weight * b for a, b in pairs))

    def without_rounding_errors(self, problem: DualProblem) -> DualPoint:
        """Return the point with its products W computed again, without accumulated errors."""
        return DualPoint(self.A, self.A.T @ problem.rows, self.edges)

    def duality_gap(self, problem: DualProblem) -> DualityGap:
        """Return the primal and the dual objective value at this point as a `DualityGap`."""
        from ._chain_loops import total_hinge

        nodes = problem.node_scores(self.W)
        sqnorm = float((self.A * nodes).sum())
        if problem.transitions > 0:
            sqnorm += float((self.edges**2).sum()) / problem.transitions
        loss = float(self.A[np.arange(len(self.A)), problem.gold].sum())
        hinge = total_hinge(nodes, self.edges, problem.starts, problem.gold)
        return DualityGap(0.5 * sqnorm + problem.C * hinge, loss - 0.5 * sqnorm)


class BlockFrankWolfe:
    """A block-coordinate Frank–Wolfe solver; each block is one chain.

    Parameters
    ----------
    problem, goal
        The problem, and the relative gap at which the caller stops.
    average
        Whether `passes` yields the average of the points after all passes, later ones with more
        weight, rather than the last point.
    rng
        The random state for the order of the chains.

    Attributes
    ----------
    paths, weights, sizes
        The active labellings of each chain, their weights and their number. At first the true
        labelling has weight 1.
    """

    def __init__(
        self, problem: DualProblem, goal: float, average: bool, rng: np.random.RandomState
    ):
        self.problem, self.goal, self.average, self.rng = problem, goal, average, rng
        lengths = np.diff(problem.starts)
        n, longest = len(lengths), int(lengths.max(initial=0))
        self.paths, self.weights = (
            np.zeros((n, ROOM, longest), dtype=LABEL_TYPE),
            np.zeros((n, ROOM)),
        )
        self.paths[:, 0][np.arange(longest) < lengths[:, None]] = problem.gold
        self.weights[:, 0] = 1.0
        self.sizes = np.ones(n, dtype=np.int64)

    def passes(self) -> Iterator[tuple[DualPoint, DualityGap]]:
        """Yield the current point and its duality gap after each pass over all chains."""
        point = mean = DualPoint.origin(self.problem)
        small = 0.0
        for k in count():
            self._pass(point, small)
            duality_gap = point.duality_gap(self.problem)
            small = NEGLIGIBLE * self.goal * max(duality_gap.dual, 0.0) / len(self.sizes)
            if self.average:
                mean = mean.interpolate(point, 2.0 / (k + 2.0))
                yield mean, mean.duality_gap(self.problem)
            else:
                yield point, duality_gap

    def _pass(self, point: DualPoint, small: float) -> None:
        """Update the point in place by one pass over all chains, in random order.

        Chains with a gap of at most `small` are skipped.
        """
        from ._dual_loops import Dual, update_chains

        p = self.problem
        dual = Dual(p.rows, p.gram, p.C, p.transitions, point.A, point.W, point.edges)
        order = self.rng.permutation(len(self.sizes))
        while True:
            active = self.paths, self.weights, self.sizes
            done = update_chains(order, dual, p.starts, p.gold, *active, small, STEPS)
            if done == len(order):
                return
            order = order[done:]  # one chain had no room: double it
            self.paths = np.concatenate([self.paths, np.zeros_like(self.paths)], axis=1)
            self.weights = np.concatenate([self.weights, np.zeros_like(self.weights)], axis=1)
