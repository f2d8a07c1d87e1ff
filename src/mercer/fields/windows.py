"""Windows of input fields around the grid points of output fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from functools import cached_property

import numpy as np
from joblib import hash as joblib_hash

from .._base.arrays import Array, like, namespace, take_columns
from ..spaces import Grid


def window_offsets(
    inputs: Grid, outputs: Grid, radius: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the offsets in a window, and whether each axis is relative to its centre.

    Along the axes that outputs also have, a window reaches `radius` around its centre, in steps of
    the input grid (None: as far as the grid). Along other axes it contains all grid points.
    """
    relative = np.array([name in outputs.axes for name in inputs.axes])
    if inputs.points is not None:
        reach = float(np.ptp(inputs.points, axis=0).max()) if radius is None else radius
        steps = int(reach / inputs.step + 1e-9)
        lines = [inputs.step * np.arange(-steps, steps + 1)] * len(inputs.axes)
        relative[:] = True
    else:
        lines = [
            _axis_offsets(inputs, axis, radius, bool(relative[axis]))
            for axis in range(len(relative))
        ]
    offsets = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, len(lines))
    if radius is not None:
        far = (offsets[:, relative] ** 2).sum(axis=1)
        offsets = offsets[far <= radius**2 * (1 + 1e-9)]
    return offsets, relative


def _axis_offsets(inputs: Grid, axis: int, radius: float | None, relative: bool) -> np.ndarray:
    """Return a window's offsets along one axis, or the grid's coordinates if not `relative`.

    Offsets reach up to `radius`; None for the whole length of the grid.
    """
    n, h, start = inputs.shape[axis], inputs.spacing[axis], inputs.origin[axis]
    if not relative:
        return start + h * np.arange(n)
    if inputs.periodic[axis]:
        low, high = -((n - 1) // 2), n // 2
    else:
        low, high = 1 - n, n - 1
    if radius is not None:
        most = int(radius / h + 1e-9)
        low, high = max(low, -most), min(high, most)
    return h * np.arange(low, high + 1)


@dataclass(frozen=True)
class Windows:
    """The windows on an input grid around all grid points of an output grid.

    Attributes
    ----------
    index, weight
        The input grid points, and their weights, from which the value at each offset from each
        centre is interpolated, (centres, offsets, corners).
    centre
        The number of the centre of each output grid point. Grid points that differ only along axes
        that inputs do not have share a centre.
    """

    index: np.ndarray
    weight: np.ndarray
    centre: np.ndarray

    @classmethod
    def of(cls, inputs: Grid, outputs: Grid, offsets: np.ndarray, relative: np.ndarray) -> Windows:
        """Return the windows with these offsets around all output grid points, from a cache."""
        key = joblib_hash((astuple(inputs), astuple(outputs), offsets, relative))
        if key not in _LAST:
            while len(_LAST) >= CACHED_WINDOWS:
                _LAST.pop(next(iter(_LAST)))
            _LAST[key] = cls._computed(inputs, outputs, offsets, relative)
        return _LAST[key]

    @classmethod
    def _computed(
        cls, inputs: Grid, outputs: Grid, offsets: np.ndarray, relative: np.ndarray
    ) -> Windows:
        """Compute the windows with these offsets around all unmasked output grid points."""
        names = [name for name in inputs.axes if name in outputs.axes]
        columns = [outputs.axes.index(name) for name in names]
        at = outputs.coordinates[outputs.live][:, columns]
        centres, centre = np.unique(at.round(12), axis=0, return_inverse=True)
        points = np.zeros((len(centres), len(offsets), len(inputs.axes))) + offsets
        points[:, :, relative] += centres[:, None, :]
        index, weight = inputs.interpolation_weights(points)
        return cls(index, weight, centre.reshape(-1))

    @cached_property
    def inside(self) -> np.ndarray:
        """Whether the field has a value at each offset from each centre, (centres, offsets)."""
        return np.asarray((self.weight > 0).any(axis=-1))

    def values(self, X: Array) -> Array:
        """Return the windows of fields (n, size, channels) around all centres.

        The shape of the result is (n, centres, offsets, channels); values outside are zero.
        """
        return interpolated(X, self.index, self.weight)

    def by_centre(self, X: Array) -> Iterator[tuple[np.ndarray, Array]]:
        """Yield for each centre the offsets inside the field, and the values of fields there.

        The shape of the values of fields (n, size, channels) is (n, offsets, channels).
        """
        for index, weight, inside in zip(self.index, self.weight, self.inside, strict=True):
            at = np.flatnonzero(inside)
            yield at, interpolated(X, index[at], weight[at])


CACHED_WINDOWS = 4
"""The number of cached `Windows` objects: a choice of parameters uses the same ones often."""
_LAST: dict[str, Windows] = {}


def interpolated(A: Array, index: np.ndarray, weight: np.ndarray) -> Array:
    """Return interpolated values of fields (n, size, channels), at or between grid points.

    Each value is a sum over the corners of a grid cell. `index` has the grid points of the corners
    and `weight` their weights, both (…, corners), as `Grid.interpolation_weights` returns them. The
    shape of the result is (n, …, channels).
    """
    xp = namespace(A)
    corners = take_columns(A, index.reshape(-1))
    corners = xp.reshape(corners, (A.shape[0], *index.shape, A.shape[2]))
    if index.shape[-1] > 1:
        return xp.sum(corners * like(weight[..., None], A), axis=-2)
    found = corners[..., 0, :]
    return found if (weight == 1.0).all() else found * like(weight, A)
