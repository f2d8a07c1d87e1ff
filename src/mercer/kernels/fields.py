"""Inner products of fields, computed from their values on a grid or at scattered points."""

from __future__ import annotations

import numpy as np

from .._base.arrays import Array, Items
from ..spaces import Fields
from .linear_map import InnerProduct


class FieldL2(InnerProduct):
    r"""Inner product of fields, :math:`k(f, g) = \int f g`, by quadrature on a grid.

    For values at scattered points it is the mean over the points.

    Parameters
    ----------
    fields : Fields or None, default=None
        The grid of the fields; None for a grid of spacing one.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import FieldL2
    >>> from mercer.spaces import Fields
    >>> x = np.arange(8) / 8
    >>> sine = np.sin(2 * np.pi * x)[None, :]
    >>> FieldL2(Fields(periodic=("x",), spacing=1 / 8))(sine).round(6)
    array([[0.5]])
    """

    def __init__(self, fields: Fields | None = None):
        self.fields = fields

    space = property(lambda self: self.fields or Fields())

    def check(self, A: Items, name: str = "X") -> Array:
        """Check that items are fields; return an array whose first axis is the items."""
        return self.space.check(A, name)

    def _root(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return the square root of the quadrature weight of each entry of a field."""
        grid = self.space.grid(shape)
        return np.repeat(np.sqrt(grid.quadrature), grid.channels)
