"""One solution with low-rank input features and an operator, from moments alone."""

from __future__ import annotations

from .._base.arrays import namespace
from .._base.linalg import adjoint, eigh, exceeds_rounding
from ..embedding import PointMap
from ..operators import Moments, Separable
from ..problem import Problem, Want
from .factorization import Factorization, Iterative, Solution, at_its_ridge
from .low_rank import few_threads, low_rank, moments_for
from .outputs import Cache
from .parts import training_weights


def solution_refusal(problem: Problem, want: Want) -> str | None:
    """Return the reason why moments do not solve a problem; None if they do."""
    if problem.kernel.operator.uniform is not None:
        return "a Cholesky factor is faster for the identity"
    return None if want.single and not want.moves else "more than one solution is needed"


def low_rank_solution(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Solve a problem at its ridge from the moments of its features and outputs.

    The spectrum of the features of all examples replaces it where the ridge is lost in the rounding
    of the moments.
    """
    output_rows, (alpha,) = cache.output_rows(problem), want.alphas
    T = output_rows.rows
    inputs, uv = moments_for(problem, T)
    width = int(inputs.moment.shape[0])
    with few_threads(width):
        s, P = eigh(inputs.moment, "input moment", drop=False)
        P = inputs.moment if P is None else P  # there are no coordinates
        moments = Moments(problem.total, s, adjoint(uv) @ P, adjoint(T) @ T)
        b, Q = problem.kernel.operator.eigh(moments)
        largest = max(float(namespace(b).max(b)) * float(s[-1]) if width else 0.0, 0.0)
        if not exceeds_rounding(alpha, width, largest):
            return low_rank(problem, want, cache)
        C = adjoint(P) @ uv
        C = (C if Q is None else C @ Q) * (b / (s[:, None] * b + alpha))
        map, explained = inputs.linear_map(P @ (C if Q is None else C @ adjoint(Q)))
    offset = None if output_rows.mean is None else output_rows.mean - explained
    weights = training_weights(problem, output_rows, alpha)
    kernel = Separable(problem.inputs.kernel, problem.kernel.operator)
    found = Solution(PointMap(map, offset, output_rows.frame, weights), kernel)
    return Iterative(problem, kernel, output_rows, at_its_ridge(alpha, found))
