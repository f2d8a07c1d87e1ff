"""Whether two answers of a model are the same, whatever they are made of."""

from dataclasses import fields, is_dataclass

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import issparse

ATOL = 1e-12


def flat(value):
    """The numbers and texts inside a value, in order."""
    if issparse(value):
        return flat(value.toarray())
    if isinstance(value, pd.DataFrame | pl.DataFrame):
        return flat({str(name): list(value[name]) for name in value.columns})
    if isinstance(value, np.ndarray) and value.dtype != object:
        return [value.dtype.kind, value.shape, *value.ravel().tolist()]
    if isinstance(value, dict):
        return [part for key in sorted(value, key=str) for part in (key, *flat(value[key]))]
    if isinstance(value, set | frozenset):
        return flat(sorted(value, key=str))
    if isinstance(value, list | tuple | np.ndarray | pd.Series | pl.Series):
        return [len(value), *(part for item in value for part in flat(item))]
    if hasattr(value, "edges"):
        return [
            *flat(dict(value.graph)),
            *flat(dict(value.nodes(data=True))),
            *map(str, value.edges(data=True)),
        ]
    if hasattr(value, "get_params"):
        return [type(value).__name__, *flat(vars(value))]
    if is_dataclass(value):
        return flat({field.name: getattr(value, field.name) for field in fields(value)})
    return [value if isinstance(value, int | float | str) else str(value)]


def assert_same(found, expected, tolerance=ATOL):
    """Check that two values are made of the same numbers and texts."""
    found, expected = flat(found), flat(expected)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        if isinstance(a, float) and isinstance(b, float):
            assert a == pytest.approx(b, abs=tolerance, rel=tolerance, nan_ok=True)
        else:
            assert a == b
