"""The cost of a fit, from sizes or from the pairs themselves."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, ClassVar

from .._base.arrays import Items
from .._base.parameters import integer
from .._base.plan import Plan, Sizes
from ..operators import Covariance
from ..problem import Problem, Want
from ..solvers.route import plan, plan_of
from .choice import Choices


class Planned:
    """A mixin with `plan`, the cost of each way to solve the ridge problem of a model."""

    output_kernel: Any
    chooses: ClassVar[bool]
    _choices: Callable[[], Choices]
    _first_problem: Callable[..., tuple[Problem, Want]]

    def plan(
        self,
        n: int | None = None,
        p: int = 1,
        q: int = 1,
        rank: int | None = None,
        *,
        X: Items = None,
        y: Items = None,
    ) -> Plan:
        """Return the cost of a fit by each route, in memory and multiplications.

        Parameters
        ----------
        n
            The number of pairs; not needed where X and y are given.
        p
            The number of input features, or of multiplications that a kernel value takes.
        q
            The number of output features, where the output kernel has finite ones.
        rank
            Of a fit at low rank; None for 1,000, or the largest that fits if that is less.
        X, y
            The pairs themselves: the plan is then that of `fit` on them.

        Returns
        -------
        Plan
            A table that prints itself; `best` is the route that fits into memory, an exact one
            if possible.

        Examples
        --------
        >>> from mercer import KernelDependency
        >>> plan = KernelDependency("rbf", "rbf").plan(n=1000, p=20)
        >>> plan.best.name, [route.name for route in plan]
        ('cholesky', ['cholesky', 'spectral', 'low rank', 'streamed'])
        """
        if X is not None and not isinstance(X, int):
            return plan_of(*copy.copy(self)._first_problem(X, y))
        n, p, q = integer(n, "n"), integer(p, "p"), integer(q, "q")
        rank = None if rank is None else integer(rank, "rank")
        choices = self._choices()
        kernels = choices.kernels
        coupled = [kernel for kernel in kernels if not kernel.separable]
        if coupled:
            raise ValueError(f"plan counts the routes of kernel * operator only, got {coupled[0]}.")
        operators = [kernel.separated().operator for kernel in kernels]
        dense = [operator for operator in operators if operator.uniform is None]
        conditional = sum(not isinstance(operator, Covariance) for operator in dense)
        width = None if choices.outputs[0].features is None else q
        return plan(Sizes(n, p, width, not dense, conditional, self.chooses, rank=rank))
