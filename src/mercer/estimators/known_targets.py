"""Outputs with missing values: masks of known values, and values to fill in."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.arrays import Items, host
from ..decoders.records import fields_of
from ..kernels import Kernel
from ..spaces import Records
from ..spaces.records import fill_missing_fields, known_fields
from .pairs import as_floats

FEWEST_KNOWN = 4
"""The smallest number of rows in which a target must be known."""


def fill_missing(y: Items, kernel: Kernel) -> tuple[Items, np.ndarray]:
    """Return y with missing values filled in, and a mask that is True where values are known.

    Missing values are replaced by other known values of their target, so that units are those of
    the known values. The second array has a column for each target or field.
    """
    if isinstance(kernel.space, Records):
        form, names = kernel.space.form(y), list(kernel.space.fields)
        records = kernel.space.check(y)
        known = known_fields(records, names)
        _require_known_rows(known, names)
        complete = fill_missing_fields(records, names, known)
        return (complete if form is None else form.restore(complete)), known
    if not kernel.on_vectors:
        raise ValueError(
            f"outputs under {kernel} are known or missing as a whole: leave out the rows without "
            "output, or give single targets as fields of records."
        )
    Y = as_floats(y)
    rows = Y.reshape(len(Y), -1)
    known = ~np.isnan(rows)
    _require_known_rows(known, list(range(rows.shape[1])))
    columns = [_filled_column(v, own) for v, own in zip(rows.T, known.T, strict=True)]
    return np.stack(columns, axis=1).reshape(Y.shape), known


def _filled_column(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return a column with its missing values replaced by its known values, in turn."""
    found = values.copy()
    found[~known] = np.resize(values[known], int((~known).sum()))
    return found


def _require_known_rows(known: np.ndarray, names: list[Any]) -> None:
    """Raise an error if a target (column) is known in fewer than `FEWEST_KNOWN` rows."""
    few = np.flatnonzero(known.sum(axis=0) < FEWEST_KNOWN)
    if len(few):
        raise ValueError(
            f"target {names[few[0]]!r} must be known in at least {FEWEST_KNOWN} rows, got "
            f"{int(known[:, few[0]].sum())}: leave it out."
        )


def known_coordinates(kernel: Kernel, y: Items, known: np.ndarray) -> np.ndarray:
    """Return a mask of known output coordinates, given a mask of known targets or fields."""
    if kernel.features is None:
        raise ValueError(
            f"targets cannot be missing under {kernel}, which has no finite features: use "
            "Linear(), or a sum of kernels on fields such as On('a', Linear()) + On('b', Delta())."
        )
    if not isinstance(kernel.space, Records):
        _require_columnwise(kernel, y)
        return known
    owner: dict[int, int] = {}
    for number, field in enumerate(fields_of(kernel, y).values()):
        owner |= dict.fromkeys(np.asarray(field.columns).tolist(), number)
    return known[:, [owner[column] for column in sorted(owner)]]


def _require_columnwise(kernel: Kernel, y: Items) -> None:
    """Raise an error unless each target (column) of y has its own feature."""
    base = host(y)[:1].reshape(1, -1)
    shifted = (base + np.vstack([0.0 * base, np.eye(base.shape[1])])).reshape(
        -1, *host(y).shape[1:]
    )
    F = host(kernel.features(kernel.as_outputs(shifted)))
    D = np.abs(F[1:] - F[:1])
    if D.shape[0] != D.shape[1] or (D - np.diag(np.diag(D))).max() > 1e-9 * D.max():
        raise ValueError(
            f"targets cannot be missing under {kernel}, whose features mix them: use Linear()."
        )


def columns_by_pattern(known: np.ndarray) -> list[np.ndarray]:
    """Return the indices of the columns that are equal, for each distinct column of a mask."""
    _, first, number = np.unique(known, axis=1, return_index=True, return_inverse=True)
    number = number.reshape(-1)
    return [np.flatnonzero(number == number[j]) for j in np.sort(first)]
