"""The ways to solve ridge problems, and how one of them is chosen.

"cholesky" and "spectral" call the same function. `exact` decides between them by the operator,
`Want.single` and `solver=`; their entries here have the costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .._base.plan import Plan, Route, Sizes
from ..operators import Covariance
from ..problem import Problem, Want
from .block_conjugate_gradient import BlockConjugateGradient
from .by_direction import by_direction, directions_refusal
from .coupled import coupled_refusal, dense, products, products_refusal
from .exact import exact
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
    """An entry of the table of solvers: its name, factoring function, conditions and cost.

    Attributes
    ----------
    name
        What `solver=` and `plan` call it.
    build
        The function that factors a problem.
    refuses
        A function that returns why it does not accept a problem of its kind, or None if it does;
        None for a solver that accepts all of them.
    costs
        The method of `Sizes` that returns its cost.
    """

    name: str
    build: Callable[[Problem, Want, Cache], Factorization]
    refuses: Callable[[Problem, Want], str | None] | None = None
    costs: Callable[[Sizes], Route] = Sizes.spectral

    def reason(self, problem: Problem, want: Want) -> str | None:
        """Return why this solver does not accept a problem of its kind; None if it does."""
        return None if self.refuses is None else self.refuses(problem, want)

    def cost(self, sizes: Sizes) -> Route:
        """Return the memory and multiplications that a problem of these sizes takes."""
        return replace(self.costs(sizes), name=self.name)


def _several_refusal(problem: Problem, want: Want) -> str | None:
    """Return a reason if more than one solution is needed, else None."""
    return None if want.single else "several ridges or left-out predictions are needed"


CHOLESKY = Solver("cholesky", exact, _several_refusal, Sizes.cholesky)
SPECTRAL = Solver("spectral", exact)
LOW_RANK = Solver("low rank", low_rank, costs=Sizes.low_rank)
STREAMED = Solver("streamed", streamed, stream_refusal, Sizes.streamed)
SOLVERS_BY_KIND: dict[str, tuple[Solver, ...]] = {
    "streamed": (STREAMED,),
    "refit": (Solver("refit", refit),),
    "operator features": (
        Solver("operator features", operator_features, feature_refusal, Sizes.low_rank),
    ),
    "low rank": (LOW_RANK,),
    "identity": (CHOLESKY, SPECTRAL),
    "exact": (SPECTRAL,),
    "symmetric": (
        Solver("shifts", shifts, shift_refusal, Sizes.cholesky),
        Solver("images", images, image_refusal),
    ),
    "windows": (Solver("windows", shared, shared_refusal, Sizes.low_rank),),
    "coupled": (
        Solver("by direction", by_direction, directions_refusal),
        Solver("dense", dense, coupled_refusal),
        Solver("cg", products, products_refusal),
    ),
}
"""The solvers for each kind of problem; of two with equal cost, the first is used."""
SOLVERS: tuple[Solver, ...] = tuple(
    dict.fromkeys(way for ways in SOLVERS_BY_KIND.values() for way in ways)
)
NAMES = ("auto", "cholesky", "spectral", "dense", "cg")
"""What `solver=` may be, other than a `BlockConjugateGradient`."""
SOLVERS_BY_NAME = {
    "cholesky": {"cholesky", "low rank", "streamed"},
    "spectral": {"spectral", "low rank", "streamed", "refit"},
    "dense": {"dense"},
    "cg": {"cg"},
}
"""The solvers that a name of `solver=` stands for."""
COUPLED = {"dense", "cg"}
"""The names for kernels that do not separate; the others are for those that do."""


def kind_of(problem: Problem, want: Want) -> str:
    """Return the kind of a problem, a key of `SOLVERS_BY_KIND`."""
    features, kernel = problem.inputs.features, problem.kernel
    if problem.gathered is not None:
        return "streamed"
    if problem.symmetry is not None:
        return "symmetric"
    if features is not None and features.operator_valued:
        return "operator features"
    if kernel.over_windows:
        return "windows"
    if not kernel.separable:
        return "coupled"
    if want.judge == "refit" or problem.loss is not None or kernel.operator.learnt:
        return "refit"
    if features is not None:
        return "low rank"
    return "exact" if kernel.operator.uniform is None else "identity"


def accepting_solvers(problem: Problem, want: Want) -> list[Solver]:
    """Return the solvers that accept a problem; raise ValueError with a reason if none does."""
    ways = SOLVERS_BY_KIND[kind_of(problem, want)]
    if want.solver != "auto":
        check_name(want.solver, problem)
        ways = _solvers_named(want.solver, ways)
    reasons = [solver.reason(problem, want) for solver in ways]
    accepted = [solver for solver, reason in zip(ways, reasons, strict=True) if reason is None]
    if not accepted:
        raise ValueError(f"{_general_reason(want, [reason for reason in reasons if reason])}.")
    return accepted


def route(problem: Problem, want: Want) -> Solver:
    """Return the cheapest solver that accepts a problem and fits into memory."""
    ways = SOLVERS_BY_KIND[kind_of(problem, want)]
    if len(ways) == 1 and ways[0].refuses is None and want.solver == "auto":
        return ways[0]
    ways = tuple(accepting_solvers(problem, want))
    if len(ways) == 1:
        return ways[0]
    sizes = sizes_of(problem, want)
    costs = [solver.cost(sizes) for solver in ways]
    order = [(not cost.feasible, cost.multiplications, i) for i, cost in enumerate(costs)]
    return ways[min(order)[2]]


def factor(problem: Problem, want: Want, cache: Cache | None = None) -> Factorization:
    """Factor a problem by the solver that `route` chooses."""
    return route(problem, want).build(problem, want, Cache() if cache is None else cache)


def check_name(solver: Any, problem: Problem | None = None) -> None:
    """Raise an error if `solver` does not exist or does not suit the kernel."""
    iterative = isinstance(solver, BlockConjugateGradient)
    if not iterative and solver not in NAMES:
        raise ValueError(
            f"solver must be one of {NAMES} or a BlockConjugateGradient, got {solver!r}."
        )
    if problem is None:
        return
    if problem.operator_features:
        raise ValueError(
            f"features={problem.inputs.features} are solved directly, not by {solver!r}."
        )
    separable = problem.kernel.separable
    if separable == (iterative or solver in COUPLED):
        kind = "separates" if separable else "does not separate"
        fits = NAMES[:3] if separable else ("auto", "dense", "cg")
        raise ValueError(
            f"solver={solver!r} is not for {problem.kernel}, which {kind}: use one of {fits}."
        )
    plain = separable and problem.kernel.operator.uniform is not None and problem.loss is None
    if solver == "cholesky" and not plain:
        raise ValueError(
            "solver='cholesky' is for the identity operator (times any number) and the square "
            "loss; use solver='auto'."
        )


def _solvers_named(solver: Any, ways: tuple[Solver, ...]) -> tuple[Solver, ...]:
    """Return those of the solvers `ways` that a value of `solver=` stands for."""
    names = SOLVERS_BY_NAME["cg" if isinstance(solver, BlockConjugateGradient) else solver]
    return tuple(way for way in ways if way.name in names)


def _general_reason(want: Want, reasons: list[str]) -> str:
    """Return the reason of the most general solver, the last one, as the error message."""
    if want.solver == "cholesky":
        return "solver='cholesky' solves at one ridge and leaves nothing out: use solver='auto'"
    return reasons[-1]


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
    """Return the cost of each solver of a scalar kernel times an operator, for these sizes."""
    single = [CHOLESKY] if sizes.identity and not sizes.choice else []
    return _plan(sizes, [*single, SPECTRAL, LOW_RANK, STREAMED])


def plan_of(problem: Problem, want: Want) -> Plan:
    """Return the cost of each solver that accepts a problem, and of low rank and streams."""
    ways = accepting_solvers(problem, want)
    if problem.separable and problem.symmetry is None and problem.loss is None:
        ways += [LOW_RANK, STREAMED]
    return _plan(sizes_of(problem, want), ways)


def _plan(sizes: Sizes, ways: list[Solver]) -> Plan:
    """Return the costs of the given solvers as a `Plan`, each solver once."""
    routes = {cost.name: cost for cost in (solver.cost(sizes) for solver in ways)}
    return Plan(sizes.n, tuple(routes.values()), sizes.largest_rank())
