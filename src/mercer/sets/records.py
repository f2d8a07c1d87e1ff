"""Prediction sets of records: one for each field, from the left-out predictions of the field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._base.arrays import Items, count, take
from .._base.from_file import Reducible
from ..decoders.records import Field, fields_of
from ..embedding import Embedding
from ..estimators.blend import Blend
from ..estimators.pattern_map import some_points
from .checks import checked_fraction
from .left_out import LeftOutSets


class FieldModel(Reducible):
    """One field of a model of records, seen as a model with its own left-out points.

    Parameters
    ----------
    field : Field
        The field.
    records : items
        The training outputs.
    points : Embedding
        The left-out points of the model.
    """

    dropped: ClassVar[dict[str, str]] = {
        "outputs_": "the training outputs",
        "left_out_": "left-out predictions",
    }

    def __init__(self, field: Field, records: Items, points: Embedding):
        self.output_kernel_ = field.kernel
        self.outputs_ = field.values(records)
        self.left_out_ = field.points(points)

    def loo_embed(self) -> Embedding:
        """Return the left-out points of the field's training outputs."""
        return self.left_out_

    def _restored(self, outputs: Items) -> Items:
        """Return outputs unchanged."""
        return outputs

    def _one_restored(self, output: Any) -> Any:
        """Return an output unchanged."""
        return output


@dataclass(frozen=True)
class RecordSets:
    """Prediction sets for each field of records, calibrated on left-out predictions.

    Attributes
    ----------
    model
        The fitted model of records.
    fields : dict
        The fields, by name.
    sets : dict
        The sets of each field, by name.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF, Delta, Linear, On
    >>> from mercer.sets import RecordSets
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> y = {"height": X[:, 0] ** 2, "side": np.where(X[:, 0] < 0.5, "left", "right")}
    >>> kernel = On("height", Linear()) + On("side", Delta())
    >>> sets = RecordSets.of(KernelDependency(RBF(0.3), kernel, alpha=1e-3).fit(X, y))
    >>> sets.predict(X[:1], coverage=0.8)["side"] == [["left"]]
    True
    """

    model: Any
    fields: dict[Any, Field]
    sets: dict[Any, LeftOutSets]

    @classmethod
    def of(
        cls,
        model: Any,
        groups: Items | None = None,
        known: Mapping[Any, np.ndarray] | None = None,
    ) -> RecordSets:
        """Calibrate the sets of each field on the left-out predictions of a fitted model.

        Parameters
        ----------
        model
            The fitted model.
        groups : array-like, default=None
            A label for each training example; examples of a group count as one together.
        known : dict, default=None
            The training examples in which each field is known; None for all.
        """
        fields = fields_of(model.output_kernel_, model.outputs_)
        if not fields:
            raise TypeError(f"{model.output_kernel_} is not a sum of kernels on fields.")
        if groups is None and isinstance(model, Blend):
            groups = np.arange(count(model.outputs_))  # it leaves folds out, which are not groups
        points = model.loo_embed()
        every = np.arange(count(model.outputs_))
        sets = {}
        for name, own in fields.items():
            rows = every if known is None else known[name]
            view = FieldModel(own, take(model.outputs_, rows), some_points(points, rows))
            labels = None if groups is None else [groups[i] for i in rows]
            sets[name] = LeftOutSets.calibrated(view, labels)
        return cls(model, fields, sets)

    def predict(self, X: Items, coverage: float = 0.9, joint: bool = True) -> dict[Any, Any]:
        """Return the prediction sets of new inputs as a dictionary by field name.

        Parameters
        ----------
        X : items
            Inputs, as the model takes them.
        coverage : float, default=0.9
            The probability that a set holds the truth.
        joint : bool, default=True
            Whether the sets of all fields hold the truth together with this probability, by
            Bonferroni's inequality. If False, the sets of each field do.
        """
        points, level = self.model.embed(X), checked_fraction(coverage, "coverage")
        level = 1.0 - (1.0 - level) / len(self.fields) if joint else level
        return {
            name: sets.sets_of(self.fields[name].points(points), level, joint)
            for name, sets in self.sets.items()
        }
