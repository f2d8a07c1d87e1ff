"""Maps from fields to fields: kernels and estimators for functions on a grid."""

from .local_law import LocalLaw
from .predict_on import predict_on
from .resample import Resample
from .shared import Shared
from .shift_equivariant import ShiftEquivariant

__all__ = ["LocalLaw", "Resample", "Shared", "ShiftEquivariant", "predict_on"]
