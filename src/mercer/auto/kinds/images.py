"""Images as outputs: one array with several axes in each cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._base.arrays import Items
from ...spaces import Space, Vectors
from ..pictures import Picture, image_pair, small_image
from ..tables.table import Name, Table
from .base import Comparison
from .curves import CurveKind


class ImageKind(CurveKind):
    """Images, which are compared as a whole."""

    kind_ = "image"
    caption = "True (left) and predicted (right), from a small to a large error."
    is_single = True
    space: Space = Vectors()

    @property
    def _item_shape(self) -> tuple[int, ...]:
        """The shape of one image."""
        return tuple(self.shape_)

    def describe(self, table: Table, y: Items) -> dict[Name, str]:
        """Return the shape of the images."""
        shape = " × ".join(map(str, np.shape(y)[1:]))
        return dict.fromkeys(self.columns_, f"arrays of {shape}")

    def pictures(self, shown: Comparison) -> list[Picture]:
        """Return the true and the predicted image of some rows."""
        Y = np.asarray(shown.truth, dtype=float)
        G = np.asarray(shown.left_out, dtype=float).reshape(Y.shape)
        limits = float(Y.min()), float(Y.max())
        return [image_pair(f"row {number}", Y[i], G[i], limits) for number, i in shown.numbered]

    def shown(self, item: Any, truth: Items) -> Any:
        """Return a small picture of an image."""
        Y = np.asarray(truth)
        return small_image(np.reshape(item, Y.shape[1:]), (float(Y.min()), float(Y.max())))
