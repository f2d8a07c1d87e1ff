"""Predictions of fields on a grid other than that of the training outputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from .._base.arrays import Array, Items, is_array, namespace
from .._base.errors import warn
from ..kernels import Linear
from ..spaces import Fields, Grid
from .local_law import LocalLaw
from .shared import Shared
from .window_spectrum import LandmarkFieldMap
from .windows import interpolated

SAME_LENGTH = 1e-6
"""Relative differences of lengths up to this are rounding errors."""


def predict_on(model: Any, X: Items, grid: Fields) -> Array:
    """Return predicted fields on a grid other than that of the training outputs.

    A model with a `Shared` kernel is evaluated at the new grid points. Predictions of other models
    are interpolated linearly between the training grid points, with a warning.

    Parameters
    ----------
    model : estimator
        A fitted model of fields, such as `KernelDependency` or `LocalLaw`.
    X : array
        Input fields on the training grid; for `Shared` kernels also on the new grid.
    grid : Fields
        The new grid, on the same domain as the training outputs: spacing times number of points
        must be equal along each axis (or the distance of first and last point, along axes that are
        not periodic). Without ``shape=``, it has as many points as fill the domain.

    Returns
    -------
    array
        The predicted fields, an array for each row of X.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.fields import Shared, predict_on
    >>> from mercer.kernels import RBF
    >>> from mercer.spaces import Fields
    >>> X = np.random.default_rng(0).normal(size=(30, 8))
    >>> ring = Fields(periodic=("x",), spacing=1 / 8)
    >>> kernel = Shared(RBF(2.0), None, 0.1, 0.0, 0.2, fields=ring, output_fields=ring)
    >>> model = KernelDependency(kernel, alpha=1e-3).fit(X, X**2)
    >>> predict_on(model, X[:2], Fields(spacing=1 / 16)).shape
    (2, 16)
    """
    check_is_fitted(model)
    if not isinstance(grid, Fields):
        raise TypeError(f"grid must be Fields(…), got {grid!r}.")
    map = model.points_.map
    if isinstance(map, LandmarkFieldMap) and isinstance(model.output_kernel_, Linear):
        return _evaluate_shared(model, map, X, grid)
    return _interpolated_predictions(model, X, grid)


def _evaluate_shared(model: Any, map: LandmarkFieldMap, X: Items, grid: Fields) -> Array:
    """Return fields on another grid, predicted by a `Shared` kernel evaluated there."""
    kernel = map.kernel
    X = X if is_array(X) else np.asarray(X, dtype=float)
    inputs, sizes = kernel.input_grid, {}
    if tuple(X.shape[1:]) != kernel.input_shape_:
        inputs = _input_grid(kernel, tuple(X.shape[1:]), grid)
        _require_domain(inputs, kernel.input_grid, "inputs")
        sizes = dict(zip(inputs.axes, inputs.shape, strict=True))
    outputs = _output_grid(grid, kernel.output_grid, sizes, kernel.output_fields is not None)
    values = map.predict_on(X, inputs, outputs)
    offset = model.points_.offset
    if offset is not None:
        offset = kernel.output_grid.split(offset[None, :])
        values = values + interpolate(kernel.output_grid, outputs, offset)
    return _as_fields(values, outputs)


def _interpolated_predictions(model: Any, X: Items, grid: Fields) -> Array:
    """Return the predictions of a model on the training grid, interpolated to another grid."""
    try:
        Y = model.predict(X)
    except ValueError as error:
        raise ValueError(
            f"{error} Kernels other than `Shared` take inputs on the training grid only, and their "
            "predictions are interpolated to the new grid."
        ) from error
    shape, declared = tuple(Y.shape[1:]), _declared_fields(model)
    # the last of four axes has the channels
    fields = declared or Fields(channels=int(shape[-1]) if len(shape) > 3 else 1)
    known = fields.grid(shape)
    wanted = _output_grid(grid, known, {}, declared is not None)
    warn(
        f"{type(model).__name__} was fitted at the grid points of the training outputs: "
        "predictions on another grid are interpolated."
    )
    return _as_fields(interpolate(known, wanted, known.split(Y)), wanted)


def _declared_fields(model: Any) -> Fields | None:
    """Return the grid of the outputs if a parameter of the model declares it; else None."""
    if isinstance(model, LocalLaw):
        return model.fields
    given = _fields_of(model.output_kernel_, "fields") + _fields_of(model.kernel_, "output_fields")
    return given[0] if given else None


def _fields_of(part: BaseEstimator, name: str) -> list[Fields]:
    """Return the parameters of this name of a part, and of the parts in it, that are `Fields`."""
    given = part.get_params().items()
    return [v for key, v in given if key.split("__")[-1] == name and isinstance(v, Fields)]


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


def _output_grid(grid: Fields, old: Grid, sizes: dict[str, int], declared: bool) -> Grid:
    """Return the new output grid on the domain of the training grid `old`.

    Without a shape, its sizes are `sizes[axis]`, or as many points as fill the domain. If no
    parameter has `declared` the training grid, the units of a spacing are unknown.
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
    if shape is None and not declared and not sizes:
        raise ValueError(
            f"the grid of the training outputs has {_times(old.shape)} points, and no parameter "
            "gives their spacing: give shape= to the new grid, or output_fields= to the kernel."
        )
    if shape is None:
        spacing = np.broadcast_to(np.asarray(grid.spacing, dtype=float), (len(old.axes),))
        shape = [
            sizes.get(a, max(1, round(n * h / step)))
            for a, n, h, step in zip(old.axes, old.shape, old.spacing, spacing, strict=True)
        ]
    made = new.grid(replace(old, shape=tuple(shape)).array_shape)
    _require_domain(made, old, "outputs")
    return made


def _require_domain(new: Grid, old: Grid, side: str) -> None:
    """Raise ValueError if the domain of a new grid is not that of the training grid `old`."""
    if old.points is not None or new.points is not None:
        return
    lengths = [np.multiply(grid.shape, grid.spacing) for grid in (new, old)]
    ends = [length - grid.spacing for length, grid in zip(lengths, (new, old), strict=True)]
    same = np.isclose(lengths[0], lengths[1], rtol=SAME_LENGTH, atol=0)
    # from the first to the last point, where an axis does not close to a circle
    same |= np.isclose(ends[0], ends[1], rtol=SAME_LENGTH, atol=0) & ~np.array(old.periodic)
    if not same.all():
        raise ValueError(
            f"the new grid of {side} has {_times(new.shape)} points with a spacing of "
            f"{_times(new.spacing)}, a domain of {_times(lengths[0])}; the training {side} are on "
            f"a domain of {_times(lengths[1])}. A model predicts on its training domain: change "
            "spacing= or shape=."
        )


def _times(numbers: Any) -> str:
    """Return numbers as text, such as "16 × 16"."""
    return " × ".join(f"{number:g}" for number in numbers)


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
