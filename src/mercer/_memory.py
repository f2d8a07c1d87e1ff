"""Memory is checked before it is used: a refusal in a sentence beats a killed process."""

from __future__ import annotations

from pathlib import Path

GIB = 2**30
SHARE = 0.9
"""How much of the free memory a fit may plan to use."""


def available() -> float:
    """Bytes that this process may still take; infinity where the system does not say."""
    return min(_machine(), _container())


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


def require_exact(n: int, squares: float, of: str = "pairs") -> None:
    """Refuse an exact fit of `n` pairs, `squares` n×n float64 matrices large, that has no room."""
    needed, free = 8.0 * squares * n * n, SHARE * available()
    if needed > free:
        rank = max(1, int(free / (8.0 * 4 * n)))
        likewise = " (and output_features= likewise)" if of == "pairs" else ""
        raise MemoryError(
            f"an exact fit of {n} {of} needs about {needed / GIB:.1f} GiB, and "
            f"{free / GIB:.1f} GiB are free. Fit at low rank instead: "
            f"features=mercer.features.IncompleteCholesky(rank={min(rank, 2000)})"
            f"{likewise}; ranks up to about {rank} would fit."
        )
