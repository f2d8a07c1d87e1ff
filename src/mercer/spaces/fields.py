"""Fields, and their grids: coordinates, quadrature, and interpolation between grid points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, namespace, take_columns
from .._base.checks import Limits, must
from .._base.parameters import integer, parameters, same
from .base import Space
from .vectors import Vectors

AXIS_NAMES = ("z", "y", "x")
"""The names of axes where none are given; the last axis is x."""


@parameters
class Fields(Vectors):
    """Functions on a grid of one to three dimensions, or on scattered points.

    A batch is an array ``(n, *grid)``, with a last axis of channels where there are several.

    Parameters
    ----------
    axes : sequence of str or None, default=None
        The names of the axes, such as ``("t", "x")``: output axes match input axes by name. None
        for x; y, x; or z, y, x.
    channels : int, default=1
        The number of values at each grid point.
    periodic : sequence of str, default=()
        The axes that close to a circle; the grid leaves their last point out.
    origin : float or sequence of float, default=0.0
        The first coordinate, of all axes or of each.
    spacing : float or sequence of float, default=1.0
        The distance of neighbours, along all axes or along each.
    mask : array or None, default=None
        Which grid points are used, of the grid's shape; None for all. Values at other grid points
        are ignored in inputs and not learnt in outputs.
    points : array or None, default=None
        Coordinates (points, dimensions) of scattered points in place of a grid; a batch is then an
        array (n, points), or (n, points, channels).
    shape : sequence of int or None, default=None
        The number of points along each axis, for a grid to predict on; None for that of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.spaces import Fields
    >>> fields = Fields(("t", "x"), periodic=("x",), spacing=(0.1, 0.25))
    >>> fields.grid((3, 4)).coordinates.shape
    (12, 2)
    """

    axes: Sequence[str] | None = None
    channels: int = 1
    periodic: Sequence[str] = ()
    origin: float | Sequence[float] = 0.0
    spacing: float | Sequence[float] = 1.0
    mask: Array | None = None
    points: Array | None = None
    shape: Sequence[int] | None = None

    name = "fields"

    def check(self, A: Items, name: str = "y") -> Array:  # type: ignore[override]
        """Check that fields are arrays of finite numbers on the grid, and return the arrays."""
        A = super().check(A, name)
        self.grid(tuple(A.shape[1:]))
        return A

    def grid(self, shape: tuple[int, ...]) -> Grid:
        """Return the `Grid` of fields whose arrays have the given shape, channels included."""
        channels = integer(self.channels, "channels")
        if channels > 1 and (len(shape) < 2 or shape[-1] != channels):
            raise ValueError(f"fields of {channels} channels end in an axis of them, got {shape}.")
        size = tuple(int(s) for s in (shape[:-1] if channels > 1 else shape))
        points = None if self.points is None else np.asarray(self.points, dtype=float)
        dimensions = len(size) if points is None else int(points.shape[1])
        if points is not None and size != (len(points),):
            raise ValueError(f"fields on {len(points)} points have that many values, got {size}.")
        if not 1 <= dimensions <= 3 or len(size) > 3:
            raise ValueError(
                f"a field has one to three axes before its channels, got {len(size)}. "
                "Say channels= if the last axis holds channels."
            )
        axes = self.grid_axes(dimensions)
        if len(axes) != dimensions or len(set(axes)) != dimensions:
            raise ValueError(f"axes must name {dimensions} axes, each once, got {axes}.")
        for name in self.periodic:
            if name not in axes or points is not None:
                raise ValueError(f"periodic={name!r} is none of the axes {axes} of a grid.")
        mask = None if self.mask is None else np.asarray(self.mask, dtype=bool)
        if mask is not None and (mask.shape != size or not mask.any()):
            raise ValueError(f"mask must have the shape {size} and a grid point that is used.")
        return Grid(
            axes,
            size,
            channels,
            tuple(name in self.periodic for name in axes),
            _one_per_axis(self.origin, dimensions, "origin"),
            _one_per_axis(self.spacing, dimensions, "spacing", positive=True),
            None if mask is None else mask.reshape(-1),
            points,
        )

    def grid_axes(self, dimensions: int) -> tuple[str, ...]:
        """Return the names of the axes of a grid with the given number of dimensions."""
        return AXIS_NAMES[-dimensions:] if self.axes is None else tuple(self.axes)

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless points and mask are arrays of numbers."""
        for value in (self.mask, self.points):
            valid = value is None or (isinstance(value, np.ndarray) and value.dtype.kind in "bf")
            must(valid, "mask and points of fields are arrays")

    def join(self, other: Space) -> Space:
        """Return whichever space has non-default parameters; raise an error if they conflict."""
        if isinstance(other, Fields):
            if same(self, Fields()):
                return other
            if same(other, Fields()):
                return self
        return super().join(other)


def _one_per_axis(value: Any, number: int, name: str, positive: bool = False) -> tuple[float, ...]:
    """Return `value` as a tuple of `number` finite numbers; a single number is repeated.

    If `positive`, they must be positive. `name` is that of the parameter, for errors.
    """
    given = np.asarray(value, dtype=float).reshape(-1)
    values = tuple(np.resize(given, number).tolist()) if len(given) in (1, number) else ()
    valid = len(values) == number and all(
        np.isfinite(v) and (v > 0 or not positive) for v in values
    )
    if not valid:
        kind = "positive number" if positive else "number"
        raise ValueError(f"{name} must be a {kind}, or one for each of {number} axes: {value!r}.")
    return values


ON_GRID = 1e-9
"""Distances from a grid point up to this fraction of the spacing are rounding errors."""


@dataclass(frozen=True)
class Grid:
    """The points of a grid, or scattered points, and the interpolation between them.

    Attributes
    ----------
    axes, shape, channels
        The names and lengths of the axes; scattered points have one axis.
    periodic
        Whether each axis closes to a circle.
    origin, spacing
        The first coordinate and the distance of neighbours along each axis.
    mask
        Which grid points are used, flat; None for all.
    points
        The coordinates of scattered points; None for a grid.

    Examples
    --------
    >>> from mercer.spaces import Fields
    >>> grid = Fields(spacing=0.5).grid((4,))
    >>> grid.coordinates.ravel()
    array([0. , 0.5, 1. , 1.5])
    >>> grid.quadrature
    array([0.25, 0.5 , 0.5 , 0.25])
    """

    axes: tuple[str, ...]
    shape: tuple[int, ...]
    channels: int
    periodic: tuple[bool, ...]
    origin: tuple[float, ...]
    spacing: tuple[float, ...]
    mask: np.ndarray | None = None
    points: np.ndarray | None = None

    @property
    def size(self) -> int:
        """The number of grid points, masked ones included."""
        return int(np.prod(self.shape))

    @property
    def array_shape(self) -> tuple[int, ...]:
        """The shape of the array of one field, with a last axis for several channels."""
        return (*self.shape, self.channels) if self.channels > 1 else self.shape

    @cached_property
    def live(self) -> np.ndarray:
        """The indices of the grid points that are not masked."""
        return np.arange(self.size) if self.mask is None else np.flatnonzero(self.mask)

    @cached_property
    def coordinates(self) -> np.ndarray:
        """The coordinates of all grid points, (size, dimensions)."""
        if self.points is not None:
            return self.points
        lines = [
            o + h * np.arange(n)
            for o, h, n in zip(self.origin, self.spacing, self.shape, strict=True)
        ]
        return np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(self.size, -1)

    @property
    def periods(self) -> np.ndarray:
        """The length of each periodic axis, and infinity for other axes."""
        if self.points is not None:
            return np.full(len(self.axes), np.inf)
        length = np.array(self.spacing) * np.array(self.shape)
        return np.where(self.periodic, length, np.inf)

    @cached_property
    def quadrature(self) -> np.ndarray:
        """The weight of each grid point in an integral by the trapezoidal rule; 0 where masked."""
        if self.points is not None:
            weights = np.full(self.size, 1.0 / self.size)
        else:
            weights = np.ones(())
            for n, h, closed in zip(self.shape, self.spacing, self.periodic, strict=True):
                line = np.full(n, h)
                if not closed and n > 1:
                    line[[0, -1]] = 0.5 * h
                weights = np.multiply.outer(weights, line)
        weights = weights.reshape(-1)
        return weights if self.mask is None else np.where(self.mask, weights, 0.0)

    def split(self, A: Array) -> Array:
        """Reshape arrays of fields, one for each item, to (n, size, channels)."""
        return namespace(A).reshape(A, (A.shape[0], self.size, self.channels))

    def fill(self, values: Array) -> Array:
        """Return flat fields, (n, size · channels), given their values at unmasked grid points.

        The fields are zero at masked grid points.
        """
        xp = namespace(values)
        if self.mask is not None:
            number = np.where(self.mask, np.cumsum(self.mask), 0)
            values = xp.concat([xp.zeros_like(values[:, :1, :]), values], axis=1)
            values = take_columns(values, number)
        return xp.reshape(values, (values.shape[0], -1))

    def interpolation_weights(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the grid points around the points `at`, and their interpolation weights.

        `at` has the shape (…, dimensions), the results have the shape (…, corners). Interpolation
        is multilinear on a grid; among scattered points, the nearest ones are weighted by inverse
        distance. Weights are zero for points outside the grid, and for points next to a masked
        grid point.
        """
        index, weight = (
            self._nearest_points(at) if self.points is not None else self._cell_corners(at)
        )
        if self.mask is not None:
            seen = (self.mask[index] | (weight == 0)).all(axis=-1, keepdims=True)
            weight = np.where(seen, weight, 0.0)
        return np.where(weight > 0, index, 0), weight

    def _cell_corners(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the corners of the grid cell around each point of `at`, and their weights."""
        index = np.zeros((*at.shape[:-1], 1), dtype=np.int64)
        weight = np.ones((*at.shape[:-1], 1))
        for axis, n in enumerate(self.shape):
            t = (at[..., axis] - self.origin[axis]) / self.spacing[axis]
            near = np.round(t)
            t = np.where(np.abs(t - near) < ON_GRID * max(n, 1), near, t)
            low = np.floor(t).astype(np.int64)
            part = t - low
            ends = np.stack([low, low + 1], axis=-1)
            shares = np.stack([1.0 - part, part], axis=-1)
            if self.periodic[axis]:
                ends = ends % n
            else:
                # Beyond the last grid point, its value holds up to the end of its cell.
                inside = (t >= -0.5) & (t <= n - 0.5)
                shares = np.where(inside[..., None], shares, 0.0)
                ends = np.clip(ends, 0, n - 1)
            if not (part > 0).any():
                ends, shares = ends[..., :1], shares[..., :1]
            index = (index[..., :, None] * n + ends[..., None, :]).reshape(*at.shape[:-1], -1)
            weight = (weight[..., :, None] * shares[..., None, :]).reshape(*at.shape[:-1], -1)
        return index, weight

    def _nearest_points(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the scattered points nearest to each point of `at`, and their weights."""
        from scipy.spatial import cKDTree

        assert self.points is not None
        k = min(len(self.axes) + 1, self.size)
        distance, index = cKDTree(self.points).query(at.reshape(-1, at.shape[-1]), k=k)
        distance, index = distance.reshape(-1, k), index.reshape(-1, k)
        weight = 1.0 / np.maximum(distance, ON_GRID * self.step)
        weight = weight / weight.sum(axis=1, keepdims=True)
        weight = np.where(weight < 1e-6, 0.0, weight)
        weight[distance[:, 0] > 1.5 * self.step] = 0.0
        return index.reshape(*at.shape[:-1], k), weight.reshape(*at.shape[:-1], k)

    @cached_property
    def step(self) -> float:
        """The median distance of a scattered point to its nearest neighbour; 1 on a grid."""
        from scipy.spatial import cKDTree

        if self.points is None or len(self.points) < 2:
            return 1.0
        return float(np.median(cKDTree(self.points).query(self.points, k=2)[0][:, 1])) or 1.0
