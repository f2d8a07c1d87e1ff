"""Free memory and the size of objects, so that a fit that needs too much is refused at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import array_api_compat

GIB = 2**30
ENTRIES = 2**23
"""The largest number of entries of a temporary array, which then takes 64 MB."""
ROWS = 4096
"""The number of rows of a temporary block of rows."""
PLANNED_FRACTION = 0.9
"""The fraction of the free memory that a fit may plan to use."""
KEPT_FRACTION = 0.125
"""The fraction of the free memory up to which results are kept for later use."""


def available() -> float:
    """Return the bytes that this process may still allocate; infinity if unknown."""
    return min(_free_machine_bytes(), _free_container_bytes())


def free_bytes(where: Any = None) -> float:
    """Return the free bytes on the device of an array; None for the CPU."""
    if "cuda" not in str(getattr(where, "device", "cpu")).lower():
        return available()
    if array_api_compat.is_cupy_array(where):
        import cupy

        pooled = cupy.get_default_memory_pool().free_bytes()
        return float(cupy.cuda.runtime.memGetInfo()[0] + pooled)
    import torch

    cached = torch.cuda.memory_reserved(where.device) - torch.cuda.memory_allocated(where.device)
    return float(torch.cuda.mem_get_info(where.device)[0] + cached)


def _free_machine_bytes() -> float:
    """Return the free memory of the machine in bytes."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return float("inf")
    kib = next((line.split()[1] for line in lines if line.startswith("MemAvailable")), None)
    return float("inf") if kib is None else float(kib) * 1024


def _free_container_bytes() -> float:
    """Return the memory in bytes that the limit of a container still allows."""
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text().strip()
        used = (folder / "memory.current").read_text().strip()
    except OSError:
        return float("inf")
    return float("inf") if limit == "max" else float(limit) - float(used)
