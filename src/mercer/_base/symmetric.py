"""Symmetric matrices in the form in which they are known: full, diagonal, or by their spectrum."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.linalg
from array_api_compat import device

from .arrays import Array, host, is_foreign, like, namespace

EPS = float(np.finfo(np.float64).eps)
INDEFINITE = 1e-8
"""Eigenvalues below -INDEFINITE * the largest are no rounding error."""
ASYMMETRIC = 1e-6
"""Entries that differ from those of the transpose by more than this share of the largest are no
rounding error."""


class NotPositiveSemidefinite(ValueError):
    """A Gram matrix or an operator that no feature space has."""


def eigh(
    S: Any,
    what: str = "matrix",
    drop: bool = True,
    scale: float = 0.0,
    overwrite: bool = False,
    lightest: float = 1.0,
) -> tuple[Array, Array | None]:
    """Positive eigenvalues and eigenvectors of a positive semidefinite matrix.

    A `SymMatrix` keeps the result, and none of its eigenvalues is dropped.
    Eigenvalues under n eps max are dropped with their vectors, or set to zero where not `drop`;
    the vectors of a diagonal matrix (given as a 1-D array) are None, none of its entries dropped.
    `lightest` is the smallest weight of a row over the largest, where rows are ordered by falling
    weight: small eigenvalues are then right to the size of the lightest row.
    `scale` is the size of what `S` was computed of, where that is larger than `S`; an array may be
    destroyed with `overwrite`.
    """
    if isinstance(S, SymMatrix):
        if S.diagonal is not None:
            return eigh(S.diagonal, what)
        if S.spectrum is None:
            S.spectrum = eigh(S.matrix, what, drop=False)
        return S.spectrum
    xp = namespace(S)
    if S.ndim == 1:
        return xp.where(S > 0, S, xp.zeros_like(S)), None
    if S.shape[0] == 0:
        return xp.sum(S, axis=1), None
    if is_foreign(S):
        values, vectors = xp.linalg.eigh(S)
    else:  # a symmetric matrix is its own transpose: LAPACK works in place in the Fortran view
        S = S.T if S.flags.c_contiguous else S
        values, vectors = scipy.linalg.eigh(
            S, driver="evd", overwrite_a=overwrite, check_finite=False
        )
    largest, smallest = float(values[-1]), float(values[0])
    if smallest < -INDEFINITE * max(largest, -smallest, scale):
        raise NotPositiveSemidefinite(
            f"the {what} is not positive semidefinite: its eigenvalues go from {smallest:.3g} to "
            f"{largest:.3g}. Use a positive semidefinite kernel, or add {-smallest:.3g} to its "
            "diagonal."
        )
    kept = values > values.shape[0] * EPS * max(largest, 0.0, scale) * lightest
    if not drop:
        return xp.where(kept, values, xp.zeros_like(values)), vectors
    dropped = values.shape[0] - int(xp.sum(xp.astype(kept, xp.int64)))
    return values[dropped:], vectors[:, dropped:]


@dataclass(eq=False, repr=False)
class SymMatrix:
    """A symmetric matrix S that computes like the array it stands for.

    A diagonal matrix keeps its diagonal alone, and one that was made of its eigenvectors keeps
    those, so that no eigendecomposition is taken twice. Sums and products with arrays are those of
    the full matrix: code that knows nothing of this class gets the right answer.

    Parameters
    ----------
    matrix
        The matrix, (q, q).
    diagonal
        Its diagonal, (q,), where all else is zero.
    spectrum
        Eigenvalues (q,) and eigenvectors (q, q) as columns.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer._base.symmetric import SymMatrix
    >>> (SymMatrix(diagonal=np.array([1.0, 2.0])) + np.eye(2)).full
    array([[2., 0.],
           [0., 3.]])
    """

    __array_ufunc__ = None  # numpy arrays leave `array + matrix` to this class

    matrix: Array = None
    _: KW_ONLY
    diagonal: Array = None
    spectrum: tuple[Array, Array | None] | None = None

    @classmethod
    def of(cls, S: Any) -> SymMatrix:
        """A symmetric matrix of a matrix, or of the 1-D array of a diagonal, which are checked."""
        if isinstance(S, cls):
            return S
        xp = namespace(S)
        size, gap = xp.max(xp.abs(S)), xp.max(xp.abs(S - S.T)) if S.ndim == 2 else 0.0
        if not gap <= ASYMMETRIC * size < np.inf:
            raise ValueError(
                "an operator must be a symmetric matrix of finite numbers: its largest entry is "
                f"{float(size):.3g}, and entries differ from those of its transpose by up to "
                f"{float(gap):.3g}. `mercer.testing.check_operator` checks one of your own."
            )
        return cls(diagonal=S) if S.ndim == 1 else cls(S)

    @property
    def full(self) -> Array:
        """The matrix in full, (q, q)."""
        if self.matrix is None:
            if self.diagonal is not None:
                return like(np.eye(self.diagonal.shape[0]), self.diagonal) * self.diagonal[:, None]
            assert self.spectrum is not None
            values, Q = self.spectrum
            self.matrix = (Q * values) @ namespace(Q).matrix_transpose(Q)
        return self.matrix

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(host(self.full), dtype=dtype)

    def __repr__(self) -> str:
        return f"SymMatrix({host(self.full)})"

    @property
    def shape(self) -> tuple[int, int]:
        """(q, q)."""
        q = int(self._known().shape[0])
        return q, q

    ndim = 2

    @property
    def dtype(self) -> Any:
        """That of its entries."""
        return self._known().dtype

    @property
    def device(self) -> Any:
        """That of its entries."""
        return device(self._known())

    @property
    def T(self) -> SymMatrix:
        """Itself."""
        return self

    def _known(self) -> Array:
        if self.matrix is not None:
            return self.matrix
        return self.diagonal if self.spectrum is None else self.spectrum[0]

    def __getitem__(self, index: Any) -> Array:
        return self.full[index]

    def __len__(self) -> int:
        return self.shape[0]

    # -- algebra ------------------------------------------------------------------------------

    def __add__(self, other: Any) -> SymMatrix:
        if not isinstance(other, SymMatrix):
            return SymMatrix(self.full + other)
        if self.diagonal is not None and other.diagonal is not None:
            return SymMatrix(diagonal=self.diagonal + other.diagonal)
        return SymMatrix(self.full + other.full)

    def __mul__(self, factor: Any) -> SymMatrix:
        if getattr(factor, "ndim", 0):  # entry by entry
            return SymMatrix(self.full * (factor.full if isinstance(factor, SymMatrix) else factor))
        if self.diagonal is not None:
            return SymMatrix(diagonal=self.diagonal * factor)
        if self.spectrum is not None:
            return SymMatrix(spectrum=(self.spectrum[0] * factor, self.spectrum[1]))
        return SymMatrix(self.matrix * factor)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> SymMatrix:
        return self * -1.0

    def __sub__(self, other: Any) -> SymMatrix:
        return self + (-other)

    def __rsub__(self, other: Any) -> SymMatrix:
        return (-self) + other

    def __truediv__(self, number: Any) -> SymMatrix:
        return self * (1.0 / number)

    def __matmul__(self, M: Array) -> Array:
        if isinstance(M, SymMatrix):
            M = M.full
        if self.diagonal is not None:
            return self.diagonal[:, None] * M if M.ndim == 2 else self.diagonal * M
        return self.full @ M

    def __rmatmul__(self, M: Array) -> Array:
        return self.after(M)

    def after(self, M: Array) -> Array:
        """M S, for arrays that leave `M @ matrix` to nobody else."""
        return M * self.diagonal if self.diagonal is not None else M @ self.full

    def total(self) -> float:
        """The sum of all entries."""
        return float(namespace(self.full).sum(self.full))

    def trace(self) -> float:
        """The sum of the eigenvalues."""
        if self.matrix is None:
            known = self._known()
            return float(namespace(known).sum(known))
        xp = namespace(self.matrix)
        return float(xp.sum(xp.linalg.diagonal(self.matrix)))

    def eigh(self, what: str = "matrix") -> tuple[Array, Array | None]:
        """Eigenvalues, rounding errors set to zero, and eigenvectors; None for a diagonal matrix.

        A matrix that is not positive semidefinite is refused.
        """
        return eigh(self, what)

    def non_negative(self) -> SymMatrix:
        """The matrix with negative eigenvalues, which are rounding errors, set to zero."""
        if self.diagonal is not None:
            return self
        xp = namespace(self.full)
        values, vectors = xp.linalg.eigh(self.full)
        return SymMatrix(spectrum=(xp.where(values > 0, values, xp.zeros_like(values)), vectors))
