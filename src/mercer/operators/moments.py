from __future__ import annotations

from dataclasses import dataclass

from .._arrays import Array, namespace


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
    """

    n: int
    uu: Array
    vu: Array
    vv: Array

    @classmethod
    def of(cls, U: Array, V: Array) -> Moments:
        """The moments of input coordinates U and output coordinates V, one row a pair."""
        Ut, Vt = (namespace(A).matrix_transpose(A) for A in (U, V))
        return cls(int(U.shape[0]), Ut @ U, Vt @ U, Vt @ V)

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.n + other.n, self.uu + other.uu, self.vu + other.vu, self.vv + other.vv)
