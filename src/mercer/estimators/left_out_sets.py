"""Prediction sets around a model that is fitted already, from its own left-out predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from numbers import Real
from typing import Any

import numpy as np

from .._arrays import Items
from .blend import Blend
from .pairs import group_labels
from .prediction_sets import Bands, predicted_directly, row_weights, weighted_quantile
from .set_shapes import BandShape, CandidateShape


@dataclass(frozen=True)
class LeftOutSets:
    """Bands and lists of any coverage, calibrated on the left-out predictions of a fitted model.

    Nothing is fitted again, and coverage may be chosen when predicting. The level is about what is
    asked for and is *not* proven: left-out models hold what was chosen on all examples, and what
    they lack of the model itself is not added (`ConformalSets` does both).

    Attributes
    ----------
    model
        A fitted model with left-out points: `KernelDependency`, `KernelDependencyCV`,
        `ForestDependency`, `Blend`.
    shape
        Bands for vectors and curves, lists of candidates for other outputs.
    scores, weights
        Of every left-out prediction.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependencyCV
    >>> from mercer.estimators.left_out_sets import LeftOutSets, set_columns
    >>> X = np.linspace(0, 1, 60)[:, None]
    >>> Y = np.hstack([np.sin(6 * X), np.cos(6 * X)])
    >>> sets = LeftOutSets.of(KernelDependencyCV().fit(X, Y))
    >>> set_columns(sets.predict(X[:1], coverage=0.9), ["sin", "cos"]).keys()
    dict_keys(['sin lower', 'sin upper', 'cos lower', 'cos upper'])
    """

    model: Any
    shape: Any
    scores: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, model: Any, groups: Items | None = None) -> LeftOutSets:
        """Calibrate on the left-out predictions that the model has.

        Parameters
        ----------
        model
            The fitted model.
        groups
            A label for each training example; examples of a group count as one together. None for
            the groups that the model left out (of a `Blend`, which leaves folds out, none).
        """
        if not hasattr(model, "loo_embed"):
            raise TypeError(
                f"{type(model).__name__} has no left-out predictions to calibrate sets on: fit "
                "ConformalSets around it."
            )
        points = model.loo_embed()
        left_out = np.unique(np.asarray(points.left_out), return_inverse=True)[1]
        known = groups is not None or isinstance(model, Blend)
        labels = group_labels(groups, len(left_out)) if known else left_out
        if predicted_directly(model.output_kernel_):
            shape: Any = BandShape(model, points, model.outputs_)
        else:
            shape = CandidateShape(model, None, left_out)
        return cls(model, shape, shape.scores(points, model.outputs_), row_weights(labels))

    def predict(self, X: Items, coverage: float = 0.9) -> Sequence:
        """The sets of new inputs: `Bands`, or lists of outputs, nearest first."""
        radius = weighted_quantile(self.scores, self.weights, self.check(coverage))
        points = self.model.embed(X)
        return self.shape.sets(points, np.full(len(points), radius))

    def check(self, coverage: Any) -> float:
        """A share strictly between 0 and 1 that so many groups can tell."""
        if not isinstance(coverage, Real) or not 0.0 < float(coverage) < 1.0:
            raise ValueError(f"coverage must be a number between 0 and 1, got {coverage!r}.")
        if self.weights.sum() < float(coverage) - 1e-12:
            groups = round(1.0 / (1.0 - self.weights.sum())) - 1
            raise ValueError(
                f"{groups} rows or groups are too few for coverage {coverage}: need at least "
                f"{ceil(float(coverage) / (1.0 - float(coverage)) - 1e-9)}."
            )
        return float(coverage)


def set_columns(sets: Sequence, names: Sequence[Any]) -> dict[str, Any]:
    """Sets as columns of a table: the ends of bands, or the lists and how long they are.

    Parameters
    ----------
    sets
        What `LeftOutSets` or `ConformalSets` predict.
    names
        Those of the output columns; one for each value of an output where sets are bands.
    """
    if isinstance(sets, Bands):
        lower, upper = (np.reshape(A, (len(sets), -1)) for A in (sets.lower, sets.upper))
        if lower.shape[1] != len(names):
            names = [f"{names[0]} {j + 1}" for j in range(lower.shape[1])]
        ends = zip(names, lower.T, upper.T, strict=True)
        return {f"{name} {end}": v for name, *both in ends
                for end, v in zip(("lower", "upper"), both, strict=True)}  # fmt: skip
    if not isinstance(sets[0], list):
        raise TypeError('balls are no columns: use kind="band".')
    return {f"{names[0]} set": list(sets), f"{names[0]} number": [len(some) for some in sets]}
