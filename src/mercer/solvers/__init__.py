"""Solvers: the ridge equation, and linear algebra only.

`Spectral` factors the equation once, for every α and for closed-form leave-one-out; `Cholesky`
is the short way for the identity operator at one α.
"""

from ..operators.moments import Moments
from .cholesky import Cholesky
from .leave_one_out import LeaveOneOut
from .spectral import Spectra, Spectral

__all__ = ["Cholesky", "LeaveOneOut", "Moments", "Spectra", "Spectral"]
