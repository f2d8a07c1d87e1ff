"""What a solver is: whether it takes a problem, what that costs, and the factorisation."""

from __future__ import annotations

from typing import Any

from .._plan import Route, Sizes
from ..problem import Problem, Want
from .factorization import Factorization
from .outputs import Outputs


class Cache:
    """What trials of a choice share: the outputs, and the inputs of one scalar kernel at a time."""

    def __init__(self, outputs: Outputs | None = None) -> None:
        self._outputs: dict[bool, Outputs] = {}
        if outputs is not None:
            self._outputs = {False: outputs, True: outputs}
        self._inputs: tuple[Any, Any] = (None, None)

    def outputs(self, problem: Problem) -> Outputs:
        """The outputs in coordinates, made once."""
        own = problem.kernel.own_coordinates
        if own not in self._outputs:
            self._outputs[own] = Outputs.of(problem)
        return self._outputs[own]

    def inputs(self, kernel: Any, make: Any) -> Any:
        """The factored inputs of a scalar kernel; those of another are let go."""
        if self._inputs[0] is not kernel:
            self._inputs = (None, None)  # before the next are made
            self._inputs = (kernel, make())
        return self._inputs[1]


class Solver:
    """One way to factor a ridge problem.

    Attributes
    ----------
    name
        What `solver=` and `plan` call it.
    """

    name: str

    def accepts(self, problem: Problem, want: Want) -> str | None:
        """None if it takes the problem, else the reason why it does not."""
        raise NotImplementedError

    def cost(self, sizes: Sizes) -> Route:
        """Memory and multiplications of a problem of these sizes."""
        raise NotImplementedError

    def factor(self, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Factor a problem that it accepts."""
        raise NotImplementedError


def closed_form(problem: Problem, want: Want) -> str | None:
    """Why a problem has no closed form; None where it has one."""
    if want.judge != "closed":
        return "left-out predictions are wanted by refits"
    if problem.loss is not None:
        return f"{problem.loss} is no square loss"
    if problem.separable and problem.operator.learnt:
        return f"{problem.operator} is learnt with the fit"
    return None


def scalar_problem(problem: Problem, want: Want) -> str | None:
    """Why a problem is no scalar kernel times an operator with a closed form, held whole."""
    if not problem.separable:
        return f"{problem.kernel} is no scalar kernel times an operator"
    if problem.gathered is not None:
        return "the pairs come in blocks"
    return closed_form(problem, want)


def needs_no_coordinates(problem: Problem, want: Want) -> bool:
    """Whether weights on the outputs are all that a separable problem at low rank needs."""
    return problem.operator.uniform is not None and problem.spanned and not want.moves
