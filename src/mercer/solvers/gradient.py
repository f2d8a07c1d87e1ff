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
    """An objective for one ridge parameter, and its derivatives in α, operator and Gram matrix.

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
    """The evidence and the left-out error of a factored problem, with their derivatives.

    𝒦 = K ⊗ B + αI acts on the targets T, and z = 𝒦⁻¹T is stored in the input eigenbasis E.
    """

    def __init__(self, parts: Factorization, alpha: float):
        (self.part,) = parts.parts
        self.parts, self.alpha = parts, alpha
        inputs = self.part.inputs
        self.E, self.s, self.b = inputs.E, inputs.s, self.part.b
        self.xp = namespace(self.E)
        self.D = 1.0 / (self.s[:, None] * self.b[None, :] + alpha)
        self.C = self.part.projected * self.D
        self.complete = inputs.complete

    def transpose(self, A: Array) -> Array:
        """Return the transpose of the matrix A."""
        return self.xp.matrix_transpose(A)

    def outside(self, A: Array) -> Array:
        """Return A minus its projections on the input eigenvectors and on the constants."""
        N = self.part.inputs.N
        rest = A - self.E @ (self.transpose(self.E) @ A)
        return rest if N is None else rest - N @ (self.transpose(N) @ rest)

    def apply_inverse(self, A: Array) -> tuple[Array, Array | None]:
        """Return 𝒦⁻¹A (𝒦 = K ⊗ B + αI): coordinates in the eigenbasis E, and the rest outside E.

        The rest is None if E is complete.
        """
        inside = (self.transpose(self.E) @ A) * self.D
        return inside, None if self.complete else self.outside(A) / self.alpha

    def combine(self, inside: Array, outside: Array | None) -> Array:
        """Return E @ inside + outside, with E the input eigenvectors."""
        found = self.E @ inside
        return found if outside is None else found + outside

    @property
    def solved(self) -> tuple[Array, Array | None]:
        """The solution z = (K ⊗ B + αI)⁻¹T: coordinates in the eigenbasis, and the rest."""
        return self.C, None if self.complete else self.part.unfitted / self.alpha

    def slopes(
        self, value: float, alpha: float, B: Array, within: Array, beyond: Array | None
    ) -> Slopes:
        """Return `Slopes` from derivatives in the eigenbasis, symmetrised, B in coordinates."""
        B = (B + self.transpose(B)) / 2.0
        Q = self.parts.Q
        if Q is not None:
            B = Q @ B @ self.transpose(Q)
        return Slopes(value, alpha, B, (within + self.transpose(within)) / 2.0, beyond)

    def evidence_slopes(self) -> Slopes:
        """Return the negative log evidence with its derivatives.

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
        within = -share * (bz @ self.transpose(inside))
        within = within + _diagonal(0.5 * xp.sum(shrunk, axis=1))
        beyond = None if outside is None else -share * (outside @ self.transpose(bz))
        traces = xp.sum(self.D, axis=0) + (unseen / self.alpha if unseen else 0.0)
        B = -share * (self.transpose(inside * self.s[:, None]) @ inside)
        B = B + _diagonal(0.5 * xp.sum(self.D * self.s[:, None], axis=0))
        alpha = -share * squares + 0.5 * float(xp.sum(traces))
        return self.slopes(-self.parts.evidence(self.alpha), alpha, B, within, beyond)

    def left_out_slopes(self) -> Slopes:
        """Return the weighted mean squared left-out error with its derivatives.

        The formula is in the docstring of the module.
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
        within = -(y_inside * b) @ self.transpose(inside)
        B = -self.transpose(y_inside * self.s[:, None]) @ inside
        alpha = -float(xp.sum(y_inside * inside))
        beyond = None
        if outside is not None and y_outside is not None:
            alpha -= float(xp.sum(y_outside * outside))
            beyond = -0.5 * ((y_outside * b) @ self.transpose(inside))
            beyond = beyond - 0.5 * ((outside * b) @ self.transpose(y_inside))
        more, extra = self._slope_in_gram(sums, a, e)
        if beyond is not None and extra is not None:
            beyond = beyond + self.outside(extra) / self.alpha
        B = B + self._slope_in_operator(sums, a, e, z, share)
        alpha += sums.second_inverse_sum(a, e)
        value = float(xp.sum(e * e)) / total
        return self.slopes(value, alpha, B, within + more, beyond)

    def _slope_in_gram(self, sums: Any, a: Array, e: Array) -> tuple[Array, Array | None]:
        """Return the derivative of the leverage terms in the Gram matrix, inside and outside E.

        It is Σ_j b_j D_j Eᵀ T_j E D_j for the blocks T_j of a_j e_jᵀ, and Σ_j b_j T_j E D_j, with D
        the inverse eigenvalues of the ridge equation.
        """
        b, transpose = self.b[None, :], self.transpose
        if self.part.alike:
            d = self.D[:, 0]
            TE = sums.times_basis(a, e, self.xp.ones_like(self.D))
            inner = transpose(self.E) @ TE
            scale = float(self.b[0])
            return scale * d[:, None] * inner * d[None, :], scale * TE * d[None, :]
        X = sums.times_basis(a, e, self.D)
        flat = transpose(self.E) @ X
        curved = transpose(self.E) @ sums.times_basis(a, e, self.D * self.D * b)
        found = _divided_differences(
            transpose(flat) - flat,
            (curved + transpose(curved)) / 2.0,
            self.s,
            self._eigenvalue_unit(),
        )
        return found, None if self.complete else sums.times_basis(a, e, self.D * b)

    def _eigenvalue_unit(self) -> float:
        """Return α / max(b), below which differences of input eigenvalues do not matter."""
        return self.alpha / max(float(self.xp.max(self.b)), 1e-300)

    def _slope_in_operator(self, sums: Any, a: Array, e: Array, z: Array, share: float) -> Array:
        """Return the derivative of the leverage terms in the operator, for all direction pairs.

        It is Σ_g a_gj [𝒦_j⁻¹ K 𝒦_k⁻¹]_gg e_gk over groups g, for directions j and k.
        """
        transpose = self.transpose
        flat = transpose(a) @ z - share * (transpose(e) @ e)
        unit = self.alpha / max(float(self.xp.max(self.s)), 1e-300)
        return _divided_differences(-flat, sums.slope_in_operator(a, e), self.b, unit)


def _divided_differences(rise: Array, slope: Array, at: Array, floor: float) -> Array:
    """Return -rise_ij / (at_i - at_j), or slope_ij if at_i - at_j is small.

    Small is next to at_i + at_j + floor: the quotient of nearly equal entries loses its digits.
    """
    xp = namespace(at)
    step = at[:, None] - at[None, :]
    near = xp.abs(step) <= CLOSE * (at[:, None] + at[None, :] + floor)
    return xp.where(near, slope, -rise / xp.where(near, xp.ones_like(step), step))


def _diagonal(values: Array) -> Array:
    """Return the diagonal matrix with the given values."""
    return like(np.eye(values.shape[0]), values) * values[:, None]


def _group_sums(members: list[np.ndarray] | None, objective: RidgeObjective) -> Any:
    """Return the object that computes sums over single examples, or over groups if given."""
    return _SingleExamples(objective) if members is None else _Groups(objective, members)


class _SingleExamples:
    """Sums of the left-out derivatives if each example is left out alone.

    T_j is the diagonal matrix of a_ij e_ij for direction j, and G the diagonal of
    𝒦⁻¹ = (K ⊗ B + αI)⁻¹.
    """

    def __init__(self, objective: RidgeObjective):
        self.o, self.squares = objective, objective.part.squares
        self.free = objective.part.complement_diagonal

    def _diagonals(self, F: Array, free: float) -> Array:
        """Return the diagonals of E diag(f_j) Eᵀ + free · P, one column per direction j.

        P projects on what the eigenvectors E and the constants do not span.
        """
        return self.squares @ F + self.free * free

    def inverse_times(self, e: Array) -> Array:
        """Return e divided by the diagonal of 𝒦_j⁻¹ = (b_j K + αI)⁻¹, entry by entry."""
        G = self._diagonals(self.o.D, 1.0 / self.o.alpha)
        return e / self.o.xp.where(G > 0, G, self.o.xp.ones_like(G))

    def times_basis(self, a: Array, e: Array, F: Array) -> Array:
        """Return Σ_j T_j E diag(f_j), (n, r), with T_j = diag(a_j ∘ e_j) and f_j columns of F."""
        return self.o.E * ((a * e) @ self.o.transpose(F))

    def second_inverse_sum(self, a: Array, e: Array) -> float:
        """Return Σ_ij a_ij e_ij [𝒦_j⁻²]_ii, with 𝒦_j = b_j K + αI."""
        G = self._diagonals(self.o.D * self.o.D, self.o.alpha**-2)
        return float(self.o.xp.sum(a * e * G))

    def slope_in_operator(self, a: Array, e: Array) -> Array:
        """Return Σ_i a_ij dG_i e_ik for directions j and k (G: diagonal of (K ⊗ B + αI)⁻¹).

        dG is the mean of its derivatives in the operator eigenvalues b_j and b_k, sign dropped.
        """
        G, transpose = self.squares @ (self.o.D * self.o.D * self.o.s[:, None]), self.o.transpose
        return 0.5 * (transpose(a) @ (e * G) + transpose(a * G) @ e)


class _Groups:
    """Sums of the left-out derivatives if groups are left out; groups of equal size together.

    T_j has the blocks a_gj e_gjᵀ, made symmetric, and G_g is the block of
    𝒦⁻¹ = (K ⊗ B + αI)⁻¹ over group g.
    """

    def __init__(self, objective: RidgeObjective, members: list[np.ndarray]):
        self.o, self.members = objective, members

    def _rows_by_size(self, *arrays: Array) -> Any:
        """Yield for each group size the members and the rows of arrays, (groups, size, columns)."""
        xp = self.o.xp
        for own in self.members:
            rows = (take(A, own.reshape(-1)) for A in arrays)
            yield own, *(xp.reshape(A, (*own.shape, A.shape[1])) for A in rows)

    def _in_order(self, found: list[tuple[np.ndarray, Array]]) -> Array:
        """Return rows that were computed by group size in the order of the examples."""
        xp = self.o.xp
        rows = [xp.reshape(A, (-1, A.shape[2])) for _, A in found]
        order = np.argsort(np.concatenate([own.reshape(-1) for own, _ in found]))
        return take(xp.concat(rows), order)

    def inverse_times(self, e: Array) -> Array:
        """Return G_g⁻¹e_g for every group g, with G_g the group's block of (K ⊗ B + αI)⁻¹."""
        left = LeaveOneOut(self.o.part, self.o.parts.problem.groups)
        return self.o.alpha * left.solve([e], [self.o.alpha])[0]

    def times_basis(self, a: Array, e: Array, F: Array) -> Array:
        """Return Σ_j T_j E diag(f_j), with T_j the symmetric part of a_j e_jᵀ within each group."""
        transpose, found = self.o.transpose, []
        for own, E, ag, eg in self._rows_by_size(self.o.E, a, e):
            ours, theirs = (transpose(B) @ E * transpose(F)[None, :, :] for B in (eg, ag))
            found.append((own, 0.5 * (ag @ ours + eg @ theirs)))
        return self._in_order(found)

    def second_inverse_sum(self, a: Array, e: Array) -> float:
        """Return Σ_gj ⟨a_gj, [𝒦_j⁻²]_gg e_gj⟩ over groups g, with 𝒦_j = b_j K + αI."""
        xp, transpose, total = self.o.xp, self.o.transpose, 0.0
        D2 = transpose(self.o.D * self.o.D)[None, :, :]
        for own, E, ag, eg in self._rows_by_size(self.o.E, a, e):
            total += float(xp.sum((transpose(ag) @ E) * (transpose(eg) @ E) * D2))
            extra = None if self.o.complete else self.o.part.complement_blocks(E, own)
            if extra is not None:
                total += float(xp.sum(ag * (extra @ eg))) / self.o.alpha**2
        return total

    def slope_in_operator(self, a: Array, e: Array) -> Array:
        """Return Σ_g ⟨a_gj, dG_g e_gk⟩ for directions j, k (G_g: block of (K ⊗ B + αI)⁻¹).

        dG_g is the mean of its derivatives in the operator eigenvalues b_j and b_k, sign dropped.
        """
        xp, transpose, total = self.o.xp, self.o.transpose, 0.0
        F = transpose(self.o.D * self.o.D * self.o.s[:, None])[None, :, :]
        for _, E, ag, eg in self._rows_by_size(self.o.E, a, e):
            left, right = transpose(ag) @ E, transpose(eg) @ E
            both = left @ transpose(right * F) + (left * F) @ transpose(right)
            total = total + 0.5 * xp.sum(both, axis=0)
        return total


CRITERIA = {"loo": RidgeObjective.left_out_slopes, "evidence": RidgeObjective.evidence_slopes}


def slopes(parts: Factorization, alpha: float, criterion: str) -> Slopes:
    """Return the objective `criterion` of a factored problem with its derivatives.

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
