"""Solvers: the ridge equation, and linear algebra only.

`Spectral` factors the equation once, for every α and for closed-form leave-one-out; `Cholesky`
is the short way for the identity operator at one α; `ConjugateGradient` solves with sparse input
features that are too many for either. Operator-valued kernels that do not separate are solved
direction by direction where their terms have common eigenvectors (`Directions`), written out, or
by products alone (`BlockConjugateGradient`).
"""

from ..operators.moments import Moments
from .block_conjugate_gradient import BlockConjugateGradient
from .cholesky import Cholesky
from .componentwise import ComponentLeaveOneOut, Componentwise
from .conjugate_gradient import ConjugateGradient
from .directions import Directions
from .leave_one_out import LeaveOneOut, LeftOut
from .sample_leave_one_out import SampleLeaveOneOut
from .spectral import Spectra, Spectral
from .tridiagonal import Tridiagonal

__all__ = [
    "BlockConjugateGradient",
    "Cholesky",
    "ComponentLeaveOneOut",
    "Componentwise",
    "ConjugateGradient",
    "Directions",
    "LeaveOneOut",
    "LeftOut",
    "Moments",
    "SampleLeaveOneOut",
    "Spectra",
    "Spectral",
    "Tridiagonal",
]
