"""Sets of outputs that hold the true one with a given probability, from left-out errors."""

from __future__ import annotations

from math import ceil
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._arrays import Items, host, take
from ..decoders._targets import targets
from .outputs import ARRAYS, Outputs


class CoveringSets(BaseEstimator):
    """How far left-out predictions were from the truth, and sets around new ones that are as wide.

    For numbers, curves and images a band that holds all values of an output at once; for label sets
    the labels that all sets within the radius have, and those that some have; for other outputs a
    list of those known from training, nearest first.

    Parameters
    ----------
    kind
        What outputs are.
    """

    def __init__(self, kind: str = "number"):
        self.kind = kind

    def fit(self, model: Any, y: Items) -> CoveringSets:
        """Keep the left-out errors of a fitted model in order."""
        if self.kind in ARRAYS:
            truth = np.asarray(y).reshape(len(y), -1)
            errors = np.abs(truth - np.asarray(model.loo_predict()).reshape(truth.shape))
            spread = np.sqrt((errors**2).mean(axis=0))
            self.spread_ = np.where(spread > 0, spread, 1.0)
            self.errors_ = np.sort((errors / self.spread_).max(axis=1))
            return self
        self.errors_ = np.sort(np.sqrt(host(model.loo_embed().sqdistances_to(y))))
        first = model.output_kernel_.space.unique(y)[0]
        self.known_ = take(y, first[:1] if self.kind == "labels" else first)
        return self

    def __call__(self, model: Any, X: Items, coverage: float) -> Any:
        """The sets of some inputs."""
        radius = quantile(self.errors_, coverage)
        if self.kind in ARRAYS:
            middle = np.asarray(model.predict(X))
            half = (radius * self.spread_).reshape(middle.shape[1:] or (1,))
            return middle - half, middle + half
        points = model.embed(X)
        if self.kind == "labels":
            return _label_bounds(points, model, radius, self.known_)
        distances = host(points.distances(self.known_))
        return [
            [self.known_[j] for j in np.argsort(row, kind="stable") if row[j] <= radius]
            for row in distances
        ]


def check_coverage(coverage: Any, n: int) -> float:
    """A share strictly between 0 and 1 that so many rows can tell."""
    if not isinstance(coverage, Real) or not 0.0 < float(coverage) < 1.0:
        raise ValueError(f"coverage must be a number between 0 and 1, got {coverage!r}.")
    if ceil(float(coverage) * (n + 1)) > n:
        raise ValueError(
            f"{n} rows are too few for coverage {coverage}: need at least "
            f"{ceil(float(coverage) / (1.0 - float(coverage)))}."
        )
    return float(coverage)


def quantile(errors: np.ndarray, coverage: float) -> float:
    """The ⌈coverage (n + 1)⌉-th smallest of n errors, which are in order."""
    return float(errors[ceil(coverage * (len(errors) + 1)) - 1])


def _label_bounds(points: Any, model: Any, radius: float, like: Items) -> list[tuple[Any, Any]]:
    """For each point the labels of all sets within the radius, and those of any.

    ‖g - y‖² is a sum over labels: the nearest set has min(g², (1 - g)²) at each, and a set that
    differs from it in one label costs what that label adds.
    """
    kernel = model.output_kernel_.multiple.kernel
    bounds = []
    for _, G in targets(points, model.output_kernel_):
        without, with_it = G**2, (1.0 - G) ** 2
        best = np.minimum(without, with_it)
        rest = best.sum(axis=1, keepdims=True) - best
        nearest = best.sum(axis=1, keepdims=True) * (1.0 + 1e-12)
        reach = np.maximum(radius**2, nearest)  # an empty ball holds the nearest set
        surely, possibly = rest + without > reach, rest + with_it <= reach
        both = (kernel.decoded(chosen, like) for chosen in (surely, possibly))
        bounds += list(zip(*both, strict=True))
    return bounds


def set_columns(found: Any, outputs: Outputs) -> dict[str, Any]:
    """What `predict_set` gives as columns of a table."""
    if outputs.kind_ in ARRAYS or outputs.kind_ == "labels":
        names = ("lower", "upper") if outputs.kind_ in ARRAYS else ("surely", "possibly")
        ends = found if outputs.kind_ in ARRAYS else zip(*found, strict=True)
        return {
            f"{end} {name}": cells
            for end, items in zip(names, ends, strict=True)
            for name, cells in outputs.space_.write(list(items)).items()
        }
    written = [outputs.space_.write(items) if items else {} for items in found]
    return {
        f"set of {name}": [_distinct(cells.get(name, ())) for cells in written]
        for name in outputs.columns_
    }


def _distinct(cells: Any) -> list:
    plain = [cell.tolist() if isinstance(cell, np.ndarray | np.generic) else cell for cell in cells]
    return list({repr(cell): cell for cell in plain}.values())
