"""Inner products of fields, from their values on a grid or at scattered points."""

from __future__ import annotations

import numpy as np

from .._arrays import Array, Items, like, namespace
from ..spaces import Fields
from .base import Kernel
from .capabilities import Features


class FieldL2(Kernel):
    """k(f, g) = ∫ f g, by quadrature on a grid; an average over scattered points.

    Parameters
    ----------
    fields
        What the arrays are fields on; None for a grid of spacing one.

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

    def _rooted(self, A: Array, inverse: bool = False) -> Array:
        """Multiply the values by the square roots of the quadrature weights, or divide by them."""
        grid, xp = self.space.grid(tuple(int(s) for s in A.shape[1:])), namespace(A)
        R, F = like(np.sqrt(grid.quadrature), A)[:, None], grid.split(A)
        F = F / xp.where(R > 0, R, xp.ones_like(R)) if inverse else F * R
        return xp.reshape(F, A.shape)

    depends_on_data = False

    def fit(self, A: Items) -> FieldL2:
        """Store the array shape that `features.inverse` restores."""
        self.shape_ = tuple(int(s) for s in self.check(A, "A").shape[1:])
        return self

    @property
    def features(self) -> Features:
        """√w f, which can be undone."""

        def forth(A: Items) -> Array:
            A = self.check(A, "A")
            return namespace(A).reshape(self._rooted(A), (A.shape[0], -1))

        def back(F: Array) -> Array:
            shaped = namespace(F).reshape(F, (F.shape[0], *getattr(self, "shape_", F.shape[1:])))
            return self._rooted(shaped, inverse=True)

        return Features(forth, inverse=back)
