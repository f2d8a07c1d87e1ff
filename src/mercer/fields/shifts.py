"""Shifts of input and output fields along common axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.arrays import Array, namespace, take_columns
from .._base.checks import Limits, must, permutation
from ..spaces import Grid

Steps = tuple[int, ...]
"""A shift: the number of grid points along each shifted axis."""


@dataclass(frozen=True)
class Shifts:
    """The group of all shifts of input and output fields along some axes.

    Attributes
    ----------
    inputs, outputs
        The indices of the flat entries of input and of output fields, (orbits, *shape): shifts
        exchange the entries of a row.
    """

    inputs: np.ndarray
    outputs: np.ndarray

    @classmethod
    def along(cls, axes: Sequence[str], inputs: Grid, outputs: Grid) -> Shifts:
        """Return the shifts along the named axes, which both grids must have in equal length."""
        names = (axes,) if isinstance(axes, str) else tuple(axes)
        if not names or len(set(names)) < len(names):
            raise ValueError(f'axes must name the axes to shift along, such as "x", got {axes!r}.')
        for grid, side in ((inputs, "fields"), (outputs, "output_fields")):
            if grid.points is not None or grid.mask is not None:
                raise ValueError(f"shifts need a whole grid: {side} has points= or a mask=.")
            missing = [name for name in names if name not in grid.axes]
            if missing:
                raise ValueError(
                    f"axes={axes!r}: {missing[0]!r} is none of the axes {grid.axes} of {side}."
                )
        lengths = [[grid.shape[grid.axes.index(a)] for a in names] for grid in (inputs, outputs)]
        if lengths[0] != lengths[1]:
            raise ValueError(
                f"inputs have {lengths[0]} points along {names}, but outputs have {lengths[1]}: a "
                "shift moves both by the same number of points."
            )
        return cls(_orbits(names, inputs), _orbits(names, outputs))

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless inputs and outputs have orbits of the same shifts."""
        check_orbits(self.inputs, "inputs")
        check_orbits(self.outputs, "outputs")
        must(self.inputs.shape[1:] == self.outputs.shape[1:], "inputs and outputs differ in shifts")

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of points along each shifted axis."""
        return self.outputs.shape[1:]

    def __len__(self) -> int:
        return int(np.prod(self.shape))

    def __iter__(self) -> Iterator[Steps]:
        return np.ndindex(*self.shape)

    @property
    def generators(self) -> list[Steps]:
        """The shifts by one grid point along each axis, of which all others are combinations."""
        return [tuple(row) for row in np.eye(len(self.shape), dtype=int).tolist()]

    def inverse(self, steps: Steps) -> Steps:
        """Return the shift that undoes another."""
        return tuple(-k % m for k, m in zip(steps, self.shape, strict=True))

    def of_inputs(self, A: Array, steps: Steps) -> Array:
        """Return shifted input fields, in the shape of A."""
        return _shifted(A, self.inputs, steps)

    def of_outputs(self, A: Array, steps: Steps) -> Array:
        """Return shifted output fields, in the shape of A."""
        return _shifted(A, self.outputs, steps)


def check_orbits(orbits: Any, name: str) -> None:
    """Raise `DamagedModel` unless an array has rows of entries, every entry once."""
    must(isinstance(orbits, np.ndarray) and 2 <= orbits.ndim <= 4, f"{name} has no orbits")
    must(orbits.flags.c_contiguous, f"{name} is not contiguous")
    permutation(orbits.reshape(-1), name)


def _orbits(names: tuple[str, ...], grid: Grid) -> np.ndarray:
    """Return the indices of the entries that shifts along the named axes exchange, as rows."""
    indices = np.arange(grid.size * grid.channels).reshape(*grid.shape, grid.channels)
    moved = [grid.axes.index(name) for name in names]
    indices = np.moveaxis(indices, moved, range(-len(names), 0))
    return np.ascontiguousarray(indices.reshape(-1, *indices.shape[-len(names) :]))


def _shifted(A: Array, orbits: np.ndarray, steps: Steps) -> Array:
    """Return fields A shifted by some steps, given the orbits of their entries."""
    source = np.empty(orbits.size, dtype=np.intp)
    rolled = np.roll(orbits, steps, axis=range(1, orbits.ndim))
    source[orbits.reshape(-1)] = rolled.reshape(-1)
    xp = namespace(A)
    flat = xp.reshape(A, (A.shape[0], -1))
    return xp.reshape(take_columns(flat, source), A.shape)
