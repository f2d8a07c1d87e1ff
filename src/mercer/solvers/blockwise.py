"""The ridge equation of a coupled kernel, written out: Σ_j K(x_i, x_j) c_j + α c_i = v_i."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .._arrays import Array, like, namespace, put, take
from .._linalg import eigh
from ..operators import BlockGram, Slots
from .cholesky import Cholesky
from .leave_one_out import LeftOut
from .partwise import PartwiseCholesky


class BlockCholesky:
    """At one α, by one Cholesky factorisation of the matrix over slots."""

    def solve(
        self, G: Array, alpha: float, V: Array, slots: Slots, intercept: bool = False
    ) -> Array:
        """The coefficients c, (n, q); `G` is destroyed."""
        if not intercept:
            return slots.join(Cholesky().factor(G, alpha).solve(slots.split(V)))
        D = Cholesky().factor(centred(G, slots), alpha).solve(slots.centred(slots.split(V)))
        return slots.join(slots.centred(D))  # zero but for rounding, which α magnifies


def centred(G: Array, slots: Slots) -> Array:
    """PGP, where P takes the mean of every place off the slots: an intercept is left out."""
    G = slots.centred(G)
    return slots.centred(namespace(G).matrix_transpose(G))


def solve_written_out(gram: BlockGram, alpha: float, V: Array, intercept: bool = False) -> Array:
    """The coefficients c: by Cholesky, or by the spectrum where α is near the rounding of G.

    A kernel that is not positive is refused with its smallest eigenvalue.
    """
    try:
        if intercept:
            return BlockCholesky().solve(gram.matrix(), alpha, V, gram.rows, intercept)
        return PartwiseCholesky().solve(gram, alpha, V)
    except np.linalg.LinAlgError:
        labels = np.arange(gram.rows.n)
        spectrum = BlockLeaveOneOut(gram.matrix(), V, gram.rows, labels, intercept)
        return spectrum.coefficients(alpha)


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
    intercept
        Whether every component has a constant of its own.

    Notes
    -----
    With G = E diag(g) Eᵀ the residuals are R = E diag(α/(g + α)) Eᵀ V, one row a slot, and those
    of a group left out (I - H)_gg⁻¹ R_g with (I - H)_gg = E_g diag(α/(g + α)) E_gᵀ. With an
    intercept G is PGP and V is PV, and H gains the means, 1/n between slots of one place.
    """

    def __init__(
        self, G: Array, V: Array, slots: Slots, labels: np.ndarray, intercept: bool = False
    ):
        G = centred(G, slots) if intercept else G
        self.g, self.E = eigh(G, "operator-valued Gram matrix", drop=False)
        self.V, self.slots, self.intercept = V, slots, intercept
        groups = labels[slots.owners]
        order = np.argsort(groups, kind="stable")
        self.members = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
        D = slots.split(V)
        D = slots.centred(D) if intercept else D
        self.inside = namespace(self.E).matrix_transpose(self.E) @ D

    def coefficients(self, alpha: float) -> Array:
        """The coefficients c of the fit, (n, q)."""
        D = self.E @ (self.inside / (self.g + alpha)[:, None])
        return self.slots.join(self.slots.centred(D) if self.intercept else D)

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
            if self.intercept:
                rest = rest - like(self._means(own), rest)
            out = put(out, own, xp.linalg.solve(rest, take(R, own)))
        return self.slots.join(out)

    def _means(self, own: np.ndarray) -> np.ndarray:
        """What the intercept adds to H_gg; nothing for a place that no other example has."""
        places = self.slots.places
        counts = np.bincount(places, minlength=self.slots.width)
        inside = np.bincount(places[own], minlength=self.slots.width)
        share = np.where(counts > inside, 1.0 / np.maximum(counts, 1), 0.0)
        same = places[own][:, None] == places[own][None, :]
        return same * share[places[own]][:, None]

    def averaged_residuals(self, alpha: float) -> Array:
        """The residuals of generalised cross-validation: leverages averaged over the slots."""
        d = alpha / (self.g + alpha)
        R = self.E @ (self.inside * d[:, None])
        constants = len(np.unique(self.slots.places)) if self.intercept else 0
        rest = (float(namespace(d).sum(d)) - constants) / self.slots.size
        return self.slots.join(R / rest)

    def points(self, residuals: Array) -> Array:
        """Left-out predictions in the components of the outputs."""
        return self.V - residuals
