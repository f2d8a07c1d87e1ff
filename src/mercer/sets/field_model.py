"""One field of a model of records, for prediction sets of that field."""

from __future__ import annotations

from typing import Any, ClassVar

from .._base.arrays import Items
from .._base.from_file import Reducible
from ..decoders.records import Field
from ..embedding import Embedding


class FieldModel(Reducible):
    """What a model of records knows of one field: its training outputs and left-out points.

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

    def embed(self, X: Items) -> Embedding:
        """Refuse: points of new inputs come from the model of records."""
        raise NotImplementedError("the points of a field come from RecordSets.predict.")

    def loo_embed(self) -> Embedding:
        """Return the left-out points of the field."""
        return self.left_out_

    def _flattened(self, outputs: Items) -> Items:
        return outputs

    def _one_returned(self, output: Any) -> Any:
        return output
