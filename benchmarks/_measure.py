"""Shared by the scripts: alternate the contestants in one run, report ratios of best times.

Every script takes ``--small`` for a size that ends within a minute. Threads are two unless
``OMP_NUM_THREADS`` and ``OPENBLAS_NUM_THREADS`` say otherwise. With one thread processor time is
measured, which other processes disturb less than time on the clock.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "2")
os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("NUMBA_NUM_THREADS", os.environ["OMP_NUM_THREADS"])

import gc
import json
import resource
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from rich.console import Console
from rich.table import Table

BOARD = "MERCER_BOARD"
"""The variable that names the file to which ratios are appended, a line of JSON each."""
SMALL = "--small" in sys.argv
if SMALL:
    sys.argv.remove("--small")
Size = TypeVar("Size")
clock = time.process_time if os.environ["OMP_NUM_THREADS"] == "1" else time.perf_counter


def size(full: Size, small: Size) -> Size:
    """The first, or the second where the script was started with ``--small``."""
    return small if SMALL else full


def best_times(contestants: dict[str, Callable[[], object]], repeats: int = 3) -> dict[str, float]:
    """The best of several runs each, taken in turns: a busy machine slows all of them alike."""
    times = {name: float("inf") for name in contestants}
    for _ in range(repeats):
        for name, run in contestants.items():
            gc.collect()
            start = clock()
            run()
            times[name] = min(times[name], clock() - start)
    return times


def report(question: str, times: dict[str, float], floor: str, limit: str) -> None:
    table = Table(title=question)
    for column in ("contestant", "seconds", f"ratio to {floor}"):
        table.add_column(column, justify="left" if column == "contestant" else "right")
    for name, seconds in times.items():
        table.add_row(name, f"{seconds:.3g}", f"{seconds / times[floor]:.2f}")
        if name != floor:
            record(f"{question}: {name} over {floor}", seconds / times[floor], limit)
    Console().print(table, f"wanted: {limit}")


def record(question: str, ratio: float, limit: str) -> None:
    """Append a ratio to the file of the board, where one is being made."""
    if BOARD in os.environ:
        with open(os.environ[BOARD], "a", encoding="utf-8") as board:
            line = {"question": question, "ratio": ratio, "limit": limit}
            board.write(json.dumps(line, ensure_ascii=False) + "\n")


def peak_mib() -> float:
    """The largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
