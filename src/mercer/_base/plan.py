"""The cost of a fit by each route, and what to do where memory is too small.

Memory is in float64 numbers at the peak, as benchmarks/cost_curves.py measures it. Products, kernel
values and eigendecompositions are all counted in multiplications of a matrix product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from . import memory as _memory
from .memory import GIB, PLANNED_FRACTION, ROWS

CHOLESKY_SQUARES = 2.5
SPECTRAL_SQUARES = 7.5
OUTPUT_SQUARES = 4.0
LEFT_OUT_SQUARES = 4.5
"""Memory peaks of exact fits, in n × n matrices."""
LOW_RANK_PANELS = 3.0
CHOICE_PANELS = 4.5
OUTPUT_PANELS = 1.5
"""Memory peaks at low rank, in n × rank matrices: a fit, a choice of α, and low-rank outputs."""
MOMENTS = 4.0
"""The memory peak of a fit on a stream, in matrices of the size of its moments."""
EIGH = 4.0
"""The time of an eigendecomposition, in units of n³ multiplications of a matrix product."""
ENTRY = 500
"""The time of a kernel value beyond its inner product (an exponential), in multiplications."""
DEFAULT_RANK = 1000
"""The default rank of a low-rank fit: larger ranks cost much time and improve little."""
GRANTED_BYTES = 2.0**20
"""Requests up to this many bytes are granted without a look at the free memory."""


@dataclass(frozen=True)
class Route:
    """One method of fitting, with its memory and its number of multiplications.

    Attributes
    ----------
    name
        The name of the solver, such as "cholesky" or "low rank".
    memory
        Bytes at the peak, beyond the data.
    multiplications
        The work, in multiplications of a matrix product.
    rank
        Of the input coordinates; None for an exact fit.
    free
        Bytes that may be used.
    """

    name: str
    memory: float
    multiplications: float
    rank: int | None
    free: float = field(repr=False)

    @property
    def feasible(self) -> bool:
        """Whether the required memory is at most the free memory."""
        return self.memory <= self.free

    def cells(self) -> tuple[str, ...]:
        """Return the texts of the row for this route in the printed table."""
        name = self.name if self.rank is None else f"{self.name}, rank {self.rank}"
        fits = "yes" if self.feasible else "no"
        return name, f"{self.memory / GIB:.3g} GiB", f"{self.multiplications:.2g}", fits


@dataclass(frozen=True)
class Plan:
    """The possible methods of a fit with their costs, exact ones first; printed as a table.

    Attributes
    ----------
    n
        The number of pairs.
    routes
        One `Route` a row.
    largest_rank
        The largest rank whose fit has enough memory without streaming.
    """

    n: int
    routes: tuple[Route, ...]
    largest_rank: int

    def __iter__(self) -> Iterator[Route]:
        return iter(self.routes)

    def __getitem__(self, name: str) -> Route:
        found = [route for route in self.routes if route.name == name]
        if not found:
            raise KeyError(f"no route {name!r}: there are {[r.name for r in self.routes]}.")
        return found[0]

    @property
    def exact(self) -> Route:
        """The exact route with the fewest multiplications, if possible one that fits in memory."""
        exact = [route for route in self.routes if route.rank is None]
        return min(exact, key=lambda route: (not route.feasible, route.multiplications))

    @property
    def best(self) -> Route:
        """The cheapest exact route that fits into memory, else low rank, else a stream."""
        low_rank = [route for route in self.routes if route.rank is not None]
        candidates = low_rank if len(low_rank) == len(self.routes) else [self.exact, *low_rank]
        return next((route for route in candidates if route.feasible), candidates[-1])

    def __repr__(self) -> str:
        rows = [("route", "memory", "multiplications", "fits"), *(r.cells() for r in self.routes)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in rows
        ]
        free = f"{self.routes[0].free / GIB:.3g} GiB free: ranks up to {self.largest_rank} fit"
        return "\n".join([f"a fit of {self.n} pairs", *lines, free])


@dataclass(frozen=True)
class Sizes:
    """The sizes of a fitting problem, which determine the costs of each route.

    Attributes
    ----------
    n, p
        Pairs, and multiplications that one kernel value takes.
    q
        Output coordinates; None where the output kernel has no finite features.
    identity
        Whether the operator is a multiple of the identity.
    conditional
        How many operators need an eigendecomposition of their own.
    choice
        Whether parameters are chosen or examples left out, which takes a spectrum.
    rank
        Of a fit at low rank; None for `DEFAULT_RANK`, or the largest that fits.
    """

    n: int
    p: int = 1
    q: int | None = None
    identity: bool = True
    conditional: int = 0
    choice: bool = False
    rank: int | None = None

    @cached_property
    def free(self) -> float:
        """The number of bytes that a fit may use."""
        return PLANNED_FRACTION * _memory.available()

    def largest_rank(self, free: float | None = None) -> int:
        """Return the largest rank whose fit needs at most `free` bytes; None for `self.free`."""
        room = self.free if free is None else free
        return min(self.n, int(room / (8.0 * self._number_of_panels() * self.n)))

    @property
    def _rank(self) -> int:
        """The given rank, or else the largest one up to `DEFAULT_RANK` that fits in memory."""
        return (
            min(self.n, DEFAULT_RANK, max(1, self.largest_rank()))
            if self.rank is None
            else self.rank
        )

    def _number_of_panels(self) -> float:
        """Return the number of n × rank matrices at the memory peak of a low-rank fit."""
        inputs = CHOICE_PANELS if self.choice else LOW_RANK_PANELS
        return inputs if self._outputs_need_no_rank() else inputs + OUTPUT_PANELS

    def _outputs_need_no_rank(self) -> bool:
        """Return whether a low-rank fit needs no low-rank factor of the output Gram matrix."""
        return self.identity or self.q is not None

    def _width(self, otherwise: int) -> int:
        """Return the number of output coordinates, at most n, or `otherwise` if it is unknown."""
        return otherwise if self.q is None else min(self.q, self.n)

    def cholesky(self) -> Route:
        """Return the cost of a fit by one Cholesky factorisation."""
        n = float(self.n)
        solves = n * n * (self.q or 0)
        work = n * n * (self.p + ENTRY) + n**3 / 4 + solves
        return Route("cholesky", 8 * CHOLESKY_SQUARES * n * n, work, None, self.free)

    def spectral(self) -> Route:
        """Return the cost of a fit by eigendecompositions of input Gram matrix and operator."""
        n, q = float(self.n), float(self._width(self.n))
        products = n * n * (self.p + ENTRY + 2 * q) + (n**3 / 6 if self.q is None else 0.0)
        work = products + EIGH * n**3 + self._operator_work(q)
        return Route("spectral", 8 * SPECTRAL_SQUARES * n * n, work, None, self.free)

    def low_rank(self) -> Route:
        """Return the cost of a low-rank fit with all rows in memory."""
        n, m = float(self.n), float(self._rank)
        memory = 8 * (self._number_of_panels() * n * m + 3 * m * m)
        return Route("low rank", memory, self._low_rank_work(m), self._rank, self.free)

    def streamed(self) -> Route:
        """Return the cost of a low-rank fit that holds one block of rows at a time."""
        m, q = float(self._rank), float(self._width(self._rank))
        memory = 8 * (LOW_RANK_PANELS * min(self.n, ROWS) * (m + q) + 3 * m * m + 2 * m * q + q * q)
        return Route("streamed", memory, self._low_rank_work(m), self._rank, self.free)

    def _operator_work(self, q: float) -> float:
        """Return the multiplications for an operator with q coordinates; 0 for the identity."""
        if self.identity:
            return 0.0
        return (1 + self.conditional) * self.n * q * q / 2 + EIGH * q**3

    def _low_rank_work(self, m: float) -> float:
        """Return the estimated number of multiplications of a fit at rank m."""
        n, q = float(self.n), float(self._width(int(m)))
        sides = 1.0 if self._outputs_need_no_rank() else 2.0
        cholesky = self.identity and not self.choice
        moments = n * m * (sides * (self.p + ENTRY + 1.5 * m) + q)
        return moments + self._operator_work(q) + (1 / 6 if cholesky else EIGH) * m**3


def require_exact(n: int, squares: float, of: str = "pairs", where: Any = None) -> None:
    """Raise an error if an exact fit of n pairs needs more memory than is free.

    The fit needs `squares` n × n matrices. `of` is the word for pairs in the message. `where` is an
    array on the device that computes, or the device's name; None for the CPU.
    """
    needed = 8.0 * squares * n * n
    if needed <= GRANTED_BYTES:
        return
    free = PLANNED_FRACTION * _memory.free_bytes(where)
    if needed > free:
        largest = max(1, Sizes(n, identity=False).largest_rank(free))
        likewise = " (and output_features= likewise)" if of == "pairs" else ""
        raise MemoryError(
            f"an exact fit of {n} {of} needs about {needed / GIB:.1f} GiB, and "
            f"{free / GIB:.1f} GiB are free. Fit at low rank instead: "
            f"features=mercer.features.RandomPivotedCholesky(rank={min(largest, DEFAULT_RANK)})"
            f"{likewise}; ranks up to about {largest} would fit. "
            f"model.plan({n}) shows the costs."
        )


def require_low_rank(n: int, rank: int | None) -> None:
    """Raise an error if n × rank coordinates exceed the memory; a rank of None always passes."""
    needed, free = 8.0 * LOW_RANK_PANELS * n * (rank or 0), PLANNED_FRACTION * _memory.available()
    if needed > free:
        raise MemoryError(
            f"coordinates of rank {rank} of {n} items need about {needed / GIB:.1f} GiB, and "
            f"{free / GIB:.1f} GiB are free: ranks up to about "
            f"{max(1, Sizes(n).largest_rank(free))} would fit."
        )


def require_moments(shapes: list[tuple[int, int]]) -> None:
    """Raise an error if the moment matrices of a stream exceed the memory.

    The shapes are numbers of (output, input) coordinates.
    """
    needed = 8.0 * MOMENTS * sum(p * p + p * q + q * q for q, p in shapes)
    free = PLANNED_FRACTION * _memory.available()
    if needed > free:
        q, p = max(shapes)
        raise MemoryError(
            f"the moments of {p} input and {q} output coordinates need about "
            f"{needed / GIB:.1f} GiB, and {free / GIB:.1f} GiB are free: give features= or "
            f"output_features= of lower rank."
        )
