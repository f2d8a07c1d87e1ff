"""The ridge equation of a coupled kernel, written out: Σ_j K(x_i, x_j) c_j + α c_i = v_i."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .._arrays import Array, namespace, put, take
from .._linalg import eigh
from ..operators import Slots
from .cholesky import Cholesky
from .leave_one_out import LeftOut


class BlockCholesky:
    """At one α, by one Cholesky factorisation of the matrix over slots."""

    def solve(self, G: Array, alpha: float, V: Array, slots: Slots) -> Array:
        """The coefficients c, (n, q); `G` is destroyed."""
        return slots.join(Cholesky().factor(G, alpha).solve(slots.split(V)))


class BlockLeaveOneOut(LeftOut):
    """Solutions and left-out predictions for every α, from one spectrum.

    Parameters
    ----------
    G
        The Gram matrix over slots, destroyed.
    V
        Output components, (n, q).
    slots
        Which rows of G belong to which example.
    labels
        The group of each example; groups are left out together.

    Notes
    -----
    With G = E diag(g) Eᵀ the residuals are R = E diag(α/(g + α)) Eᵀ V, one row a slot, and those
    of a group left out (I - H)_gg⁻¹ R_g with (I - H)_gg = E_g diag(α/(g + α)) E_gᵀ.
    """

    def __init__(self, G: Array, V: Array, slots: Slots, labels: np.ndarray):
        self.g, self.E = eigh(G, "operator-valued Gram matrix", drop=False)
        self.V, self.slots = V, slots
        groups = labels[slots.owners]
        order = np.argsort(groups, kind="stable")
        self.members = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
        self.inside = namespace(self.E).matrix_transpose(self.E) @ slots.split(V)

    def coefficients(self, alpha: float) -> Array:
        """The coefficients c of the fit, (n, q)."""
        return self.slots.join(self.E @ (self.inside / (self.g + alpha)[:, None]))

    def path(self, alphas: Sequence[float]) -> Iterator[Array]:
        """Outputs minus their left-out predictions, for every α in turn."""
        return map(self._residuals, alphas)

    def _residuals(self, alpha: float) -> Array:
        d = alpha / (self.g + alpha)
        R = self.E @ (self.inside * d[:, None])
        out = R + 0.0
        xp = namespace(R)
        for own in self.members:
            E = take(self.E, own)
            rest = (E * d) @ xp.matrix_transpose(E)
            out = put(out, own, xp.linalg.solve(rest, take(R, own)))
        return self.slots.join(out)

    def averaged_residuals(self, alpha: float) -> Array:
        """The residuals of generalised cross-validation: leverages averaged over the slots."""
        d = alpha / (self.g + alpha)
        R = self.E @ (self.inside * d[:, None])
        return self.slots.join(R / namespace(d).mean(d))

    def points(self, residuals: Array) -> Array:
        """Left-out predictions in the components of the outputs."""
        return self.V - residuals
