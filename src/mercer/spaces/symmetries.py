"""Symmetry groups of fields, as permutations and sign changes of array entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .._base.arrays import Array, like, namespace, take_columns
from .fields import Fields, Grid

MAX_ELEMENTS = 4096
"""The largest number of elements of a symmetry group."""
SYMMETRIES = ("transpose", "mirror", "rotate", "shift")
"""The kinds of symmetries that can be named."""


@dataclass(frozen=True)
class Action:
    """A symmetry of flat fields, which maps a to the field with entries sign[i] a[source[i]]."""

    source: np.ndarray
    sign: np.ndarray

    def __call__(self, A: Array) -> Array:
        """Return the images of a batch of fields, in the shape of the batch."""
        xp = namespace(A)
        flat = xp.reshape(A, (A.shape[0], -1))
        moved = take_columns(flat, self.source)
        if (self.sign < 0).any():
            moved = moved * like(self.sign, moved)
        return xp.reshape(moved, A.shape)

    def after(self, first: Action) -> Action:
        """Return the composition of both actions, `first` before this one."""
        return Action(first.source[self.source], self.sign * first.sign[self.source])

    @property
    def key(self) -> bytes:
        """A hashable key; equal actions have equal keys."""
        return self.source.tobytes() + self.sign.tobytes()


@dataclass(frozen=True)
class Group:
    """A finite group of symmetries of inputs and outputs, with the identity as first element.

    Attributes
    ----------
    names
        The symmetries that generate it.
    inputs, outputs
        The action of each element on inputs and on outputs.
    shifts
        For a group of shifts alone, the positions of the flat entries of inputs and of outputs as
        arrays (other, *shifts): the entries of a row are those that shifts exchange. Else None.
    """

    names: tuple[str, ...]
    inputs: tuple[Action, ...]
    outputs: tuple[Action, ...]
    shifts: tuple[np.ndarray, np.ndarray] | None = None

    def __len__(self) -> int:
        return len(self.inputs)

    def images(self, X: Array, Y: Array) -> Iterator[tuple[Array, Array]]:
        """Yield the images of the pairs (X, Y) under each group element, the identity first."""
        for left, right in zip(self.inputs, self.outputs, strict=True):
            yield left(X), right(Y)


def group_of(
    names: Sequence[str],
    fields: Fields,
    input_shape: tuple[int, ...],
    output_fields: Fields,
    output_shape: tuple[int, ...],
) -> Group:
    """Return the group that the named symmetries generate on fields of the given shapes.

    A name is "transpose", "mirror:axis", "rotate" or "shift:axis". Changes of channels may follow
    after commas: "-c" changes the sign of channel c, "c~d" exchanges two. Channels are named by
    number; a single channel may have any name.
    """
    if isinstance(names, str) or not names:
        raise ValueError(f'symmetries must be a list of names such as ("shift:x",), got {names!r}.')
    grids = fields.grid(input_shape), output_fields.grid(output_shape)
    sizes = [grid.size * grid.channels for grid in grids]
    start = Action(np.arange(sum(sizes)), np.ones(sum(sizes)))  # entries of inputs, then of outputs
    generators = [_joint_action([_action(name, grid, grids) for grid in grids]) for name in names]
    elements, new = {start.key: start}, [start]
    while new:
        products = [generator.after(element) for element in new for generator in generators]
        new = [a for a in {a.key: a for a in products}.values() if a.key not in elements]
        elements |= {action.key: action for action in new}
        if len(elements) > MAX_ELEMENTS:
            raise ValueError(
                f"{tuple(names)} generate more than {MAX_ELEMENTS} symmetries: name fewer."
            )
    inputs = tuple(Action(a.source[: sizes[0]], a.sign[: sizes[0]]) for a in elements.values())
    outputs = tuple(
        Action(a.source[sizes[0] :] - sizes[0], a.sign[sizes[0] :]) for a in elements.values()
    )
    return Group(tuple(names), inputs, outputs, _shift_orbits(names, grids))


def _joint_action(actions: Sequence[Action]) -> Action:
    """Return the actions on inputs and on outputs as one action on their concatenated entries."""
    left, right = actions
    source = np.concatenate([left.source, right.source + len(left.source)])
    return Action(source, np.concatenate([left.sign, right.sign]))


def _parse_name(name: str) -> tuple[str, str, list[str]]:
    """Return the kind, the axis and the channel changes in the name of a symmetry."""
    first, *changes = [part.strip() for part in str(name).split(",")]
    kind, _, axis = first.partition(":")
    wants_axis = kind in ("mirror", "shift")
    if kind not in SYMMETRIES or wants_axis != bool(axis):
        raise ValueError(
            f'a symmetry is "transpose", "rotate", "mirror:axis" or "shift:axis", got {name!r}.'
        )
    return kind, axis, changes


def _action(name: str, grid: Grid, grids: tuple[Grid, Grid]) -> Action:
    """Return the action of the named symmetry on the fields on `grid`.

    `grids` are those of inputs and outputs; the axis in the name must belong to one of them.
    """
    kind, axis, changes = _parse_name(name)
    if grid.points is not None:
        raise ValueError(f"{name!r} moves a grid; scattered points have no symmetries.")
    shape = (*grid.shape, grid.channels)
    source = np.arange(grid.size * grid.channels).reshape(shape)
    sign = np.ones(shape)
    if kind in ("mirror", "shift"):
        if not any(axis in other.axes for other in grids):
            raise ValueError(f"{name!r} names none of the axes {grids[0].axes}, {grids[1].axes}.")
        if axis in grid.axes:
            at = grid.axes.index(axis)
            source = np.flip(source, at) if kind == "mirror" else np.roll(source, 1, at)
    else:
        if len(grid.shape) < 2 or grid.shape[-1] != grid.shape[-2]:
            raise ValueError(f"{name!r} turns squares, but fields have the shape {grid.shape}.")
        last = len(grid.shape) - 1
        if kind == "transpose":
            source = np.swapaxes(source, last - 1, last)
        else:
            source = np.rot90(source, axes=(last - 1, last))
    for change in changes:
        source, sign = _change_channels(change, name, source, sign, grid)
    return Action(source.reshape(-1).copy(), sign.reshape(-1).copy())


def _change_channels(
    change: str, name: str, source: np.ndarray, sign: np.ndarray, grid: Grid
) -> tuple[np.ndarray, np.ndarray]:
    """Apply a channel change, "-c" or "c~d", to the arrays `source` and `sign` of an action."""
    if change.startswith("-"):
        channel = _channel_index(change[1:], name, grid)
        sign = sign.copy()
        sign[..., channel] *= -1.0
        return source, sign
    one, tilde, other = change.partition("~")
    if not tilde:
        raise ValueError(f'{name!r}: channels change by "-c" or "c~d", got {change!r}.')
    if grid.channels == 1:
        return source, sign
    order = np.arange(grid.channels)
    i, j = _channel_index(one, name, grid), _channel_index(other, name, grid)
    order[[i, j]] = order[[j, i]]
    return source[..., order], sign[..., order]


def _channel_index(text: str, name: str, grid: Grid) -> int:
    """Return the index of the channel that `text` refers to in the name of a symmetry."""
    if grid.channels == 1:
        return 0
    if not text.isdigit() or int(text) >= grid.channels:
        raise ValueError(f"{name!r}: {text!r} is none of the channels 0 … {grid.channels - 1}.")
    return int(text)


def _shift_orbits(
    names: Sequence[str], grids: tuple[Grid, Grid]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return orbits of input and output entries under shifts; None if not all are shifts."""
    axes = []
    for name in names:
        kind, axis, changes = _parse_name(name)
        if kind != "shift" or changes or not all(axis in grid.axes for grid in grids):
            return None
        axes.append(axis)
    lengths = [[grid.shape[grid.axes.index(a)] for a in axes] for grid in grids]
    if lengths[0] != lengths[1]:
        return None
    orbits = []
    for grid in grids:
        positions = np.arange(grid.size * grid.channels).reshape(*grid.shape, grid.channels)
        moved = [grid.axes.index(a) for a in axes]
        positions = np.moveaxis(positions, moved, range(-len(axes), 0))
        orbits.append(positions.reshape(-1, *lengths[0]))
    return orbits[0], orbits[1]
