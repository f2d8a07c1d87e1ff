"""The list of solvers of ridge problems, of which the first that accepts a problem solves it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._base.errors import NotSupported
from ..problem import Problem, Want
from . import iterative as iteration
from .block_conjugate_gradient import BlockConjugateGradient
from .by_direction import by_direction, directions_refusal
from .by_ridge import by_ridge
from .coupled import conjugate_gradient_refusal, coupled, coupled_refusal
from .exact import cholesky, spectral
from .factorization import Factorization
from .iterative import iterative, iterative_refusal
from .leverages import leverages, leverages_refusal
from .low_rank import low_rank
from .low_rank_solution import low_rank_solution, solution_refusal
from .outputs import Cache
from .sparse import sparse_refusal, sparse_ridge
from .streamed import stream_refusal, streamed


@dataclass(frozen=True)
class Solver:
    """A solver of ridge problems: its name, factoring function and conditions.

    Attributes
    ----------
    name
        The name.
    build
        The function that factors a problem.
    refuses
        A function that returns the reason why the solver cannot solve a problem of its kind, or
        None if it can; None for a solver without such conditions.
    requested_by
        The values of the parameter `solver` that request this solver, other than "auto".
    """

    name: str
    build: Callable[[Problem, Want, Cache], Factorization]
    refuses: Callable[[Problem, Want], str | None] | None = None
    requested_by: tuple[str, ...] = ()


def _cholesky_refusal(problem: Problem, want: Want) -> str | None:
    """Return the reason why one Cholesky factor does not solve a problem; None if it does."""
    if want.single:
        return None
    return "solver='cholesky' solves at one ridge and leaves nothing out: use solver='auto'"


CHOLESKY = Solver("cholesky", cholesky, _cholesky_refusal, ("cholesky",))
ITERATIVE = Solver("iterative", iterative, iterative_refusal, ("cg",))
LEVERAGES = Solver("leverages", leverages, leverages_refusal)
SPECTRAL = Solver("spectral", spectral, requested_by=("spectral",))
SPARSE = Solver("sparse", sparse_ridge, sparse_refusal)
LOW_RANK_SOLUTION = Solver("moments", low_rank_solution, solution_refusal)
LOW_RANK = Solver("low rank", low_rank, requested_by=("cholesky", "spectral"))
STREAMED = Solver("streamed", streamed, stream_refusal, ("cholesky", "spectral"))
BY_RIDGE = Solver("by ridge", by_ridge, requested_by=("spectral",))
BY_DIRECTION = Solver("by direction", by_direction, directions_refusal)
DENSE = Solver("dense", coupled, coupled_refusal, ("dense",))
CONJUGATE_GRADIENTS = Solver("cg", coupled, conjugate_gradient_refusal, ("cg",))
SOLVERS = (
    ITERATIVE, LEVERAGES, CHOLESKY, SPECTRAL, SPARSE, LOW_RANK_SOLUTION, LOW_RANK, STREAMED,
    BY_RIDGE, BY_DIRECTION, DENSE, CONJUGATE_GRADIENTS,
)  # fmt: skip
SEPARABLE_NAMES, COUPLED_NAMES = ("auto", "cg", "cholesky", "spectral"), ("auto", "dense", "cg")
"""The values of the parameter `solver` for separable and for coupled kernels."""


def solvers_for(problem: Problem, want: Want) -> tuple[Solver, ...]:
    """Return the solvers for the kind of a problem in order, the most general one last."""
    kernel, features = problem.kernel, problem.inputs.features
    if problem.gathered is not None:
        return (STREAMED,)
    if not kernel.separable:
        return BY_DIRECTION, DENSE, CONJUGATE_GRADIENTS
    if kernel.operator.depends_on_ridge:
        return (BY_RIDGE,)
    if features is not None:
        return SPARSE, LOW_RANK_SOLUTION, LOW_RANK
    many = problem.n >= iteration.LEAST_EXAMPLES or want.solver == "cg"
    by_products = (ITERATIVE if want.single else LEVERAGES,) if many else ()
    return *by_products, *((CHOLESKY,) if kernel.operator.uniform else ()), SPECTRAL


def route(problem: Problem, want: Want) -> Solver:
    """Return the first solver that accepts a problem; raise ValueError if none does.

    The error states the reason of the last one, which is the most general.
    """
    solvers = solvers_for(problem, want)
    reason: str | None = f"solver={want.solver!r} is not for this fit: use solver='auto'"
    if want.solver != "auto":
        check_name(want.solver, problem)
        name = "cg" if isinstance(want.solver, BlockConjugateGradient) else want.solver
        solvers = tuple(solver for solver in solvers if name in solver.requested_by)
    for solver in solvers:
        reason = None if solver.refuses is None else solver.refuses(problem, want)
        if reason is None:
            return solver
    raise NotSupported(f"{reason}.")


def factor(problem: Problem, want: Want, cache: Cache | None = None) -> Factorization:
    """Factor a problem by the solver that its kernel brings, else by the one of `route`."""
    cache = Cache() if cache is None else cache
    own = problem.kernel.factor(problem, want, cache)
    return route(problem, want).build(problem, want, cache) if own is None else own


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
    separable = problem.kernel.separable
    fits = SEPARABLE_NAMES if separable else COUPLED_NAMES
    if (iterative and separable) or not (iterative or solver in fits):
        kind = "separates" if separable else "does not separate"
        raise ValueError(
            f"solver={solver!r} is not for {problem.kernel}, which {kind}: use one of {fits}."
        )
    identity = separable and problem.kernel.operator.uniform is not None
    if solver == "cholesky" and not identity:
        raise ValueError(
            "solver='cholesky' is for the identity operator (times any number); use solver='auto'."
        )
