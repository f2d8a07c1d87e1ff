"""Predictions of fields on a grid other than that of the training outputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .._base.arrays import Array, Items, is_array, namespace
from .._base.errors import warn
from ..kernels import FieldL2, Linear
from ..kernels.wrapper import Wrapper
from ..operators.shared import Shared
from ..operators.windows import interpolated
from ..solvers.window_spectrum import LandmarkFieldMap
from ..spaces import Fields
from ..spaces.fields import Grid


def predict_on(model: Any, X: Items, grid: Fields) -> Array:
    """Return the predicted fields at the points of a grid other than the training grid.

    A kernel shared by all grid points is evaluated there, and X may be on the new grid; other
    predictions are interpolated between the grid points of the training outputs.
    """
    if not isinstance(grid, Fields):
        raise TypeError(f"grid must be Fields(…), got {grid!r}.")
    map, kernel = model.points_.map, model.output_kernel_
    inner = kernel.inner if isinstance(kernel, Wrapper) else kernel
    if isinstance(map, LandmarkFieldMap) and isinstance(kernel, Linear):
        return _evaluate_shared(model, map, X, grid)
    shape = model._output_shape()
    fields = inner.fields if isinstance(inner, FieldL2) else None
    # the last of four axes has the channels
    spacing_one = Fields(channels=int(shape[-1]) if len(shape) > 3 else 1)
    fields = fields or model.kernel_.output_fields or spacing_one
    known = fields.grid(tuple(shape))
    warn(
        f"{model.kernel_} is fitted at the grid points of the training outputs: predictions on "
        "another grid are interpolated."
    )
    wanted = _output_grid(grid, known, {})
    Y = model.predict(X)
    values = interpolate(known, wanted, known.split(Y))
    return _as_fields(values, wanted)


def _evaluate_shared(model: Any, map: LandmarkFieldMap, X: Items, grid: Fields) -> Array:
    """Return fields on another grid, predicted by a `Shared` kernel evaluated there."""
    kernel = map.kernel
    X = X if is_array(X) else np.asarray(X, dtype=float)
    inputs, sizes = kernel.input_grid, {}
    if tuple(X.shape[1:]) != kernel.input_shape_:
        inputs = _input_grid(kernel, tuple(X.shape[1:]), grid)
        sizes = dict(zip(inputs.axes, inputs.shape, strict=True))
    outputs = _output_grid(grid, kernel.output_grid, sizes)
    values = map.predict_on(X, inputs, outputs)
    offset = model.points_.offset
    if offset is not None:
        offset = kernel.output_grid.split(offset[None, :])
        values = values + interpolate(kernel.output_grid, outputs, offset)
    return _as_fields(values, outputs)


def _input_grid(kernel: Shared, shape: tuple[int, ...], outputs: Fields) -> Grid:
    """Return the new grid of inputs, arrays of shape `shape`, given the new grid of outputs."""
    known, every = kernel.input_grid, outputs.grid_axes(len(kernel.output_grid.axes))
    axes = [axis for axis in every if axis in known.axes]
    if list(known.axes) != axes:
        raise ValueError(
            f"X has the shape {shape}, which is neither that of the training inputs "
            f"{kernel.input_shape_} nor of fields along {known.axes} on the new grid."
        )
    inputs: Any = clone(outputs).set_params(channels=known.channels, shape=None, mask=None)
    picked = [every.index(axis) for axis in axes]
    for name, given in (("origin", outputs.origin), ("spacing", outputs.spacing)):
        if np.ndim(given):
            inputs.set_params(**{name: tuple(np.asarray(given, dtype=float)[picked])})
    closed = [a for a, c in zip(known.axes, known.periodic, strict=True) if c]
    return inputs.set_params(axes=known.axes, periodic=tuple(closed)).grid(shape)


def _output_grid(grid: Fields, old: Grid, sizes: dict[str, int]) -> Grid:
    """Return the new output grid, completed from the training grid `old`.

    Unknown sizes are `sizes[axis]`, or as many points as fill the extent of `old`.
    """
    new = clone(grid).set_params(
        axes=old.axes if grid.axes is None else grid.axes,
        channels=old.channels,
        periodic=[a for a, c in zip(old.axes, old.periodic, strict=True) if c],
    )
    if new.points is not None:
        new.set_params(periodic=())
        count = len(np.asarray(new.points))
        return new.grid(replace(old, shape=(count,)).array_shape)
    if tuple(new.axes) != old.axes:
        raise ValueError(f"the new grid has the axes {new.axes}, outputs have {old.axes}.")
    shape = grid.shape
    if shape is None:
        spacing = np.broadcast_to(np.asarray(grid.spacing, dtype=float), (len(old.axes),))
        shape = [
            sizes.get(a, max(1, round(n * h / step)))
            for a, n, h, step in zip(old.axes, old.shape, old.spacing, spacing, strict=True)
        ]
    return new.grid(replace(old, shape=tuple(shape)).array_shape)


def interpolate(old: Grid, new: Grid, values: Array) -> Array:
    """Interpolate values (n, points, channels) from the grid `old` to the grid `new`."""
    at = new.coordinates[new.live].copy()
    if old.points is None:
        for axis, (n, h, start) in enumerate(zip(old.shape, old.spacing, old.origin, strict=True)):
            if not old.periodic[axis]:
                at[:, axis] = np.clip(at[:, axis], start, start + (n - 1) * h)
    return interpolated(values, *old.interpolation_weights(at))


def _as_fields(values: Array, grid: Grid) -> Array:
    """Reshape values at grid points to arrays in the shape of the grid; zero if masked."""
    return namespace(values).reshape(grid.fill(values), (values.shape[0], *grid.array_shape))
