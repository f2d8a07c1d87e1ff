from __future__ import annotations

from dataclasses import dataclass

from .._arrays import Array, namespace
from .._linalg import congruent


@dataclass(frozen=True)
class Moments:
    """All that the ridge equation and the operators need to know of the data.

    They add over blocks of rows: a stream is a fold, a cluster a tree-reduce. A moment that is
    known to be diagonal is the one-dimensional array of its diagonal.

    Attributes
    ----------
    n
        The number of pairs.
    uu, vu, vv
        S_uu = UᵀU (p, p), S_vu = VᵀU (q, p), S_vv = VᵀV (q, q).
    u, v
        The sums of the rows of U and of V, where the means matter.
    """

    n: int
    uu: Array
    vu: Array
    vv: Array
    u: Array = None
    v: Array = None

    @classmethod
    def of(cls, U: Array, V: Array) -> Moments:
        """The moments of input coordinates U and output coordinates V, one row a pair."""
        xp = namespace(U, V)
        Ut, Vt = (xp.matrix_transpose(A) for A in (U, V))
        sums = xp.sum(U, axis=0), xp.sum(V, axis=0)
        return cls(int(U.shape[0]), Ut @ U, Vt @ U, Vt @ V, *sums)

    def __add__(self, other: Moments) -> Moments:
        known = self.u is not None and other.u is not None
        sums = (self.u + other.u, self.v + other.v) if known else (None, None)
        return Moments(
            self.n + other.n,
            self.uu + other.uu,
            self.vu + other.vu,
            self.vv + other.vv,
            *sums,
        )

    @property
    def means(self) -> tuple[Array, Array]:
        """The mean rows of U and of V."""
        return self.u / self.n, self.v / self.n

    def about(self, a: Array, b: Array) -> Moments:
        """The moments of the rows u - a and v - b; about the means they are those of centred rows.

        Σ(u - a)(u - a)ᵀ = S_uu - u aᵀ - a uᵀ + n a aᵀ, with u the sum of the rows.
        """
        n, (u, v) = self.n, (self.u, self.v)
        uu = self.uu - _outer(u, a) - _outer(a, u - n * a)
        vu = self.vu - _outer(v, a) - _outer(b, u - n * a)
        vv = self.vv - _outer(v, b) - _outer(b, v - n * b)
        return Moments(n, uu, vu, vv, u - n * a, v - n * b)

    def mapped(self, M: Array) -> Moments:
        """The moments of the rows M'u: other input coordinates of the same data."""
        uu = congruent(self.uu, M)
        u = None if self.u is None else self.u @ M
        return Moments(self.n, uu, self.vu @ M, self.vv, u, self.v)


def _outer(a: Array, b: Array) -> Array:
    return a[:, None] * b[None, :]
