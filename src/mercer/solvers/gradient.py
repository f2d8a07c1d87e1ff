r"""Derivatives of evidence and left-out error in ridge, operator and input Gram matrix.

Notes
-----
Write 𝒦_j = b_j K + αI for direction j of the operator B, on the complement of the constants. With
targets T, z = 𝒦⁻¹T and G_g = [𝒦⁻¹]_gg over a group g (an example, if there are no groups), the
left-out residuals are e_g = G_g⁻¹ z_g. With a_g = 2 G_g⁻¹ e_g / Σw and y = 𝒦⁻¹a, the derivative of
their weighted mean square is

    -⟨y, d𝒦 z⟩ + Σ_g ⟨a_g, [𝒦⁻¹ d𝒦 𝒦⁻¹]_gg e_g⟩,    d𝒦 = dK ⊗ B + K ⊗ dB.

Sums over directions of products of inverse eigenvalues are divided differences between two
eigenvalues s_p, s_r (or b_j, b_k). All directions together therefore take as many matrix products
as one, and the cost is that of a factorisation for any number of parameters. Where two eigenvalues
are close, a derivative replaces the divided difference.

Neither objective changes if K and α are multiplied by the same number. The derivative in α
therefore follows from the one in K, by Euler's identity α ∂/∂α = -⟨K, ∂/∂K⟩.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from .._base.arrays import Array, namespace, take
from .._base.linalg import adjoint
from .._base.symmetric import full
from .factorization import Factorization
from .left_out import LeaveOneOut, divide_by_positive, members_by_size

RIDGE = "alpha"
"""The name of the ridge among the parameters; no kernel has a parameter of this name."""
NEAR_EIGENVALUES = 1e-4
"""Relative distance of eigenvalues below which a derivative replaces the divided difference."""


@dataclass(frozen=True)
class Slopes:
    """An objective for one ridge parameter, and its derivatives in α, operator and Gram matrix.

    Attributes
    ----------
    value
        The objective, which is minimised.
    alpha
        Its derivative in the ridge parameter.
    operator
        Its derivative in the operator B, in output coordinates, (q, q).
    within, beyond
        Its derivative A in the Gram matrix with eigenvectors E, as A E = E within + beyond; beyond
        is None if E is a complete basis.
    """

    value: float
    alpha: float
    operator: Array
    within: Array
    beyond: Array | None


class RidgeObjective:
    """Evidence and leave-one-out error of a factored problem, with their derivatives.

    The derivatives are computed from z = 𝒦⁻¹T in the input eigenbasis E, with targets T and
    𝒦 = K ⊗ B + αI for the Gram matrix K and the operator B.
    """

    def __init__(self, factorization: Factorization, alpha: float):
        (self.part,) = factorization.parts
        self.factorization, self.alpha = factorization, alpha
        spectrum = self.part.spectrum
        self.E, self.s, self.b = spectrum.E, spectrum.s, self.part.b
        self.xp = namespace(self.E)
        self.D = 1.0 / (self.s[:, None] * self.b[None, :] + alpha)
        self.complete = spectrum.complete
        self.left_out = LeaveOneOut(self.part, factorization.problem.groups)

        # (K ⊗ B + αI)⁻¹T for targets T: coordinates in the input eigenbasis, and the rest
        self.inside = self.part.projected * self.D
        self.outside = None if self.complete else self.part.unfitted / alpha

    def slopes(self, value: float, B: Array, within: Array, beyond: Array | None) -> Slopes:
        """Return `Slopes` with symmetric derivatives, given B in the eigenbasis of the operator.

        B is the derivative in the operator; the other arguments are those of `Slopes`.
        """
        Q, xp = self.factorization.Q, self.xp
        B = (B + B.T) / 2.0
        if Q is not None:
            B = Q @ B @ Q.T
        alpha = -float(xp.sum(self.s * xp.linalg.diagonal(within))) / self.alpha
        return Slopes(value, alpha, B, (within + within.T) / 2.0, beyond)

    def evidence_slopes(self) -> Slopes:
        """Return the negative log evidence with its derivatives.

        The misfit ⟨T, 𝒦⁻¹T⟩ has the derivative -⟨z, d𝒦 z⟩, and log det 𝒦 the trace of 𝒦⁻¹ d𝒦.
        """
        xp, s, inside, outside = self.xp, self.s[:, None], self.inside, self.outside
        misfit = self.part.misfit(self.alpha) / self.alpha
        number = self.part.free_rows * self.part.shape[1]
        constant_outputs = misfit <= number * np.finfo(float).tiny
        share = 0.0 if constant_outputs else 0.5 * number / misfit
        bz = inside * self.b[None, :]
        within = full(0.5 * xp.sum(self.D * self.b[None, :], axis=1))
        within = within - share * (bz @ inside.T)
        beyond = None if outside is None else -share * (outside @ bz.T)
        B = full(0.5 * xp.sum(self.D * s, axis=0))
        B = B - share * ((inside * s).T @ inside)
        found = self.slopes(-self.factorization.evidence(self.alpha), B, within, beyond)
        if (
            constant_outputs
        ):  # only log det 𝒦 is left, and ⟨K, ∂/∂K⟩ + α ∂/∂α of its half is number / 2
            return replace(found, alpha=found.alpha + 0.5 * number / self.alpha)
        return found

    def left_out_slopes(self) -> Slopes:
        """Return the weighted mean squared left-out error with its derivatives.

        The formula is in the docstring of the module.
        """
        total, inside, outside = self.part.spectrum.total, self.inside, self.outside
        e = next(iter(self.left_out.path([self.alpha])))
        a = (2.0 / total) * self.solve_group_blocks(e)
        y_inside = (self.E.T @ a) * self.D  # y = 𝒦⁻¹a in the input eigenbasis
        by, bz = y_inside * self.b[None, :], inside * self.b[None, :]
        within = self._leverage_slope_in_gram(a, e) - by @ inside.T
        B = -(y_inside * self.s[:, None]).T @ inside
        z, beyond = self.E @ inside, None
        if outside is not None:
            z, TE = z + outside, self.outer_products_times_basis(a, e, self.D * self.b[None, :])
            y_outside, beyond = (self.part.project_out(A) / self.alpha for A in (a, TE))
            beyond = beyond - 0.5 * (y_outside @ bz.T + outside @ by.T)
        flat = a.T @ z - (2.0 / total) * (e.T @ e)
        unit = self.alpha / max(float(self.xp.max(self.s)), 1e-300)
        B = B + _divided_differences(flat, self.leverage_slope_in_operator(a, e), self.b, unit)
        return self.slopes(float(self.xp.sum(e * e)) / total, B, within, beyond)

    def _leverage_slope_in_gram(self, a: Array, e: Array) -> Array:
        """Return the Gram matrix derivative of the left-out error that is due to leverages.

        In the eigenbasis E it is Σ_j b_j D_j Eᵀ T_j E D_j over directions j, with D_j = diag(1 /
        (b_j s + α)) and T_j the blocks of a_j e_jᵀ over left-out groups; `a` and `e` are those of
        the module docstring.
        """
        b = self.b[None, :]
        if self.part.equal_eigenvalues:
            d = self.D[:, 0]
            ones = self.xp.ones_like(self.D)
            inner = self.E.T @ self.outer_products_times_basis(a, e, ones)
            return float(self.b[0]) * d[:, None] * inner * d[None, :]
        flat = self.E.T @ self.outer_products_times_basis(a, e, self.D)
        curved = self.E.T @ self.outer_products_times_basis(a, e, self.D * self.D * b)
        unit = self.alpha / max(float(self.xp.max(self.b)), 1e-300)
        return _divided_differences(flat - flat.T, (curved + curved.T) / 2.0, self.s, unit)

    # -- sums over left-out examples, which `GroupObjective` replaces by sums over groups ------

    def solve_group_blocks(self, e: Array) -> Array:
        """Divide e by the diagonal of the inverse (K ⊗ B + αI)⁻¹, entry by entry."""
        return self.alpha * divide_by_positive(e, self.part.residual_leverages(self.alpha))

    def outer_products_times_basis(self, a: Array, e: Array, F: Array) -> Array:
        """Multiply the eigenvectors by products of a and e, sum over directions, scale by F.

        The result is Σ_j T_j E diag(f_j) with T_j = diag(a_j ∘ e_j), over columns j of a, e, F.
        """
        return self.E * ((a * e) @ F.T)

    def leverage_slope_in_operator(self, a: Array, e: Array) -> Array:
        """Return the operator derivative of the left-out error that is due to leverages.

        In the eigenbasis of the operator, entry (j, k) is Σ_i a_ij dG_i e_ik, where G is the
        diagonal of (K ⊗ B + αI)⁻¹ and dG the mean of its derivatives in the operator eigenvalues
        b_j and b_k, without the sign.
        """
        G = self.part.squared_basis @ (self.D * self.D * self.s[:, None])
        return 0.5 * (a.T @ (e * G) + (a * G).T @ e)


class GroupObjective(RidgeObjective):
    """Evidence and left-out error, with derivatives, if groups of examples are left out together.

    Groups of equal size are processed together. G_g is the block of (K ⊗ B + αI)⁻¹ over group g.
    """

    def _rows_by_size(self, a: Array, e: Array) -> Iterator[tuple[np.ndarray, Array, Array, Array]]:
        """Yield for each group size the row numbers (groups, size), and rows of E, a and e."""
        for own in members_by_size(self.factorization.problem.groups):
            rows = (take(A, own.reshape(-1)) for A in (self.E, a, e))
            E, ag, eg = (self.xp.reshape(A, (*own.shape, A.shape[1])) for A in rows)
            yield own, E, ag, eg

    def solve_group_blocks(self, e: Array) -> Array:
        """Solve G_g x = e_g for every group g, with the diagonal block G_g of (K ⊗ B + αI)⁻¹."""
        return self.alpha * self.left_out.solve([e], [self.alpha])[0]

    def outer_products_times_basis(self, a: Array, e: Array, F: Array) -> Array:
        """Multiply the eigenvectors by outer products of a and e in groups; sum over directions.

        The result is Σ_j T_j E diag(f_j), with T_j the symmetric part of a_j e_jᵀ in each group.
        """
        xp, found, order = self.xp, [], []
        for own, E, ag, eg in self._rows_by_size(a, e):
            left, right = (adjoint(B) @ E * F.T[None, :, :] for B in (eg, ag))
            found.append(xp.reshape(0.5 * (ag @ left + eg @ right), (own.size, -1)))
            order.append(own.reshape(-1))
        return take(xp.concat(found), np.argsort(np.concatenate(order)))

    def leverage_slope_in_operator(self, a: Array, e: Array) -> Array:
        """Return the operator derivative of the left-out error that is due to leverages.

        In the eigenbasis of the operator, entry (j, k) is Σ_g ⟨a_gj, dG_g e_gk⟩ over groups g, with
        dG_g the mean of the derivatives of G_g in the operator eigenvalues b_j and b_k, without the
        sign.
        """
        total, F = 0.0, (self.D * self.D * self.s[:, None]).T[None, :, :]
        for _, E, ag, eg in self._rows_by_size(a, e):
            left, right = adjoint(ag) @ E, adjoint(eg) @ E
            both = left @ adjoint(right * F) + (left * F) @ adjoint(right)
            total = total + 0.5 * self.xp.sum(both, axis=0)
        return total


def _divided_differences(rise: Array, slope: Array, at: Array, floor: float) -> Array:
    """Return rise_ij / (at_i - at_j), or slope_ij if at_i - at_j is small.

    It is small relative to at_i + at_j + floor; the quotient would then lose its digits.
    """
    xp = namespace(at)
    step = at[:, None] - at[None, :]
    near = xp.abs(step) <= NEAR_EIGENVALUES * (at[:, None] + at[None, :] + floor)
    return xp.where(near, slope, rise / xp.where(near, xp.ones_like(step), step))


def slopes(factorization: Factorization, alpha: float, criterion: str) -> Slopes:
    """Return the evidence or left-out error of a factored problem with its derivatives.

    Parameters
    ----------
    factorization
        The factorisation of a problem whose kernel is a scalar kernel times an operator.
    alpha
        The ridge parameter.
    criterion
        "loo" for the left-out error, or "evidence" for the negative log evidence.
    """
    kind = RidgeObjective if factorization.problem.groups is None else GroupObjective
    objective = kind(factorization, alpha)
    return objective.evidence_slopes() if criterion == "evidence" else objective.left_out_slopes()
