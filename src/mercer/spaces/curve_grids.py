"""Interpolation of curves with different grids to a common grid.

A batch of curves is a matrix with one row of values on a common grid for each curve; or a list of
pairs ``(t, values)``, each curve with its own points; or an ``FDataGrid`` of scikit-fda. A NaN
among the values of a pair is a point that was not measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._base.arrays import Items, count, is_foreign, refuse_empty, refuse_masked


def on_grid(A: Items, grid: np.ndarray | None, name: str, owner: str) -> Items:
    """Return curves as rows of values on the grid; rows of values are returned unchanged.

    Pairs (t, values) are interpolated linearly. Errors name the batch `name` and the kernel
    `owner`.
    """
    if is_foreign(A) or not (is_grid_data(A) or _are_pairs(A)):
        return A
    if grid is None:
        remedy = f"grid={name}.grid_points[0]" if is_grid_data(A) else "grid=..."
        raise ValueError(
            f"{name} has curves with their own points, but {owner} has no grid on which to compare "
            f"them. Use {owner}({remedy})."
        )
    if is_grid_data(A) and np.array_equal(A.grid_points[0], grid):
        return _grid_data(A, name)[1]
    return interpolate(A, grid, np.interp, name)


def as_pairs(A: Items, grid: np.ndarray, name: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return curves as pairs (t, values); for rows of values, t is the grid."""
    if is_grid_data(A):
        points, values = _grid_data(A, name)
        return [(points, row) for row in values]
    refuse_empty(count(A), name)
    if _are_pairs(A):
        return [_check_pair(item, i, name) for i, item in enumerate(A)]
    rows = [np.asarray(row, dtype=np.float64).reshape(-1) for row in np.asarray(A, dtype=object)]
    for i, row in enumerate(rows):
        if len(row) != len(grid):
            raise ValueError(wrong_length_message(name, i, len(row), len(grid)))
    return [(grid, row) for row in rows]


def as_grid(grid: Any) -> np.ndarray:
    """Return grid points as an array; raise an error unless they are finite and increasing.

    Examples
    --------
    >>> from mercer.spaces import as_grid
    >>> as_grid([0, 1, 3])
    array([0., 1., 3.])
    """
    t = np.asarray(grid, dtype=np.float64)
    if t.ndim != 1 or len(t) < 2 or not np.isfinite(t).all():
        raise ValueError(f"grid must hold at least 2 finite numbers in a row, got {grid!r:.60}.")
    if not (np.diff(t) > 0).all():
        i = int(np.argmin(np.diff(t) > 0))
        raise ValueError(
            f"grid must increase: point {i + 1} ({t[i + 1]:g}) does not exceed point {i} "
            f"({t[i]:g}). Sort the grid and the values with it."
        )
    return t


def wrong_length_message(name: str, i: int, got: int, wanted: int) -> str:
    """Return the error message for curve i with `got` values instead of `wanted`."""
    return (
        f"curve {i} of {name} has {got} values, the grid {wanted} points: pass a curve on other "
        "points as a pair (t, values)."
    )


def require_complete_rows(rows: Items, grid: np.ndarray | None, name: str) -> None:
    """Raise an error unless rows have the length of the grid, or one length, and no NaN."""
    if isinstance(rows, list | tuple):
        lengths = [len(row) for row in rows if isinstance(row, list | tuple | np.ndarray)]
        wanted = lengths[0] if grid is None and lengths else 0 if grid is None else len(grid)
        for i, length in enumerate(lengths):
            if length != wanted:
                raise ValueError(wrong_length_message(name, i, length, wanted))
    values = np.asarray(rows) if isinstance(rows, list | tuple | np.ndarray) else np.empty(0)
    if values.ndim == 2 and values.dtype.kind == "f" and np.isnan(values).any():
        i = int(np.isnan(values).any(axis=1).argmax())
        raise ValueError(
            f"curve {i} of {name} contains NaN, {int(np.isnan(values[i]).sum())} missing values: "
            "fill them with mercer.fields.Resample(grid), or pass the curve as a pair (t, values)."
        )


def is_grid_data(A: Any) -> bool:
    """Return whether an object has the interface of scikit-fda's FDataGrid."""
    return hasattr(A, "data_matrix") and hasattr(A, "grid_points")


def _grid_data(A: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the grid points and the rows of values of an FDataGrid."""
    if len(A.grid_points) != 1:
        raise ValueError(f"{name} must hold functions of one variable, got {len(A.grid_points)}.")
    values = np.asarray(A.data_matrix, dtype=np.float64)
    if values.ndim == 3 and values.shape[2] != 1:
        raise ValueError(
            f"{name} holds curves with {values.shape[2]} components, expected one. Make a batch of "
            "each component, such as X.coordinates[0]."
        )
    points = np.asarray(A.grid_points[0], dtype=np.float64)
    return points, values.reshape(values.shape[0], -1)


def _are_pairs(A: Items) -> bool:
    """Return whether the first curve is a pair (points, values) of rows of numbers."""
    first = A[0] if isinstance(A, list | tuple | np.ndarray) and len(A) else None
    if not isinstance(first, list | tuple | np.ndarray) or len(first) != 2:
        return False
    return all(isinstance(part, list | tuple | np.ndarray) for part in first)


def _check_pair(item: Any, i: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Check curve i, a pair (points, values), and return it as two arrays."""
    if not isinstance(item, list | tuple | np.ndarray) or len(item) != 2:
        raise ValueError(f"curve {i} of {name} must be a pair (t, values), got {item!r:.60}.")
    refuse_masked(tuple(item), f"curve {i} of {name}")
    t, v = (np.asarray(part, dtype=np.float64) for part in item)
    if t.ndim != 1 or t.shape != v.shape:
        raise ValueError(
            f"curve {i} of {name} must be two rows of one length, points and values; "
            f"got shapes {t.shape} and {v.shape}."
        )
    return t, v


def interpolate(A: Items, grid: np.ndarray, interpolator: Callable, name: str) -> np.ndarray:
    """Return curves as rows of values on the grid.

    interpolator(grid, t, values) returns the values of one curve on the grid.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.spaces import interpolate
    >>> interpolate([([0.0, 2.0], [1.0, 5.0])], np.array([0.0, 1.0]), np.interp, "X")
    array([[1., 3.]])
    """
    rows = []
    for i, (t, v) in enumerate(as_pairs(A, grid, name)):
        t, v = _sorted_points(t, v, f"curve {i} of {name}")
        rows.append(interpolator(np.clip(grid, t[0], t[-1]), t, v))
    return np.stack(rows)


def _sorted_points(t: np.ndarray, v: np.ndarray, which: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a curve's points t, sorted and without repeats, and the mean value at each.

    `which` is what error messages call the curve.
    """
    known = ~np.isnan(v)
    t, v = t[known], v[known]
    if not (np.isfinite(t).all() and np.isfinite(v).all()):
        raise ValueError(f"{which} has points or values that are not finite.")
    t, number = np.unique(t, return_inverse=True)
    if len(t) < 2:
        raise ValueError(f"{which} has {len(t)} measured points: at least 2 are needed.")
    return t, np.bincount(number, v) / np.bincount(number)
