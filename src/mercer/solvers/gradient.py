r"""Derivatives of the evidence and of left-out errors in what a ridge problem is made of.

Notes
-----
Write 𝒦_j = b_j K + αI for direction j of the operator B, on what is orthogonal to the constants.
With z = 𝒦⁻¹T and G_g = [𝒦⁻¹]_gg over a group g (an example, where there are no groups), left-out
residuals are e_g = G_g⁻¹ z_g. Their squares have, with a_g = 2 G_g⁻¹ e_g / Σw and y = 𝒦⁻¹a, the
derivative

    -⟨y, d𝒦 z⟩ + Σ_g ⟨a_g, [𝒦⁻¹ d𝒦 𝒦⁻¹]_gg e_g⟩,    d𝒦 = dK ⊗ B + K ⊗ dB + dα.

Between two eigenvalues s_p, s_r (and between two b_j, b_k) products of resolvents are divided
differences, so that all directions together take as many matrix products as one: the cost is that
of a factorisation, whatever the number of parameters. Nothing is divided by the distance of two
eigenvalues where they are close.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.arrays import Array, like, namespace, take
from .factorization import Factorization
from .left_out import LeaveOneOut

CLOSE = 1e-4
"""Between eigenvalues nearer than this, relatively, the mean of two derivatives is taken."""


@dataclass(frozen=True)
class Slopes:
    """An objective at one ridge, and its derivatives.

    Attributes
    ----------
    value
        The objective: less is better.
    alpha
        Its derivative in the ridge.
    operator
        Its derivative in B, in output coordinates, (q, q).
    within, beyond
        Its derivative A in the Gram matrix, by A E = E within + beyond, where E holds the
        eigenvectors; beyond is None where E is complete.
    """

    value: float
    alpha: float
    operator: Array
    within: Array
    beyond: Array | None


class RidgeObjective:
    """A ridge problem with z = 𝒦⁻¹T in the basis E, from which both objectives follow."""

    def __init__(self, parts: Factorization, alpha: float):
        (self.part,) = parts.parts
        self.parts, self.alpha = parts, alpha
        inputs = self.part.inputs
        self.E, self.s, self.b = inputs.E, inputs.s, self.part.b
        self.xp = namespace(self.E)
        self.D = 1.0 / (self.s[:, None] * self.b[None, :] + alpha)
        self.C = self.part.projected * self.D
        self.complete = inputs.complete

    def turn(self, A: Array) -> Array:
        """Return the transpose."""
        return self.xp.matrix_transpose(A)

    def outside(self, A: Array) -> Array:
        """Return A less its projections on E and on the constants."""
        N = self.part.inputs.N
        rest = A - self.E @ (self.turn(self.E) @ A)
        return rest if N is None else rest - N @ (self.turn(N) @ rest)

    def apply_inverse(self, A: Array) -> tuple[Array, Array | None]:
        """Return 𝒦⁻¹A as coordinates in E and a remainder outside; None if E is complete."""
        inside = (self.turn(self.E) @ A) * self.D
        return inside, None if self.complete else self.outside(A) / self.alpha

    def combine(self, inside: Array, outside: Array | None) -> Array:
        """Return E inside + outside, from coordinates and a remainder."""
        found = self.E @ inside
        return found if outside is None else found + outside

    @property
    def solved(self) -> tuple[Array, Array | None]:
        """The coordinates of z in E, and its remainder outside; None if E is complete."""
        return self.C, None if self.complete else self.part.unfitted / self.alpha

    def slopes(
        self, value: float, alpha: float, B: Array, within: Array, beyond: Array | None
    ) -> Slopes:
        """Return `Slopes`, with the derivative in B symmetric and in output coordinates."""
        B = (B + self.turn(B)) / 2.0
        Q = self.parts.Q
        if Q is not None:
            B = Q @ B @ self.turn(Q)
        return Slopes(value, alpha, B, (within + self.turn(within)) / 2.0, beyond)

    def of_evidence(self) -> Slopes:
        """Return the negative log evidence.

        F = ⟨T, 𝒦⁻¹T⟩ has the derivative -⟨z, d𝒦 z⟩, and log det 𝒦 the trace of 𝒦⁻¹ d𝒦.
        """
        xp, (n, q) = self.xp, self.part.T.shape
        inside, outside = self.solved
        squares = float(xp.sum(inside * inside))
        misfit = float(xp.sum(self.part.projected * inside))
        rows = n - (self.part.inputs.N is not None)
        unseen = rows - self.s.shape[0]
        if outside is not None:
            squares += float(xp.sum(outside * outside))
            misfit += self.alpha * float(xp.sum(outside * outside))
        misfit = max(misfit, rows * q * np.finfo(float).tiny)  # zero where outputs are constant
        share = 0.5 * rows * q / misfit
        shrunk = self.D * self.b[None, :]
        bz = inside * self.b[None, :]
        within = -share * (bz @ self.turn(inside))
        within = within + _diagonal(0.5 * xp.sum(shrunk, axis=1))
        beyond = None if outside is None else -share * (outside @ self.turn(bz))
        traces = xp.sum(self.D, axis=0) + (unseen / self.alpha if unseen else 0.0)
        B = -share * (self.turn(inside * self.s[:, None]) @ inside)
        B = B + _diagonal(0.5 * xp.sum(self.D * self.s[:, None], axis=0))
        alpha = -share * squares + 0.5 * float(xp.sum(traces))
        return self.slopes(-self.parts.evidence(self.alpha), alpha, B, within, beyond)

    def of_left_out(self) -> Slopes:
        """Return the weighted mean squared left-out residual; of groups if there are any.

        By the formula of the module.
        """
        xp, left = self.xp, LeaveOneOut(self.part, self.parts.problem.groups)
        total = self.part.inputs.total
        inside, outside = self.solved
        z = self.combine(inside, outside)
        e = next(iter(left.path([self.alpha])))
        share = 2.0 / total
        sums = _group_sums(left.members, self)
        a = share * sums.inverse_times(e)
        y_inside, y_outside = self.apply_inverse(a)
        b = self.b[None, :]
        within = -(y_inside * b) @ self.turn(inside)
        B = -self.turn(y_inside * self.s[:, None]) @ inside
        alpha = -float(xp.sum(y_inside * inside))
        beyond = None
        if outside is not None and y_outside is not None:
            alpha -= float(xp.sum(y_outside * outside))
            beyond = -0.5 * ((y_outside * b) @ self.turn(inside))
            beyond = beyond - 0.5 * ((outside * b) @ self.turn(y_inside))
        more, extra = self._slope_in_gram(sums, a, e)
        if beyond is not None and extra is not None:
            beyond = beyond + self.outside(extra) / self.alpha
        B = B + self._slope_in_operator(sums, a, e, z, share)
        alpha += sums.second_inverse_sum(a, e)
        value = float(xp.sum(e * e)) / total
        return self.slopes(value, alpha, B, within + more, beyond)

    def _slope_in_gram(self, sums: Any, a: Array, e: Array) -> tuple[Array, Array | None]:
        """Return Σ_j b_j D_j Eᵀ T_j E D_j for the blocks T_j of a_j e_jᵀ, and Σ_j b_j T_j E D_j."""
        b, turn = self.b[None, :], self.turn
        if self.part.alike:
            d = self.D[:, 0]
            TE = sums.times_basis(a, e, self.xp.ones_like(self.D))
            inner = turn(self.E) @ TE
            scale = float(self.b[0])
            return scale * d[:, None] * inner * d[None, :], scale * TE * d[None, :]
        X = sums.times_basis(a, e, self.D)
        flat = turn(self.E) @ X
        curved = turn(self.E) @ sums.times_basis(a, e, self.D * self.D * b)
        found = _divided(turn(flat) - flat, (curved + turn(curved)) / 2.0, self.s, self._unit())
        return found, None if self.complete else sums.times_basis(a, e, self.D * b)

    def _unit(self) -> float:
        """Return α over the largest b, the scale below which eigenvalues s do not matter."""
        return self.alpha / max(float(self.xp.max(self.b)), 1e-300)

    def _slope_in_operator(self, sums: Any, a: Array, e: Array, z: Array, share: float) -> Array:
        """Return Σ_g a_gj [𝒦_j⁻¹ K 𝒦_k⁻¹]_gg e_gk for all pairs of directions."""
        turn = self.turn
        flat = turn(a) @ z - share * (turn(e) @ e)
        unit = self.alpha / max(float(self.xp.max(self.s)), 1e-300)
        return _divided(-flat, sums.slope_in_operator(a, e), self.b, unit)


def _divided(rise: Array, slope: Array, at: Array, unit: float) -> Array:
    """Return -rise over the differences of `at`; `slope` where these are small."""
    xp = namespace(at)
    step = at[:, None] - at[None, :]
    near = xp.abs(step) <= CLOSE * (at[:, None] + at[None, :] + unit)
    return xp.where(near, slope, -rise / xp.where(near, xp.ones_like(step), step))


def _diagonal(values: Array) -> Array:
    """Return a diagonal matrix."""
    return like(np.eye(values.shape[0]), values) * values[:, None]


def _group_sums(members: list[np.ndarray] | None, objective: RidgeObjective) -> Any:
    """Return the sums over examples, or over groups if there are any."""
    return _SingleExamples(objective) if members is None else _Groups(objective, members)


class _SingleExamples:
    """Examples left out one by one: T_j is the diagonal matrix of a_ij e_ij."""

    def __init__(self, objective: RidgeObjective):
        self.o, self.squares = objective, objective.part.squares
        self.free = objective.part.complement_diagonal

    def _through(self, F: Array, free: float) -> Array:
        """Return [E diag(f_j) Eᵀ]_ii, with `free` for the directions outside."""
        return self.squares @ F + self.free * free

    def inverse_times(self, e: Array) -> Array:
        """Return G⁻¹e."""
        G = self._through(self.o.D, 1.0 / self.o.alpha)
        return e / self.o.xp.where(G > 0, G, self.o.xp.ones_like(G))

    def times_basis(self, a: Array, e: Array, F: Array) -> Array:
        """Return Σ_j T_j E diag(f_j), (n, r)."""
        return self.o.E * ((a * e) @ self.o.turn(F))

    def second_inverse_sum(self, a: Array, e: Array) -> float:
        """Return Σ ⟨a, [𝒦⁻²]_gg e⟩."""
        G = self._through(self.o.D * self.o.D, self.o.alpha**-2)
        return float(self.o.xp.sum(a * e * G))

    def slope_in_operator(self, a: Array, e: Array) -> Array:
        """Return Σ_g a_gj dG_g e_gk for directions j, k; dG is the mean of dG/db_j and dG/db_k."""
        G, turn = self.squares @ (self.o.D * self.o.D * self.o.s[:, None]), self.o.turn
        return 0.5 * (turn(a) @ (e * G) + turn(a * G) @ e)


class _Groups:
    """Groups left out together, those of one size at once."""

    def __init__(self, objective: RidgeObjective, members: list[np.ndarray]):
        self.o, self.members = objective, members

    def _each(self, *arrays: Array) -> Any:
        """Yield the groups of each size, and the rows of arrays as (groups, size, columns)."""
        xp = self.o.xp
        for own in self.members:
            rows = (take(A, own.reshape(-1)) for A in arrays)
            yield own, *(xp.reshape(A, (*own.shape, A.shape[1])) for A in rows)

    def _in_order(self, found: list[tuple[np.ndarray, Array]]) -> Array:
        """Return rows of all groups in the order of the examples."""
        xp = self.o.xp
        rows = [xp.reshape(A, (-1, A.shape[2])) for _, A in found]
        order = np.argsort(np.concatenate([own.reshape(-1) for own, _ in found]))
        return take(xp.concat(rows), order)

    def inverse_times(self, e: Array) -> Array:
        """Return G⁻¹e = α (I - H_gg)⁻¹ e."""
        left = LeaveOneOut(self.o.part, self.o.parts.problem.groups)
        return self.o.alpha * left.solve([e], [self.o.alpha])[0]

    def times_basis(self, a: Array, e: Array, F: Array) -> Array:
        """Return Σ_j T_j E diag(f_j), where T_j is the symmetric part of a_j e_jᵀ in each group."""
        turn, found = self.o.turn, []
        for own, E, ag, eg in self._each(self.o.E, a, e):
            ours, theirs = (turn(B) @ E * turn(F)[None, :, :] for B in (eg, ag))
            found.append((own, 0.5 * (ag @ ours + eg @ theirs)))
        return self._in_order(found)

    def second_inverse_sum(self, a: Array, e: Array) -> float:
        """Return Σ ⟨a, [𝒦⁻²]_gg e⟩."""
        xp, turn, total = self.o.xp, self.o.turn, 0.0
        D2 = turn(self.o.D * self.o.D)[None, :, :]
        for own, E, ag, eg in self._each(self.o.E, a, e):
            total += float(xp.sum((turn(ag) @ E) * (turn(eg) @ E) * D2))
            extra = None if self.o.complete else self.o.part.complement_blocks(E, own)
            if extra is not None:
                total += float(xp.sum(ag * (extra @ eg))) / self.o.alpha**2
        return total

    def slope_in_operator(self, a: Array, e: Array) -> Array:
        """Return Σ_g a_gj dG_g e_gk, the mean of the derivatives of G in b_j and in b_k."""
        xp, turn, total = self.o.xp, self.o.turn, 0.0
        F = turn(self.o.D * self.o.D * self.o.s[:, None])[None, :, :]
        for _, E, ag, eg in self._each(self.o.E, a, e):
            left, right = turn(ag) @ E, turn(eg) @ E
            both = left @ turn(right * F) + (left * F) @ turn(right)
            total = total + 0.5 * xp.sum(both, axis=0)
        return total


CRITERIA = {"loo": RidgeObjective.of_left_out, "evidence": RidgeObjective.of_evidence}


def slopes(parts: Factorization, alpha: float, criterion: str) -> Slopes:
    """Return an objective of a factored problem with its derivatives.

    Parameters
    ----------
    parts
        A scalar kernel times an operator, factored.
    alpha
        The ridge.
    criterion
        "loo" or "evidence".
    """
    return CRITERIA[criterion](RidgeObjective(parts, alpha))
