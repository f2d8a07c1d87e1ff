"""Threads for passes over large arrays, which numpy makes on one core."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

from ._arrays import blocks

HELD = 2**16
"""Numbers that stay in the cache of a core."""
MANY = 2**20
"""Numbers from which on threads pay."""
Part = TypeVar("Part")
Done = TypeVar("Done")


def cores() -> int:
    """As many as linear algebra may use: what the environment says, or what the process has."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        told = os.environ.get(name, "")
        if told.isdecimal() and int(told) > 0:
            return int(told)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def side_by_side(work: Callable[[Part], Done], parts: Iterable[Part]) -> list[Done]:
    """What the function gives for each part, as many at a time as there are cores."""
    parts = list(parts)
    number = min(cores(), len(parts))
    if number < 2:
        return [work(part) for part in parts]
    contexts = [copy_context() for _ in parts]  # numpy's errstate among them
    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(lambda context, part: context.run(work, part), contexts, parts))


def in_passes(work: Callable[[slice], Any], rows: int, columns: int) -> None:
    """Do something to blocks of rows that stay in the cache, side by side where there are many."""
    parts = blocks(rows, HELD // max(1, columns))
    if rows * columns < MANY:
        for part in parts:
            work(part)
    else:
        side_by_side(work, parts)
