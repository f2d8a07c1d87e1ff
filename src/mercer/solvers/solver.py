"""A way to solve ridge problems: what it accepts, what it costs, how it builds the parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from .._base.plan import Route, Sizes
from ..problem import Problem, Want
from .factorization import Factorization
from .outputs import Cache


@dataclass(frozen=True)
class Solver:
    """A way to solve a kind of problem.

    Attributes
    ----------
    name
        What `solver=` and `plan` call it.
    build
        The function that factors a problem.
    refuses
        Returns the reason why it does not take a problem of its kind, or None; None for no reason.
    costs
        The method of `Sizes` that counts what it costs; empty for the one of its own name.
    single
        Whether it is only for one ridge.
    """

    name: str
    build: Callable[[Problem, Want, Cache], Factorization]
    refuses: Callable[[Problem, Want], str | None] | None = None
    costs: Callable[[Sizes], Route] = Sizes.spectral
    single: bool = False

    def factor(self, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Factor a problem that it accepts."""
        found = self.build(problem, want, cache)
        found.solver = self.name
        return found

    def reason(self, problem: Problem, want: Want) -> str | None:
        """Return why it does not take a problem of its kind; None if it does."""
        return None if self.refuses is None else self.refuses(problem, want)

    def cost(self, sizes: Sizes) -> Route:
        """Return memory and multiplications for a problem of these sizes."""
        return replace(self.costs(sizes), name=self.name)
