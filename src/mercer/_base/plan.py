"""The memory of a fit by each solver: one formula each, for refusals and for `plan`.

Memory is in bytes at the peak beyond the data, as benchmarks/cost_curves.py measures it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from . import memory as _memory
from .memory import GIB, PLANNED_FRACTION, ROWS

CHOLESKY_SQUARES = 2.5
SPECTRAL_SQUARES = 7.5
OUTPUT_SQUARES = 4.0
LEFT_OUT_SQUARES = 4.5
LEVERAGE_SQUARES = 4.0
"""Memory peaks of exact fits, in n × n matrices."""
LOW_RANK_PANELS = 3.0
CHOICE_PANELS = 4.5
OUTPUT_PANELS = 1.5
"""Memory peaks at low rank, in n × rank matrices: a fit, a choice of α, and low-rank outputs."""
MOMENTS = 4.0
"""The memory peak of a fit on a stream, in matrices of the size of its moments."""
DEFAULT_RANK = 1000
"""The default rank of a low-rank fit: larger ranks cost much time and improve little."""
PRODUCT_COLUMNS = 12.0
"""The memory of conjugate gradients beyond the Gram matrix, in arrays like the outputs."""
BLOCK_BYTES = 2.0**29
"""The memory of a block of kernel values with its temporary arrays."""
GRANTED_BYTES = 2.0**20
"""Requests up to this many bytes are granted without a look at the free memory."""


def exact_bytes(n: int, squares: float) -> float:
    """Return the memory of an exact fit of n pairs that needs `squares` n × n matrices."""
    return 8.0 * squares * n * n


def products_bytes(n: int, rank: int, columns: int) -> float:
    """Return the memory of conjugate gradients with a Gram matrix of n pairs.

    The preconditioner has the given rank, and there are `columns` outputs.
    """
    return 8.0 * n * (n + 2.0 * rank + PRODUCT_COLUMNS * columns) + BLOCK_BYTES


def low_rank_bytes(n: int, rank: int, panels: float = LOW_RANK_PANELS) -> float:
    """Return the memory of n rows of low-rank coordinates: `panels` n × rank matrices."""
    return 8.0 * panels * n * rank


def moment_bytes(p: int, q: int) -> float:
    """Return the memory of the moments of p input and q output coordinates."""
    return 8.0 * MOMENTS * (p * p + p * q + q * q)


def largest_rank(n: int, panels: float = LOW_RANK_PANELS, free: float | None = None) -> int:
    """Return the largest rank whose fit of n rows needs at most `free` bytes; None: all free."""
    free = PLANNED_FRACTION * _memory.available() if free is None else free
    return min(n, int(free / low_rank_bytes(n, 1, panels)))


@dataclass(frozen=True)
class Route:
    """One solver with its memory in bytes, the rank (None for an exact fit) and the free bytes."""

    name: str
    memory: float
    rank: int | None
    free: float = field(repr=False)

    @property
    def feasible(self) -> bool:
        """Whether the required memory is at most the free memory."""
        return self.memory <= self.free


@dataclass(frozen=True)
class Plan:
    """The solvers of a fit of n pairs with their memory, exact ones first; printed as a table."""

    n: int
    routes: tuple[Route, ...]
    largest_rank: int

    @classmethod
    def of(cls, n: int, q: int | None, rank: int | None, identity: bool, choice: bool) -> Plan:
        """Return the plan of a fit.

        Parameters
        ----------
        n, q, rank
            The numbers of pairs and of output features (None if not finite), and the rank; None for
            `DEFAULT_RANK`, or the largest that fits.
        identity, choice
            Whether the operator is a multiple of the identity, and whether parameters are chosen.
        """
        panels = CHOICE_PANELS if choice else LOW_RANK_PANELS
        panels += 0.0 if identity or q is not None else OUTPUT_PANELS
        free, largest = PLANNED_FRACTION * _memory.available(), largest_rank(n, panels)
        m = min(n, DEFAULT_RANK, max(1, largest)) if rank is None else rank
        width = m if q is None else min(q, m)
        stream = low_rank_bytes(min(n, ROWS), m + width) + moment_bytes(m, width)
        exact = [("cholesky", CHOLESKY_SQUARES)] if identity and not choice else []
        exact += [("spectral", SPECTRAL_SQUARES)]
        routes = [Route(name, exact_bytes(n, squares), None, free) for name, squares in exact]
        routes += [Route("low rank", low_rank_bytes(n, m, panels), m, free)]
        return cls(n, (*routes, Route("streamed", stream, m, free)), largest)

    def __iter__(self) -> Iterator[Route]:
        return iter(self.routes)

    def __getitem__(self, name: str) -> Route:
        found = [route for route in self.routes if route.name == name]
        if not found:
            raise KeyError(f"no route {name!r}: there are {[r.name for r in self.routes]}.")
        return found[0]

    @property
    def best(self) -> Route:
        """The first solver that fits into memory, or else the last one."""
        return next((route for route in self.routes if route.feasible), self.routes[-1])

    def __repr__(self) -> str:
        lines = [f"a fit of {self.n} pairs", f"{'route':24}{'memory':>14}  fits"]
        for route in self.routes:
            name = route.name if route.rank is None else f"{route.name}, rank {route.rank}"
            fits = "yes" if route.feasible else "no"
            lines.append(f"{name:24}{route.memory / GIB:>10.3g} GiB  {fits:>4}")
        free = f"{self.routes[0].free / GIB:.3g} GiB free"
        return "\n".join([*lines, f"{free}: ranks up to {self.largest_rank} fit"])


def require_exact(n: int, squares: float, of: str = "pairs", where: Any = None) -> None:
    """Raise an error if an exact fit of n pairs needs more memory than is free.

    The fit needs `squares` n × n matrices. `of` is the word for pairs in the message. `where` is an
    array on the device that computes; None for the CPU.
    """
    needed = exact_bytes(n, squares)
    if needed <= GRANTED_BYTES:
        return
    free = PLANNED_FRACTION * _memory.free_bytes(where)
    if needed > free:
        largest = max(1, largest_rank(n, LOW_RANK_PANELS + OUTPUT_PANELS, free))
        likewise = " (and output_features= likewise)" if of == "pairs" else ""
        raise MemoryError(
            f"an exact fit of {n} {of} needs about {needed / GIB:.1f} GiB, and "
            f"{free / GIB:.1f} GiB are free. Fit at low rank instead: "
            f"features=mercer.features.RandomPivotedCholesky(rank={min(largest, DEFAULT_RANK)})"
            f"{likewise}; ranks up to about {largest} would fit. "
            f"model.plan({n}) shows the memory of all solvers."
        )


def require_low_rank(n: int, rank: int | None) -> None:
    """Raise an error if n × rank coordinates exceed the memory; a rank of None always passes."""
    needed, free = low_rank_bytes(n, rank or 0), PLANNED_FRACTION * _memory.available()
    if needed > free:
        raise MemoryError(
            f"coordinates of rank {rank} of {n} items need about {needed / GIB:.1f} GiB, and "
            f"{free / GIB:.1f} GiB are free: ranks up to about "
            f"{max(1, largest_rank(n, free=free))} would fit."
        )


def require_moments(shapes: list[tuple[int, int]]) -> None:
    """Raise an error if the moment matrices of a stream exceed the memory.

    The shapes are numbers of (output, input) coordinates.
    """
    needed = sum(moment_bytes(p, q) for q, p in shapes)
    free = PLANNED_FRACTION * _memory.available()
    if needed > free:
        q, p = max(shapes)
        raise MemoryError(
            f"the moments of {p} input and {q} output coordinates need about "
            f"{needed / GIB:.1f} GiB, and {free / GIB:.1f} GiB are free: give features= or "
            f"output_features= of lower rank."
        )
