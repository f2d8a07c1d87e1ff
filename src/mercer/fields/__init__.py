"""Maps from fields to fields: kernels for functions on a grid."""

from .shift_equivariant import ShiftEquivariant

__all__ = ["ShiftEquivariant"]
