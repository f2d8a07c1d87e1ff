"""Solvers: factor a ridge problem once, and derive all results from the factorisation.

`route` chooses the `Solver` of a `Problem`. The solver returns a `Factorization`: a list of `Part`
objects and a basis of output directions. A `Part` is the linear smoother of some output directions;
its `spectrum` has the eigenvalues and eigenvectors of the input Gram matrix. `Factorization`
computes solutions, left-out predictions, variances and likelihoods from the parts, so that each of
these has one definition. The modules `exact`, `low_rank`, `streamed`, `by_direction` and
`coupled` differ only in how they compute the parts, and a kernel may bring its own solver
(`OperatorKernel.factor`). Conjugate gradients and refits give solutions without parts.
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
