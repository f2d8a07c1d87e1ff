"""Memory is checked before it is used: a refusal in a sentence beats a killed process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import array_api_compat

GIB = 2**30
SHARE = 0.9
"""How much of the free memory a fit may plan to use."""


def available() -> float:
    """Bytes that this process may still take; infinity where the system does not say."""
    return min(_machine(), _container())


def room(where: Any = None) -> float:
    """The same on the device of an array, or on a device by its name; here where it is the host."""
    name = where if isinstance(where, str) else str(getattr(where, "device", "cpu"))
    if "cuda" not in name.lower():
        return available()
    if array_api_compat.is_cupy_array(where):
        import cupy

        pooled = cupy.get_default_memory_pool().free_bytes()
        return float(cupy.cuda.runtime.memGetInfo()[0] + pooled)
    import torch

    return float(torch.cuda.mem_get_info(None if isinstance(where, str) else where.device)[0])


def _machine() -> float:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return float("inf")
    kib = next((line.split()[1] for line in lines if line.startswith("MemAvailable")), None)
    return float("inf") if kib is None else float(kib) * 1024


def _container() -> float:
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text().strip()
        used = (folder / "memory.current").read_text().strip()
    except OSError:
        return float("inf")
    return float("inf") if limit == "max" else float(limit) - float(used)
