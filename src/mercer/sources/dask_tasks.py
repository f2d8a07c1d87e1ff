"""Tasks of a Dask graph, under names that say what they do and to which block."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any
from uuid import uuid4

WIDTH = 8
"""Results that one task merges."""


def task(name: str, number: int, function: Callable, *arguments: Any) -> Any:
    """A call on the cluster under a name that says what it does and to which block."""
    from dask import delayed

    key = f"mercer-{name}-block{number}-{uuid4().hex}"
    return delayed(function, pure=False)(*arguments, dask_key_name=key)


def shared(what: Any) -> Any:
    """An object that all tasks use, once in the graph: it is there to be sent again."""
    from dask import delayed

    return delayed(what, traverse=False, pure=False)


def tree(tasks: list, merge: Callable) -> Any:
    """The results merged, some at a time and in a fixed order."""
    from dask import delayed

    while len(tasks) > 1:
        tasks = [delayed(reduce)(merge, tasks[i : i + WIDTH]) for i in range(0, len(tasks), WIDTH)]
    return tasks[0]


def problems(parts: list[tuple]) -> Any:
    """For every block what goes wrong when it is loaded, or None."""
    from dask import delayed

    tasks = [delayed(_touch)(*block) for block in parts]
    client = _client()
    if client is not None:
        yield from (future.exception() for future in client.compute(tasks))
        return
    for task in tasks:
        try:
            task.compute()
        except Exception as error:
            yield error
        else:
            yield None


def _client() -> Any:
    try:
        from distributed import default_client

        return default_client()
    except (ImportError, ValueError):
        return None


def _touch(*parts: Any) -> None:
    return None
