"""Training data in the form that models take."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.arrays import Items, count, take


@dataclass(frozen=True)
class Pairs:
    """Inputs and outputs with their groups and weights."""

    X: Items
    y: Items
    groups: np.ndarray | None
    weights: np.ndarray | None

    @property
    def n(self) -> int:
        """The number of pairs."""
        return count(self.y)

    def rows(self, index: np.ndarray) -> Pairs:
        """Return some of the pairs."""
        groups = None if self.groups is None else self.groups[index]
        weights = None if self.weights is None else self.weights[index]
        return Pairs(take(self.X, index), take(self.y, index), groups, weights)

    def fitted(self, model: Any) -> Any:
        """Return a model fitted on the pairs, without the warnings of a candidate."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return model.fit(self.X, self.y, groups=self.groups, sample_weight=self.weights)
