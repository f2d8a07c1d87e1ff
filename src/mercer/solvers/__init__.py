"""Solvers: factor a ridge problem once, and derive all results from the factorisation.

`route` chooses the `Solver` of a `Problem`. The solver returns a `Factorization`. `Parts` is a list
of `Part` objects and a basis of output directions. A `Part` is the linear smoother of some output
directions; its `spectrum` has the eigenvalues and eigenvectors of the input Gram matrix. `Parts`
computes solutions, left-out predictions, variances and likelihoods from the parts, so that each of
these has one definition. `Spanned` does so for outputs without coordinates. `Iterative` has
solutions without parts, and `SparseRidge` the solution for sparse features. The modules `exact`,
`low_rank`, `streamed`, `by_direction` and `coupled` differ only in how they compute the parts. A
kernel may bring its own solver (`OperatorKernel.factor`).
"""

from .._base.errors import NotSupported
from ..operators.moments import Moments
from .block_conjugate_gradient import BlockConjugateGradient, ConjugateGradient
from .constants import Constants
from .coupled import fitted_kernel
from .exact_spectrum import ExactSpectrum, InputGram
from .factorization import Factorization, Iterative, LeftOut, Solution
from .input_spectrum import FittedMap, InputSpectrum, ProjectedInputs
from .left_out import LeaveOneOut
from .low_rank import ridge
from .outputs import Basis, Cache, OutputRows
from .part import Part
from .parts import Parts
from .route import SOLVERS, Solver, factor, route
from .spanned import Spanned
from .weights import CoupledMap, LeastWeights

__all__ = [
    "SOLVERS", "Basis", "BlockConjugateGradient", "Cache", "ConjugateGradient", "Constants",
    "CoupledMap", "ExactSpectrum", "Factorization", "FittedMap", "InputGram", "InputSpectrum",
    "Iterative", "LeastWeights", "LeaveOneOut", "LeftOut", "Moments", "NotSupported", "OutputRows",
    "Part", "Parts", "ProjectedInputs", "Solution", "Solver", "Spanned", "factor",
    "fitted_kernel", "ridge", "route",
]  # fmt: skip
