"""Shared by the scripts: alternate the contestants in one run, report ratios of best times."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "2")
os.environ.setdefault("OMP_NUM_THREADS", "2")

import gc
import resource
import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table


def best_times(contestants: dict[str, Callable[[], object]], repeats: int = 3) -> dict[str, float]:
    """The best of several runs each, taken in turns: a busy machine slows all of them alike."""
    times = {name: float("inf") for name in contestants}
    for _ in range(repeats):
        for name, run in contestants.items():
            gc.collect()
            start = time.perf_counter()
            run()
            times[name] = min(times[name], time.perf_counter() - start)
    return times


def report(question: str, times: dict[str, float], floor: str, limit: str) -> None:
    table = Table(title=question)
    for column in ("contestant", "seconds", f"ratio to {floor}"):
        table.add_column(column, justify="left" if column == "contestant" else "right")
    for name, seconds in times.items():
        table.add_row(name, f"{seconds:.3f}", f"{seconds / times[floor]:.2f}")
    Console().print(table, f"wanted: {limit}")


def peak_mib() -> float:
    """The largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
