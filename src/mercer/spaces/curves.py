from __future__ import annotations

from .._base.arrays import Array, Items, is_foreign
from ..spaces.curve_grids import as_grid, on_grid, require_complete_rows, wrong_length_message
from .base import Space
from .vectors import Vectors


class Curves(Vectors):
    """Curves, given as rows of values on a grid, or as pairs ``(t, values)`` to interpolate.

    Parameters
    ----------
    grid : array or None, default=None
        The points of the grid, increasing; None if they are not known.

    Examples
    --------
    >>> from mercer.spaces import Curves
    >>> Curves([0.0, 1.0, 2.0]).check([([0.0, 2.0], [1.0, 5.0])])
    array([[1., 3., 5.]])
    """

    name = "curves"

    def __init__(self, grid: Array | None = None):
        self.grid = grid

    def check(self, A: Items, name: str = "y", owner: str = "its kernel") -> Array:  # type: ignore[override]
        """Check curves; return an array with one row of grid values per curve.

        Errors name the batch `name` and the kernel `owner`.
        """
        grid = None if self.grid is None else as_grid(self.grid)
        rows = on_grid(A, grid, name, owner)
        if getattr(rows, "ndim", 2) > 2:
            raise ValueError(_not_curves_message(name, rows.shape, owner))
        if not is_foreign(rows):
            require_complete_rows(rows, grid, name)
        rows = super().check(rows, name, owner)
        width = int(rows.shape[1])
        if width < 2:
            raise ValueError(_not_curves_message(name, rows.shape, owner))
        if grid is not None and width != len(grid):
            raise ValueError(wrong_length_message(name, 0, width, len(grid)))
        return rows

    def join(self, other: Space) -> Space:
        """Return the space of curves that are in both spaces, with the grid if one has a grid."""
        if isinstance(other, Curves) and (self.grid is None or other.grid is None):
            return self if other.grid is None else other
        return super().join(other)


def _not_curves_message(name: str, shape: tuple, owner: str) -> str:
    """Return the error message for an array that does not hold curves, given its shape."""
    return (
        f"{name} must hold curves for {owner}, a row of at least 2 values each; "
        f"got shape {tuple(shape)}."
    )
