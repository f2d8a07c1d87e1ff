"""Solvers: how a ridge problem is factored, and what a factorisation gives.

`route` chooses the `Solver` of a problem, which builds a `Factorization`: a list of parts and a
basis. Solutions, left-out predictions, variances, evidence and density are each written once, in
terms of the `Part`; what differs between problems is the function that builds the parts: `exact`,
`low_rank`, `streamed`, `by_direction`, `coupled`, `operator_features`, `places`, `images`,
`shifts`. Conjugate gradients and refits give solutions without parts.
"""

from .._base.errors import NotSupported
from ..operators.moments import Moments
from .block_conjugate_gradient import BlockConjugateGradient, ConjugateGradient
from .factorization import Factorization, LeftOut, Solution
from .left_out import LeaveOneOut
from .low_rank import ridge
from .outputs import Cache
from .part import Part
from .route import SOLVERS, Solver, factor, route

__all__ = [
    "SOLVERS", "BlockConjugateGradient", "Cache", "ConjugateGradient", "Factorization",
    "LeaveOneOut", "LeftOut", "Moments", "NotSupported", "Part", "Solution", "Solver", "factor",
    "ridge", "route",
]  # fmt: skip
