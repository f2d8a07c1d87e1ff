"""Second moments of the data, which are enough for the ridge equation and the operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .._base.arrays import Array, blocks, namespace
from .._base.linalg import congruence, eigh
from .._base.symmetric import add, full, trace
from .._base.threads import map_row_blocks


@dataclass(frozen=True)
class Moments:
    r"""Second moments of input and output coordinates, summed over the training pairs.

    They are enough for the ridge equation and the operators. The moments of several blocks of rows
    are added, on a stream or on a cluster. A row with sample weight w counts w times.

    Attributes
    ----------
    n : float
        The number of pairs, or the sum of their weights.
    uu, vu, vv : array
        The moments :math:`S_{uu} = U^\top U`, (p, p), :math:`S_{vu} = V^\top U`, (q, p), and
        :math:`S_{vv} = V^\top V`, (q, q), of input coordinates U and output coordinates V. If
        `uu` or `vv` is diagonal, it may be given as its diagonal.
    u, v : array or None
        The sums of the rows of U and of V, where the means matter.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import Covariance, Moments
    >>> V = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> moments = Moments(2, np.eye(2), V, V @ V)
    >>> moments.n
    2
    """

    n: float
    uu: Array
    vu: Array
    vv: Array
    u: Array = None
    v: Array = None

    @classmethod
    def of(cls, U: Array, V: Array, weights: Array | None = None) -> Moments:
        """Return the moments of input coordinates U and output coordinates V, one row per pair."""
        xp = namespace(U, V)
        Ut, Vt = U.T, V.T
        n: float = int(U.shape[0])
        if weights is not None:
            Ut, Vt, n = Ut * weights, Vt * weights, float(xp.sum(weights))
        sums = xp.sum(Ut, axis=1), xp.sum(Vt, axis=1)
        return cls(n, Ut @ U, Vt @ U, Vt @ V, *sums)

    def __add__(self, other: Moments) -> Moments:
        known = self.u is not None and other.u is not None
        u, v = (self.u + other.u, self.v + other.v) if known else (None, None)
        uu, vu, vv = add(self.uu, other.uu), self.vu + other.vu, add(self.vv, other.vv)
        return Moments(self.n + other.n, uu, vu, vv, u, v)

    @property
    def covariance(self) -> Array:
        """The output moments divided by n: the output covariance, if outputs are centred."""
        return self.vv * (1.0 / self.n)

    @property
    def total_variance(self) -> float:
        """The trace of the output covariance."""
        return trace(self.vv) / self.n

    @property
    def ones(self) -> Array:
        """A vector of ones, the diagonal of the identity in output coordinates."""
        xp = namespace(self.vu)
        return xp.ones_like(xp.sum(self.vu, axis=1))

    @property
    def means(self) -> tuple[Array, Array]:
        """The means of the input coordinates U and of the output coordinates V."""
        return self.u / self.n, self.v / self.n

    def about(self, a: Array, b: Array) -> Moments:
        r"""Return the moments of the shifted coordinates u - a and v - b, for vectors a and b.

        They are centred if a and b are the means.
        :math:`\sum_i (u_i - a)(u_i - a)^\top = S_{uu} - u a^\top - a u^\top + n a a^\top`, with u
        the sum of the rows.
        """
        n, (u, v) = self.n, (self.u, self.v)
        uu = full(self.uu) - _outer(u, a) - _outer(a, u - n * a)
        vu = self.vu - _outer(v, a) - _outer(b, u - n * a)
        vv = full(self.vv) - _outer(v, b) - _outer(b, v - n * b)
        return Moments(n, uu, vu, vv, u - n * a, v - n * b)

    def mapped(self, M: Array) -> Moments:
        """Return the moments for the input coordinates U @ M in place of U."""
        uu = congruence(full(self.uu), M)
        u = None if self.u is None else self.u @ M
        return Moments(self.n, uu, self.vu @ M, self.vv, u, self.v)

    def unexplained(self, epsilon: float) -> Array:
        r"""Return the part of the output moments that a ridge regression does not explain.

        It is :math:`S_{vv} - S_{vu} (S_{uu} + n \varepsilon I)^{-1} S_{uv}`.
        """
        s, P = eigh(self.uu, "input moment", drop=False)
        xp = namespace(s)
        R = (self.vu if P is None else self.vu @ P) / xp.sqrt(s + self.n * epsilon)
        return full(self.vv) - R @ R.T


def moments_of_rows(
    rows: Callable[[slice], tuple[Array, Array, Array]],
    n: int,
    step: int,
    threads: bool,
    squares: bool = False,
    precision: str = "float64",
) -> Moments:
    """Return the moments of n rows, which are computed and added in blocks of `step` rows.

    S_vv is None without `squares`, and `n` of the moments is the number of rows, not their weight.

    Parameters
    ----------
    rows : callable
        A function of a slice that returns U, V and the column of the square roots of the weights.
        U and V are already multiplied by this column.
    n, step : int
        The number of rows, and how many of them are made at once.
    threads : bool
        Whether the function may be called from several threads at a time.
    squares : bool, default=False
        Whether to compute Σvvᵀ.
    precision : str, default="float64"
        The precision of products within a block.
    """

    def total(slices: Iterable[slice]) -> list[Array]:
        """Return the moments of the given slices of rows, as a list of arrays."""
        uu, rest = None, list[Array]()
        for part in slices:
            U, V, roots = rows(part)
            xp = namespace(U, V)
            sums = [xp.sum(roots * U, axis=0), xp.sum(roots * V, axis=0)]
            if not all(bool(xp.all(xp.isfinite(row))) for row in sums):
                raise ValueError(
                    "its kernel values or features are not finite: the items are too large for "
                    "the kernel. Rescale them, or choose another kernel."
                )
            if precision == "float32":
                U, V = xp.astype(U, xp.float32), xp.astype(V, xp.float32)
            Vt = xp.matrix_transpose(V)
            products = [Vt @ U, *([Vt @ V] if squares else [])]
            vu, *vv = (xp.astype(A, sums[0].dtype, copy=False) for A in products)
            more = [vu, *sums, *vv]
            square = xp.astype(xp.matrix_transpose(U) @ U, sums[0].dtype, copy=False)
            if uu is None:
                uu = square
            else:
                uu += square
            rest = [a + b for a, b in zip(rest, more, strict=True)] if rest else more
        return [uu, *rest]

    every = map_row_blocks(total, n, step) if threads else [total(blocks(n, step))]
    uu, vu, u, v, *vv = (sum(arrays[1:], arrays[0]) for arrays in zip(*every, strict=True))
    return Moments(n, uu, vu, vv[0] if squares else None, u, v)


def _outer(a: Array, b: Array) -> Array:
    """Return the outer product of two vectors."""
    return a[:, None] * b[None, :]
