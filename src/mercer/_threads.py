"""Threads for passes over large arrays, which numpy makes on one core."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

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
    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(work, parts))
