"""Recognise Dask's collections without loading Dask."""

from __future__ import annotations

from typing import Any


def is_dask(X: Any) -> bool:
    """Whether `X` is a Dask array, bag or delayed block, or a list of those."""
    first = X[0] if isinstance(X, list | tuple) and len(X) else X
    return type(first).__module__.partition(".")[0] in ("dask", "dask_expr")
