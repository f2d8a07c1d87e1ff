"""The map of a fit on landmarks among windows, at the places of any grid."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, Items, blocks, count, is_foreign, like, namespace
from ..features import FeatureMap
from ..operators.shared import Shared
from ..operators.views import Marks, View
from ..operators.windows import like_index
from .place_moments import DEVICE_ENTRIES, HOST_ENTRIES


def joined(R: Array, grid: Any) -> Array:
    """Values at the places of a grid that count as rows over all places; others are zero."""
    xp = namespace(R)
    if grid.mask is not None:
        full = like(np.zeros((R.shape[0], grid.size, grid.channels)), R)
        full[:, like_index(grid.live, R), :] = R
        R = full
    return xp.reshape(R, (R.shape[0], -1))


class PlaceMap(FeatureMap):
    """g(x)_p = Σ_l K((x, p), l) c_l over landmarks l."""

    def __init__(self, kernel: Shared, marks: Marks, coef: Array):
        self.kernel = kernel
        self.marks = marks
        self.coef = coef

    def transform(self, A: Items) -> Array:
        """The values at all places of the training grid."""
        kernel = self.kernel
        return joined(self.on(A, kernel.input_grid, kernel.output_grid), kernel.output_grid)

    def on(self, A: Items, inputs: Any, outputs: Any) -> Array:
        """The values at the places of any grid for fields on any grid, (n, places, channels)."""
        view = View(self.kernel, inputs, outputs)
        A = inputs.split(like(A, self.marks.positions))
        xp, m = namespace(A), self.marks.shown.shape[0]
        entries = DEVICE_ENTRIES if is_foreign(A) else HOST_ENTRIES
        parts = []
        for rows in blocks(count(A), max(1, entries // m)):
            values = view.values(A[rows, ...], self.marks)
            found = [(p, K @ self.coef) for p, K in values]
            parts.append(xp.stack([v for _, v in sorted(found, key=lambda f: f[0])], axis=1))
        return parts[0] if len(parts) == 1 else xp.concat(parts)

    @property
    def coefficients(self) -> Array:
        """The c_l, one row a landmark."""
        return self.coef
