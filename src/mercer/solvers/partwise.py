"""The ridge equation of a coupled kernel, one Cholesky factorisation for each uncoupled part."""

from __future__ import annotations

from .._arrays import Array, put, take
from ..operators import BlockGram
from .cholesky import Cholesky


class PartwiseCholesky:
    """At one α: (G + αI)⁻¹ over the slots of each part that the kernel couples with no other."""

    def solve(self, gram: BlockGram, alpha: float, V: Array) -> Array:
        """The coefficients c, (n, q)."""
        D = gram.rows.split(V)
        C = D + 0.0
        for own, G in gram.parts():
            C = put(C, own, Cholesky().factor(G, alpha).solve(take(D, own)))
        return gram.rows.join(C)
