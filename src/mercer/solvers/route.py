"""The table of solvers of ridge problems, and the choice of one by cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .._base.plan import Plan, Route, Sizes
from ..operators import Covariance
from ..problem import Problem, Want
from .block_conjugate_gradient import BlockConjugateGradient
from .by_direction import by_direction, directions_refusal
from .coupled import conjugate_gradient_refusal, coupled, coupled_refusal
from .exact import cholesky, spectral
from .factorization import Factorization
from .images import image_refusal, images
from .low_rank import low_rank
from .operator_features import feature_refusal, operator_features
from .outputs import Cache
from .refit import refit
from .shared import shared, shared_refusal
from .shifts import shift_refusal, shifts
from .streamed import stream_refusal, streamed


@dataclass(frozen=True)
class Solver:
    """A solver of ridge problems: its name, factoring function, conditions and cost.

    Attributes
    ----------
    name
        The name in the output of `plan`.
    build
        The function that factors a problem.
    refuses
        A function that returns the reason why the solver cannot solve a problem of its kind, or
        None if it can; None for a solver without such conditions.
    costs
        The method of `Sizes` that returns the cost.
    requested_by
        The values of the parameter `solver` that request this solver, other than "auto".
    """

    name: str
    build: Callable[[Problem, Want, Cache], Factorization]
    refuses: Callable[[Problem, Want], str | None] | None = None
    costs: Callable[[Sizes], Route] = Sizes.spectral
    requested_by: tuple[str, ...] = ()

    def refusal(self, problem: Problem, want: Want) -> str | None:
        """Return the reason why this solver cannot solve a problem; None if it can."""
        return None if self.refuses is None else self.refuses(problem, want)

    def cost(self, sizes: Sizes) -> Route:
        """Return the memory and the multiplications for a problem of the given sizes."""
        return replace(self.costs(sizes), name=self.name)


def _single_solution_refusal(problem: Problem, want: Want) -> str | None:
    """Return a reason to refuse if more than one solution is needed; else None."""
    return None if want.single else "several ridges or left-out predictions are needed"


CHOLESKY = Solver("cholesky", cholesky, _single_solution_refusal, Sizes.cholesky, ("cholesky",))
SPECTRAL = Solver("spectral", spectral, requested_by=("spectral",))
LOW_RANK = Solver("low rank", low_rank, None, Sizes.low_rank, ("cholesky", "spectral"))
STREAMED = Solver("streamed", streamed, stream_refusal, Sizes.streamed, ("cholesky", "spectral"))
REFIT = Solver("refit", refit, requested_by=("spectral",))
FEATURES = Solver("operator features", operator_features, feature_refusal, Sizes.low_rank)
SHIFTS = Solver("shifts", shifts, shift_refusal, Sizes.cholesky)
IMAGES = Solver("images", images, image_refusal)
WINDOWS = Solver("windows", shared, shared_refusal, Sizes.low_rank)
BY_DIRECTION = Solver("by direction", by_direction, directions_refusal)
DENSE = Solver("dense", coupled, coupled_refusal, requested_by=("dense",))
CONJUGATE_GRADIENTS = Solver("cg", coupled, conjugate_gradient_refusal, requested_by=("cg",))
SOLVERS = (
    CHOLESKY, SPECTRAL, LOW_RANK, STREAMED, REFIT, FEATURES, SHIFTS, IMAGES, WINDOWS, BY_DIRECTION,
    DENSE, CONJUGATE_GRADIENTS,
)  # fmt: skip
SEPARABLE_NAMES, COUPLED_NAMES = ("auto", "cholesky", "spectral"), ("auto", "dense", "cg")
"""The values of the parameter `solver` for separable and for coupled kernels."""


def solvers_for(problem: Problem, want: Want) -> tuple[Solver, ...]:
    """Return the solvers that may apply to the kind of a problem, the most general one last.

    If two have the same cost, the first one is used.
    """
    kernel, features = problem.kernel, problem.inputs.features
    if problem.gathered is not None:
        return (STREAMED,)
    if problem.symmetry is not None:
        return SHIFTS, IMAGES
    if features is not None and features.operator_valued:
        return (FEATURES,)
    if kernel.over_windows:
        return (WINDOWS,)
    if not kernel.separable:
        return BY_DIRECTION, DENSE, CONJUGATE_GRADIENTS
    if want.left_out_method == "refit" or problem.loss is not None or kernel.operator.learnt:
        return (REFIT,)
    if features is not None:
        return (LOW_RANK,)
    return (SPECTRAL,) if kernel.operator.uniform is None else (CHOLESKY, SPECTRAL)


def accepting_solvers(problem: Problem, want: Want) -> list[Solver]:
    """Return the solvers that can solve a problem; raise ValueError with a reason if none can."""
    solvers = solvers_for(problem, want)
    if want.solver != "auto":
        check_name(want.solver, problem)
        iterative = isinstance(want.solver, BlockConjugateGradient)
        name = "cg" if iterative else want.solver
        solvers = tuple(solver for solver in solvers if name in solver.requested_by)
    reasons = [solver.refusal(problem, want) for solver in solvers]
    accepted = [solver for solver, reason in zip(solvers, reasons, strict=True) if reason is None]
    if not accepted:
        if want.solver == "cholesky":
            raise ValueError(
                "solver='cholesky' solves at one ridge and leaves nothing out: use solver='auto'."
            )
        raise ValueError(f"{reasons[-1]}.")  # the reason of the most general solver
    return accepted


def route(problem: Problem, want: Want) -> Solver:
    """Return the cheapest solver that can solve a problem and fits into memory."""
    solvers = solvers_for(problem, want)
    if len(solvers) == 1 and solvers[0].refuses is None and want.solver == "auto":
        return solvers[0]
    solvers = tuple(accepting_solvers(problem, want))
    if len(solvers) == 1:
        return solvers[0]
    sizes = sizes_of(problem, want)
    costs = [solver.cost(sizes) for solver in solvers]
    order = [(not cost.feasible, cost.multiplications, i) for i, cost in enumerate(costs)]
    return solvers[min(order)[2]]


def factor(problem: Problem, want: Want, cache: Cache | None = None) -> Factorization:
    """Factor a problem by the solver that `route` chooses."""
    return route(problem, want).build(problem, want, Cache() if cache is None else cache)


def check_name(solver: Any, problem: Problem | None = None) -> None:
    """Raise an error if `solver` does not exist or does not support the kernel of `problem`."""
    iterative = isinstance(solver, BlockConjugateGradient)
    names = dict.fromkeys(SEPARABLE_NAMES + COUPLED_NAMES)
    if not iterative and solver not in names:
        raise ValueError(
            f"solver must be one of {tuple(names)} or a BlockConjugateGradient, got {solver!r}."
        )
    if problem is None:
        return
    if problem.operator_features:
        raise ValueError(
            f"features={problem.inputs.features} are solved directly, not by {solver!r}."
        )
    separable = problem.kernel.separable
    fits = SEPARABLE_NAMES if separable else COUPLED_NAMES
    if (iterative and separable) or not (iterative or solver in fits):
        kind = "separates" if separable else "does not separate"
        raise ValueError(
            f"solver={solver!r} is not for {problem.kernel}, which {kind}: use one of {fits}."
        )
    identity = separable and problem.kernel.operator.uniform is not None and problem.loss is None
    if solver == "cholesky" and not identity:
        raise ValueError(
            "solver='cholesky' is for the identity operator (times any number) and the square "
            "loss; use solver='auto'."
        )


def sizes_of(problem: Problem, want: Want) -> Sizes:
    """Return the sizes of a problem (examples, rank, outputs, ...) that solver costs depend on."""
    width = problem.outputs.width
    operator = problem.kernel.operator if problem.separable else None
    uniform = operator is not None and operator.uniform is not None
    rank = None
    if problem.inputs.features is not None:
        rank = problem.inputs.features.rank
    return Sizes(
        n=problem.n,
        p=problem.inputs.entries,
        q=width,
        identity=uniform,
        conditional=int(not uniform and not isinstance(operator, Covariance)),
        choice=not want.single,
        rank=rank if isinstance(rank, int) and rank > 0 else None,
    )


def plan(sizes: Sizes) -> Plan:
    """Return the costs of all solvers of scalar kernels times operators, for given sizes."""
    single = [CHOLESKY] if sizes.identity and not sizes.choice else []
    return _plan(sizes, [*single, SPECTRAL, LOW_RANK, STREAMED])


def plan_of(problem: Problem, want: Want) -> Plan:
    """Return the costs of all solvers that can solve a problem, and of low rank and streams."""
    solvers = accepting_solvers(problem, want)
    if problem.separable and problem.symmetry is None and problem.loss is None:
        solvers += [LOW_RANK, STREAMED]
    return _plan(sizes_of(problem, want), solvers)


def _plan(sizes: Sizes, solvers: list[Solver]) -> Plan:
    """Return a `Plan` with the costs of the given solvers, each solver once."""
    routes = {cost.name: cost for cost in (solver.cost(sizes) for solver in solvers)}
    return Plan(sizes.n, tuple(routes.values()), sizes.largest_rank())
