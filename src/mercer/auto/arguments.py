"""Arguments of `AutoDependency`, checked before anything is read or fitted."""

from __future__ import annotations

from math import isfinite
from numbers import Real
from typing import Any

from .._base.arrays import require_equal_lengths
from ..sets.parameters import checked_fraction
from .kinds.base import Kind
from .kinds.guess import INPUT_KINDS
from .kinds.registry import output_kinds
from .measures import scorer_of
from .presets import PRESETS
from .tables.bad_table import BadTable
from .tables.table import Table

FEWEST_ROWS = 4
"""The smallest number of training rows."""


def check_arguments(model: Any) -> dict[Any, str] | None:
    """Check the parameters of an `AutoDependency`; return the kinds that `output` sets, by column.

    The result maps column names to kinds, and is None if no kinds are given.
    """
    scorer_of(model.scoring)
    if model.coverage is not None:
        checked_fraction(model.coverage, "coverage")
    if model.preset not in PRESETS:
        raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got {model.preset!r:.60}.")
    limit = model.time_limit
    if limit is not None and not (_is_real(limit) and isfinite(limit) and limit > 0):
        raise ValueError(f"time_limit must be a positive number of seconds or None, got {limit!r}.")
    if isinstance(model.inputs, dict):
        for name, kind in model.inputs.items():
            _check_kind(f"inputs[{name!r:.60}]", kind, INPUT_KINDS)
    if not isinstance(model.output, dict):
        return None
    for name, kind in model.output.items():
        _check_kind(f"output[{name!r:.60}]", kind, output_kinds())
    return dict(model.output) or None


def check_scoring(scoring: Any, outputs: Kind) -> None:
    """Raise an error if `scoring` is set for records, whose columns have different metrics."""
    if scoring is not None and outputs.is_record:
        raise ValueError(
            "scoring must be None for output columns of different kinds, whose metrics are "
            "averaged: fit one AutoDependency for each column, or leave scoring out."
        )


def check_rows(inputs: Table, outputs: Table) -> None:
    """Raise an error for tables of different lengths or with too few rows to learn from."""
    n = len(inputs)
    require_equal_lengths(n, len(outputs))
    if n < FEWEST_ROWS:
        rows = "1 row" if n == 1 else f"{n} rows"
        raise BadTable(
            f"{inputs.source} has {rows}: at least {FEWEST_ROWS} are needed to learn from"
        )


def _check_kind(name: str, kind: Any, known: tuple[str, ...]) -> None:
    """Raise an error if `kind`, the value of the argument `name`, is not in `known`."""
    if kind not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {kind!r:.60}.")


def _is_real(value: Any) -> bool:
    """Return whether a value is a real number, and not a bool."""
    return isinstance(value, Real) and not isinstance(value, bool)


def as_list(names: Any) -> list:
    """Return a list, tuple or dictionary of names as a list, and a single name as a list of one."""
    return list(names) if isinstance(names, list | tuple | dict) else [names]
