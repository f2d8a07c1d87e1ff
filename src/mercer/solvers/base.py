"""What a solver is: whether it takes a problem, what that costs, and the factorisation."""

from __future__ import annotations

from .._plan import Route, Sizes
from ..problem import Problem, Want
from .factorization import Factorization
from .outputs import Cache


class Solver:
    """One way to factor a ridge problem.

    Attributes
    ----------
    name
        What `solver=` and `plan` call it.
    """

    name: str

    def accepts(self, problem: Problem, want: Want) -> str | None:
        """None if it takes a problem of its kind in `LADDER`, else the reason why it does not."""
        return None

    def cost(self, sizes: Sizes) -> Route:
        """Memory and multiplications of a problem of these sizes, as `Sizes` counts this way."""
        return getattr(sizes, self.name.replace(" ", "_"))()

    def factor(self, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Factor a problem that it accepts."""
        raise NotImplementedError


def needs_no_coordinates(problem: Problem, want: Want) -> bool:
    """Whether weights on the outputs are all that a separable problem at low rank needs."""
    return problem.kernel.operator.uniform is not None and problem.spanned and not want.moves
