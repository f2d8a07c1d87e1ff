"""Solvers: ways to factor a ridge problem, and what a factorisation gives.

A solver is a class of `Factorization`, and `route` chooses among them. `Cholesky` is
for the identity operator, `Spectral` for any operator, `LowRank` and
`SpannedLowRank` for inputs of low rank, `Streamed` for moments of a stream; kernels that do not
separate are solved direction by direction (`ByDirection`), written out (`Dense`), by products alone
(`BlockConjugateGradient`) or in `OperatorFeatures`; `Refit` is for learnt operators and robust
losses. All left-out predictions come from `LeaveOneOut`.
"""

from ..operators.moments import Moments
from .block_conjugate_gradient import BlockConjugateGradient, ConjugateGradient
from .by_direction import ByDirection
from .cholesky import Cholesky
from .coupled import Dense, Products
from .factorization import Cache, Factorization, LeftOut, Refused, Solution
from .left_out import LeaveOneOut, Part, Smoother
from .low_rank import LowRank, ridge
from .operator_features import OperatorFeatures
from .refit import Refit
from .route import SOLVERS, Solver, factor, route
from .spanned import SpannedLowRank
from .spectral import Spectral
from .streamed import Streamed

__all__ = [
    "SOLVERS", "BlockConjugateGradient", "ByDirection", "Cache", "Cholesky", "ConjugateGradient",
    "Dense", "Factorization", "LeaveOneOut", "LeftOut", "LowRank", "Moments", "OperatorFeatures",
    "Part", "Products", "Refit", "Refused", "Smoother", "Solution", "Solver", "SpannedLowRank",
    "Spectral", "Streamed", "factor", "ridge", "route",
]  # fmt: skip
