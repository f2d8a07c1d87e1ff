"""Inner products of fields, from their values on a grid or at scattered points."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from .._arrays import Array, Items, like, namespace
from .._linalg import solve_triangular
from .._parameters import positive
from ..spaces import Fields
from .base import Kernel
from .capabilities import Features
from .gradients import ParameterGradient


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

    def _roots(self, shape: tuple[int, ...]) -> np.ndarray:
        """R with k(f, g) = ⟨R f, R g⟩: the diagonal, or upper triangular, of one channel."""
        return np.sqrt(self.space.grid(shape).quadrature)

    def _rooted(self, A: Array, inverse: bool = False) -> Array:
        shape = tuple(int(s) for s in A.shape[1:])
        grid, xp = self.space.grid(shape), namespace(A)
        R, F = like(self._roots(shape), A), grid.split(A)
        if R.ndim == 1:
            R = R[:, None]
            F = F / xp.where(R > 0, R, xp.ones_like(R)) if inverse else F * R
        else:
            flat = xp.reshape(xp.permute_dims(F, (1, 0, 2)), (grid.size, -1))
            flat = solve_triangular(R, flat, lower=False) if inverse else R @ flat
            F = xp.permute_dims(xp.reshape(flat, (grid.size, A.shape[0], -1)), (1, 0, 2))
        return xp.reshape(F, A.shape)

    depends_on_data = False

    def fit(self, A: Items) -> FieldL2:
        """Remember the shape of the arrays, which `features` undoes into."""
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


class FieldSobolev(FieldL2):
    """k(f, g) = ∫ f g + length² ∫ ⟨∇f, ∇g⟩: fields are alike that have like slopes too.

    Parameters
    ----------
    fields
        As in `FieldL2`; grids only.
    length
        How much slopes count, in the units of the grid.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import FieldSobolev
    >>> flat, steep = np.ones((1, 5)), np.arange(5.0)[None, :]
    >>> FieldSobolev(length=2.0)(steep)[0, 0] - FieldSobolev(length=1.0)(steep)[0, 0]
    np.float64(12.0)
    """

    def __init__(self, fields: Fields | None = None, length: Any = 1.0):
        self.fields = fields
        self.length = length

    def _roots(self, shape: tuple[int, ...]) -> np.ndarray:
        grid = self.space.grid(shape)
        if grid.mask is not None:
            raise ValueError("FieldSobolev takes slopes, which masked fields lack: use FieldL2.")
        w, length = grid.quadrature, positive(self.length, "length")
        M = np.diag(w)
        for D in grid.slopes():
            M += length**2 * (D.T * w) @ D
        return scipy.linalg.cholesky(M)

    @property
    def parameter_gradient(self) -> ParameterGradient:
        """Of the length, in whose square the kernel is linear."""
        length, plain = positive(self.length, "length"), FieldL2(self.fields)
        return ParameterGradient.of_grams(
            {"length": length},
            lambda A, B: {"length": (2.0 / length) * (self._gram(A, B) - plain._gram(A, B))},
            lambda A: {"length": (2.0 / length) * (self._diag(A) - plain._diag(A))},
        )
