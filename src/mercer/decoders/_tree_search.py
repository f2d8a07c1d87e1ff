"""The search for the best tree of a point, by charts that maximise upper bounds of the score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from ._chart import Chart
from ._grammar import Grammar

MOST_CHARTS = 12
"""The largest number of charts for one point."""
TREES = 2000
"""The largest number of trees of the last chart that are scored to prove that one is best."""
EQUAL_SCORES = 1e-9
"""The relative difference up to which two scores count as equal."""


@dataclass
class TreeSearch:
    """The search for the tree with the highest score at one point.

    Attributes
    ----------
    grammar, g
        The grammar, and the point in its features.
    chart
        A function from the gains of the features to the chart with these gains.
    found
        The trees found so far with their scores.
    bound
        An upper bound of the score of every tree of the grammar.
    """

    grammar: Grammar
    g: np.ndarray
    chart: Callable[[np.ndarray], Chart]
    found: dict[Any, float] = field(default_factory=dict)
    bound: float = np.inf

    @property
    def best(self) -> float:
        """The highest score of the trees found so far."""
        return max(self.found.values(), default=-np.inf)

    def proved(self, best: float) -> bool:
        """Return whether the bound proves that no tree has a score above `best`."""
        return self.bound - best <= EQUAL_SCORES * max(1.0, abs(best))

    def climb(self) -> tuple[Chart, float] | None:
        """Maximise a sequence of upper bounds of the score, until a tree repeats or is proved best.

        Return the chart of the least bound, and the constant that makes the values of its trees
        upper bounds of their scores; None if no tree can be derived.
        """
        w, below = self.grammar.weights, np.maximum(np.floor(self.g), 0.0)
        least = None
        for _ in range(MOST_CHARTS):
            gains = np.append(w * (2.0 * self.g - 2.0 * below - 1.0), -self.grammar.pair_weight)
            chart, shift = self.chart(gains), float(w @ (below * (below + 1.0)))
            value, tree = next(chart.trees(), (None, None))
            if value is None:
                return None
            if value + shift < self.bound:
                self.bound, least = value + shift, (chart, shift)
            known = tree in self.found
            counts = self._store_score(tree)
            if known or self.proved(self.best):
                break
            below = np.where(2.0 * self.g > 2.0 * counts + 1.0, counts, counts - 1.0)
            below = np.maximum(below, 0.0)
        return least

    def score_listed_trees(self, chart: Chart, shift: float, incumbent: float) -> None:
        """Score the trees of a chart by falling bound, until none can exceed `incumbent`.

        `incumbent` is the score of the best other tree. The bound of a tree is its value in the
        chart plus `shift`.
        """
        trees = chart.trees()
        for value, tree in islice(trees, TREES):
            self.bound = min(self.bound, value + shift)
            if self.proved(max(self.best, incumbent)):
                return
            self._store_score(tree)
        if next(trees, None) is None:  # all of them were scored
            self.bound = self.best

    def _store_score(self, tree: Any) -> np.ndarray:
        """Store the score of a tree; return its feature counts."""
        counts, others = self.grammar.count_features(tree)
        score = self.grammar.weights @ (2.0 * self.g * counts - counts**2)
        self.found[tree] = float(score) - self.grammar.pair_weight * others
        return counts
