"""What a fit would cost, from sizes or from the pairs themselves."""

from __future__ import annotations

import copy
from dataclasses import replace

from .._arrays import Items
from .._parameters import whole
from .._plan import Plan, Sizes
from ..kernels import Kernel
from ..operators import Covariance, OperatorKernel
from ..problem import Problem, Want
from ..solvers.route import plan, sizes_of


class Planned:
    """An estimator that tells what its routes cost."""

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
        """What a fit would cost by each route: memory, multiplications and seconds on this machine.

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
            A table that prints itself; `best` is the route that has room, exact where one has,
            and `best.seconds` about how long it takes.

        Examples
        --------
        >>> from mercer import KernelDependency
        >>> plan = KernelDependency("rbf", "rbf").plan(n=1000, p=20)
        >>> plan.best.name, [route.name for route in plan]
        ('cholesky', ['cholesky', 'spectral', 'low rank', 'streamed'])
        """
        if X is not None and not isinstance(X, int):
            return self._plan_of(X, y)
        p, q = whole(p, "p"), whole(q, "q")
        rank = None if rank is None else whole(rank, "rank")
        return plan(replace(self._sizes(whole(n, "n"), p, q), rank=rank))

    def _plan_of(self, X: Items, y: Items) -> Plan:
        """The plan of a fit on given pairs, from the very problem that `fit` would solve."""
        fresh = copy.copy(self)
        problem, want = fresh._first_problem(X, y)
        return plan(sizes_of(problem, want))

    def _first_problem(self, X: Items, y: Items) -> tuple[Problem, Want]:
        raise NotImplementedError

    def _sizes(self, n: int, p: int, q: int) -> Sizes:
        raise NotImplementedError


def planned_sizes(
    kernels: list[OperatorKernel], output: Kernel, n: int, p: int, q: int, choice: bool
) -> Sizes:
    """What the costs of a fit depend on, from sizes alone."""
    coupled = [kernel for kernel in kernels if not kernel.separable]
    if coupled:
        raise ValueError(f"plan counts the routes of kernel * operator only, got {coupled[0]}.")
    operators = [kernel.separated().operator for kernel in kernels]
    uniform = [operator.uniform is not None for operator in operators]
    conditional = sum(
        not known and not isinstance(operator, Covariance)
        for known, operator in zip(uniform, operators, strict=True)
    )
    return Sizes(n, p, None if output.features is None else q, all(uniform), conditional, choice)
