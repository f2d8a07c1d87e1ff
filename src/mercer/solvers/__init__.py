"""Solvers: the ridge equation, and linear algebra only.

`Spectral` factors the equation once, for every α and for closed-form leave-one-out; `Cholesky`
is the short way for the identity operator at one α; `ConjugateGradient` solves with sparse input
features that are too many for either.
"""

from ..operators.moments import Moments
from .cholesky import Cholesky
from .componentwise import ComponentLeaveOneOut, Componentwise
from .conjugate_gradient import ConjugateGradient
from .leave_one_out import LeaveOneOut, LeftOut
from .sample_leave_one_out import SampleLeaveOneOut
from .spectral import Spectra, Spectral
from .tridiagonal import Tridiagonal

__all__ = [
    "Cholesky",
    "ComponentLeaveOneOut",
    "Componentwise",
    "ConjugateGradient",
    "LeaveOneOut",
    "LeftOut",
    "Moments",
    "SampleLeaveOneOut",
    "Spectra",
    "Spectral",
    "Tridiagonal",
]
