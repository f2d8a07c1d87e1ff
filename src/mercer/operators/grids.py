"""The grids of fields that an operator-valued kernel relates, and distances between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.parameters import non_negative, positive
from ..spaces import Fields
from ..spaces.fields import Grid


def proximity(squares: np.ndarray, width: Any, floor: Any) -> np.ndarray:
    """Return Gaussian weights exp(-d² / 2 width²) + floor for squares d²; ones if width is None.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import proximity
    >>> proximity(np.array([0.0, 1.0, 4.0]), width=1.0, floor=0.1).round(2)
    array([1.1 , 0.71, 0.24])
    """
    floor = non_negative(floor, "floor")
    if width is None:
        return np.ones_like(squares)
    return np.exp(-0.5 * squares / positive(width, "width") ** 2) + floor


def field_grids(kernel: Any, shape: Any, width: int) -> tuple[Grid, Grid]:
    """Return the grid of inputs of array shape `shape`, and that of outputs of `width` values.

    The parameters `fields`, `output_fields` and `output_shape` of the kernel describe them.

    Examples
    --------
    >>> from mercer.operators import Local, field_grids
    >>> inputs, outputs = field_grids(Local(), shape=(4, 5), width=20)
    >>> inputs.shape, outputs.shape
    ((4, 5), (4, 5))
    """
    shape = tuple(int(s) for s in shape)
    given = kernel.output_shape
    if given is None:
        given = shape if width == np.prod(shape) else (width,)
    inputs = (kernel.fields or Fields()).grid(shape)
    outputs = (kernel.output_fields or Fields()).grid(tuple(int(s) for s in given))
    if outputs.size * outputs.channels != width:
        raise ValueError(
            f"outputs have {width} values, but the grid {outputs.shape} with {outputs.channels} "
            f"channels has {outputs.size * outputs.channels}: give output_shape= or output_fields=."
        )
    return inputs, outputs


def sqdistances(outputs: Grid, inputs: Grid) -> np.ndarray:
    """Return squared distances of output and input grid points, along the axes that both have."""
    total = np.zeros((outputs.size, inputs.size))
    for axis, name in enumerate(inputs.axes):
        if name in outputs.axes:
            own = outputs.coordinates[:, outputs.axes.index(name)]
            gap = np.abs(own[:, None] - inputs.coordinates[None, :, axis])
            period = inputs.periods[axis]
            gap = gap if np.isinf(period) else np.minimum(gap % period, (-gap) % period)
            total += gap * gap
    return total
