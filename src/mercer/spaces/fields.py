from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arrays import Array, Items
from .._checks import Limits, must
from .._parameters import parameters, whole
from .base import Space, resolve
from .grid import Grid
from .vectors import Vectors

NAMES = ("z", "y", "x")
"""The names of axes where none are given; the last axis is x."""


@parameters
class Fields(Vectors):
    """Functions on a grid of one to three dimensions, or on scattered points.

    A batch is an array ``(n, *grid)``, with a last axis of channels where there are several.

    Parameters
    ----------
    axes
        The names of the axes, such as ``("t", "x")``: output axes match input axes by name. None
        for x; y, x; or z, y, x.
    channels
        The number of values at each place.
    periodic
        The axes that close to a circle; the grid leaves their last point out.
    origin, spacing
        The first coordinate and the distance of neighbours, for all axes or one for each.
    mask
        Which places count, of the grid's shape; None for all. What other places hold is not looked
        at as an input, and not learnt as an output.
    points
        Coordinates (places, dimensions) of scattered points in place of a grid; a batch is then an
        array (n, places), or (n, places, channels).
    shape
        The number of points along each axis, for a grid to predict on; None for that of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.spaces import Fields
    >>> fields = Fields(("t", "x"), periodic=("x",), spacing=(0.1, 0.25))
    >>> fields.grid((3, 4)).places.shape
    (12, 2)
    """

    axes: Sequence[str] | None = None
    channels: int = 1
    periodic: Sequence[str] = ()
    origin: Any = 0.0
    spacing: Any = 1.0
    mask: Array | None = None
    points: Array | None = None
    shape: Sequence[int] | None = None

    name = "fields"
    METRIC = "metrics.relative_error"

    def check(self, A: Items, name: str = "y") -> Array:  # type: ignore[override]
        """Finite numbers, one axis a dimension of the grid."""
        A = super().check(A, name)
        self.grid(tuple(A.shape[1:]))
        return A

    def kernel(self) -> Any:
        """∫ f g."""
        return resolve("kernels.FieldL2")(self)

    def grid(self, shape: tuple[int, ...]) -> Grid:
        """The grid of fields whose arrays have this shape, channels included."""
        channels = whole(self.channels, "channels")
        if channels > 1 and (len(shape) < 2 or shape[-1] != channels):
            raise ValueError(f"fields of {channels} channels end in an axis of them, got {shape}.")
        size = tuple(int(s) for s in (shape[:-1] if channels > 1 else shape))
        points = None if self.points is None else np.asarray(self.points, dtype=float)
        dimensions = len(size) if points is None else int(points.shape[1])
        if points is not None and size != (len(points),):
            raise ValueError(f"fields on {len(points)} points have that many values, got {size}.")
        if not 1 <= dimensions <= 3 or len(size) > 3:
            raise ValueError(
                f"a field has one to three axes beside its channels, got {len(size)}. "
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
            raise ValueError(f"mask must have the shape {size} and a place that counts.")
        return Grid(
            axes,
            size,
            channels,
            tuple(name in self.periodic for name in axes),
            _each(self.origin, dimensions, "origin"),
            _each(self.spacing, dimensions, "spacing", positive=True),
            None if mask is None else mask.reshape(-1),
            points,
        )

    def grid_axes(self, dimensions: int) -> tuple[str, ...]:
        """The names of the axes of a grid of some dimensions."""
        return NAMES[-dimensions:] if self.axes is None else tuple(self.axes)

    def check_loaded(self, limits: Limits) -> None:
        """Points and mask are arrays of numbers."""
        for value in (self.mask, self.points):
            fine = value is None or (isinstance(value, np.ndarray) and value.dtype.kind in "bf")
            must(fine, "mask and points of fields are arrays")

    def join(self, other: Space) -> Space:
        """Fields of which nothing is said are those of the other."""
        if isinstance(other, Fields):
            if repr(self) == repr(Fields()):
                return other
            if repr(other) == repr(Fields()):
                return self
        return super().join(other)


def _each(value: Any, number: int, name: str, positive: bool = False) -> tuple[float, ...]:
    """One finite number for each axis."""
    given = np.asarray(value, dtype=float).reshape(-1)
    values = tuple(np.resize(given, number).tolist()) if len(given) in (1, number) else ()
    fine = len(values) == number and all(np.isfinite(v) and (v > 0 or not positive) for v in values)
    if not fine:
        kind = "positive number" if positive else "number"
        raise ValueError(f"{name} must be a {kind}, or one for each of {number} axes: {value!r}.")
    return values
