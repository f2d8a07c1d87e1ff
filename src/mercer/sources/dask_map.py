"""A function over the blocks of Dask's collections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._arrays import Items
from .._extras import require
from .blocks import BadBlock
from .dask_blocks import batch, untabled
from .dask_tasks import shared


def mapped(function: Callable[[Items], Items], X: Any, shape: tuple, dtype: Any) -> Any:
    """A function of a batch over all blocks of a collection, when its result is asked for.

    Parameters
    ----------
    function
        From a batch of items to as many results.
    X
        A Dask array (the result is one), a bag (likewise) or a list of delayed batches (likewise).
    shape, dtype
        Of one result, where `X` is an array.
    """
    require("dask", "dask")
    from dask import delayed

    common, X = shared(function), untabled(X)
    if hasattr(X, "chunks"):
        import dask.array as da

        X = X.rechunk(dict.fromkeys(range(1, X.ndim), -1))
        made = [
            da.from_delayed(delayed(_call)(common, i, block), (rows, *shape), dtype=dtype)
            for i, (block, rows) in enumerate(
                zip(X.to_delayed().reshape(-1), X.chunks[0], strict=True)
            )
        ]
        return da.concatenate(made, axis=0, allow_unknown_chunksizes=True)
    if hasattr(X, "to_delayed"):
        import dask.bag as db

        parts = [delayed(_listed)(common, i, part) for i, part in enumerate(X.to_delayed())]
        return db.from_delayed(parts)
    return [delayed(_call)(common, i, block) for i, block in enumerate(X)]


def _call(function: Callable, number: int, batch: Items) -> Items:
    try:
        return function(batch)
    except (ValueError, TypeError) as error:
        raise BadBlock(f"block {number}: {error}") from error


def _listed(function: Callable, number: int, part: Any) -> list:
    return list(_call(function, number, batch(part)))
