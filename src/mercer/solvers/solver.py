"""A way to solve ridge problems: what it accepts, what it costs, how it builds the parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from .._base.plan import Route, Sizes
from ..problem import Problem, Want
from .factorization import Factorization
from .outputs import Cache


def accept_all(problem: Problem, want: Want) -> str | None:
    """Accept any problem of the kind."""
    return None


@dataclass(frozen=True)
class Solver:
    """A way to solve a kind of problem.

    Attributes
    ----------
    name
        What `solver=` and `plan` call it.
    build
        The function that factors a problem.
    accepts
        Returns None for a problem of its kind that it takes, else the reason why it does not.
    costs
        The method of `Sizes` that counts what it costs; empty for the one of its own name.
    single
        Whether it is only for one ridge.
    """

    name: str
    build: Callable[[Problem, Want, Cache], Factorization]
    accepts: Callable[[Problem, Want], str | None] = accept_all
    costs: Callable[[Sizes], Route] = Sizes.spectral
    single: bool = False

    def factor(self, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Factor a problem that it accepts."""
        found = self.build(problem, want, cache)
        found.solver = self.name
        return found

    def cost(self, sizes: Sizes) -> Route:
        """Return memory and multiplications for a problem of these sizes."""
        return replace(self.costs(sizes), name=self.name)
