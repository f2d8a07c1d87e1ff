"""What a run takes: its seconds, and the most memory that it held."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

GIB = 2**30


@dataclass
class Usage:
    """Seconds and peak memory of a block, set when `measure_resources` ends."""

    seconds: float = 0.0
    peak: float = 0.0


@contextmanager
def measure_resources() -> Iterator[Usage]:
    """Measure the seconds and the peak memory in GiB of the `with` block, as a `Usage`.

    Where the system cannot forget an earlier peak (other than Linux), it is that of the process.
    """
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    usage, start = Usage(), time.perf_counter()
    try:
        yield usage
    finally:
        usage.seconds, usage.peak = time.perf_counter() - start, peak_memory()


def peak_memory() -> float:
    """Return the peak memory of this process in GiB, since the last measurement began."""
    with suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(x for x in lines if x.startswith("VmHWM")).split()[1]) * 1024 / GIB
    with suppress(ImportError):  # not everywhere
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / GIB
    return float("nan")
