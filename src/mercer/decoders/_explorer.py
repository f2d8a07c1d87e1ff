"""What the search decoder knows of a space: scores of items and of their neighbours."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._base.arrays import Items, object_array
from ..kernels import Kernel
from ..spaces.moves import Moves


class Scored(NamedTuple):
    """An item with its key and its score."""

    key: Hashable
    item: Any
    score: float


@dataclass(frozen=True)
class Goal:
    """The predicted features of an output, with their weights.

    The score of an item with features n is -Σ_f w_f (g_f - n_f)², minus `price` for each feature
    that has no column.

    Attributes
    ----------
    g, w, price
        The predicted features, the weights, and the price.
    """

    g: np.ndarray
    w: np.ndarray
    price: float

    @property
    def offset(self) -> float:
        """The part -Σ_f w_f g_f² of the score, which is the same for all items."""
        return -float(self.w @ self.g**2)

    def scores(self, features: Any, items: Items) -> np.ndarray:
        """Return the scores of items with the given features of their kernel."""
        F = features.rows(items)
        scores = self.offset + 2.0 * (F @ (self.w * self.g)) - F.multiply(F) @ self.w
        if features.outside is not None:
            scores = scores - self.price * features.outside(items)
        return np.asarray(scores)


class Explorer:
    """Scores of items and of their neighbours, by the features of a kernel and moves in Python.

    Parameters
    ----------
    kernel
        The fitted output kernel, with explicit features.
    moves
        The moves of the training outputs.
    """

    kernel: Any
    moves: Any
    compiled = False
    """Whether scores are compiled."""
    scored = 0
    """The number of items that were scored so far."""

    def __init__(self, kernel: Kernel, moves: Moves):
        self.kernel, self.moves = kernel, moves

    def coded(self, items: Items) -> list[Any]:
        """Return training outputs in the form in which they are searched."""
        return list(items)

    def decoded(self, item: Any) -> Any:
        """Return an item in the form of the training outputs."""
        return item

    def smallest(self) -> Any:
        """Return an item to start from without training outputs."""
        return self.moves.smallest()

    def score(self, items: list[Any], goal: Goal) -> list[Scored]:
        """Return items with their keys and scores."""
        batch = self.kernel.as_outputs(items) if self.kernel.on_vectors else object_array(items)
        scores = goal.scores(self.kernel.features, self.kernel.space.check(batch, "y"))
        self.scored += len(items)
        keys = map(self.kernel.space.key, items)
        return [Scored(*row) for row in zip(keys, items, scores.tolist(), strict=True)]

    def expand(self, item: Any, goal: Goal, least: float, k: int, seen: set) -> list[Scored]:
        """Return the best `k` neighbours that are not in `seen` and score more than `least`."""
        new = {self.kernel.space.key(other): other for other in self.moves.neighbours(item)}
        items = [other for key, other in new.items() if key not in seen]
        found = [one for one in self.score(items, goal) if one.score > least] if items else []
        return sorted(found, key=lambda one: -one.score)[:k]
