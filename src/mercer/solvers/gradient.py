r"""Derivatives of the evidence and of left-out errors in what a ridge problem is made of.

Notes
-----
Write 𝒦_j = b_j K + αI for direction j of the operator B, on what is orthogonal to the constants.
With z = 𝒦⁻¹T and G_g = [𝒦⁻¹]_gg over a group g (an example, where there are no groups), left-out
residuals are e_g = G_g⁻¹ z_g. Their squares have, with a_g = 2 G_g⁻¹ e_g / Σw and y = 𝒦⁻¹a, the
derivative

    -⟨y, d𝒦 z⟩ + Σ_g ⟨a_g, [𝒦⁻¹ d𝒦 𝒦⁻¹]_gg e_g⟩,    d𝒦 = dK ⊗ B + K ⊗ dB.

Between two eigenvalues s_p, s_r (and between two b_j, b_k) products of resolvents are divided
differences, so that all directions together take as many matrix products as one: the cost is that
of a factorisation, whatever the number of parameters. Nothing is divided by the distance of two
eigenvalues where they are close.

Neither objective changes if K and α are multiplied by the same number. The derivative in α
therefore follows from the one in K, by Euler's identity α ∂/∂α = -⟨K, ∂/∂K⟩.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from .._base.arrays import Array, like, namespace, take
from .factorization import Factorization
from .left_out import LeaveOneOut, members_by_size

RIDGE = "alpha"
"""The name of the ridge among the parameters; no kernel has a parameter of this name."""
NEAR_EIGENVALUES = 1e-4
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

    𝒦 = K ⊗ B + αI acts on the targets T, and z = 𝒦⁻¹T is stored in the input eigenbasis E. Each
    example is left out alone.
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

    def transpose(self, A: Array) -> Array:
        """Return the transpose of the matrix A."""
        return self.xp.matrix_transpose(A)

    def outside(self, A: Array) -> Array:
        """Return A minus its projections on the input eigenvectors and on the constants."""
        N = self.part.spectrum.N
        rest = A - self.E @ (self.transpose(self.E) @ A)
        return rest if N is None else rest - N @ (self.transpose(N) @ rest)

    def apply_inverse(self, A: Array) -> tuple[Array, Array | None]:
        """Return 𝒦⁻¹A (𝒦 = K ⊗ B + αI): coordinates in the eigenbasis E, and the rest outside E.

        The rest is None if E is complete.
        """
        inside = (self.transpose(self.E) @ A) * self.D
        return inside, None if self.complete else self.outside(A) / self.alpha

    @property
    def solved(self) -> tuple[Array, Array | None]:
        """The solution z = (K ⊗ B + αI)⁻¹T: coordinates in the eigenbasis, and the rest."""
        outside = None if self.complete else self.part.unfitted / self.alpha
        return self.part.projected * self.D, outside

    def slopes(self, value: float, B: Array, within: Array, beyond: Array | None) -> Slopes:
        """Return `Slopes` from derivatives in the eigenbases of operator and inputs."""
        Q, xp = self.factorization.Q, self.xp
        B = (B + self.transpose(B)) / 2.0
        if Q is not None:
            B = Q @ B @ self.transpose(Q)
        alpha = -float(xp.sum(self.s * xp.linalg.diagonal(within))) / self.alpha
        return Slopes(value, alpha, B, (within + self.transpose(within)) / 2.0, beyond)

    def evidence_slopes(self) -> Slopes:
        """Return the negative log evidence with its derivatives.

        F = ⟨T, 𝒦⁻¹T⟩ has the derivative -⟨z, d𝒦 z⟩, and log det 𝒦 the trace of 𝒦⁻¹ d𝒦.
        """
        xp, (n, q), s = self.xp, self.part.T.shape, self.s[:, None]
        inside, outside = self.solved
        misfit = float(xp.sum(self.part.projected * inside))
        if outside is not None:
            misfit += self.alpha * float(xp.sum(outside * outside))
        number = q * (n - (self.part.spectrum.N is not None))
        constant = misfit <= number * np.finfo(float).tiny  # the outputs
        share = 0.0 if constant else 0.5 * number / misfit
        bz = inside * self.b[None, :]
        within = _diagonal(0.5 * xp.sum(self.D * self.b[None, :], axis=1))
        within = within - share * (bz @ self.transpose(inside))
        beyond = None if outside is None else -share * (outside @ self.transpose(bz))
        B = _diagonal(0.5 * xp.sum(self.D * s, axis=0))
        B = B - share * (self.transpose(inside * s) @ inside)
        found = self.slopes(-self.factorization.evidence(self.alpha), B, within, beyond)
        if constant:  # only log det 𝒦 is left, and ⟨K, ∂/∂K⟩ + α ∂/∂α of its half is number / 2
            return replace(found, alpha=found.alpha + 0.5 * number / self.alpha)
        return found

    def left_out_slopes(self) -> Slopes:
        """Return the weighted mean squared left-out error with its derivatives.

        The formula is in the docstring of the module.
        """
        total, transpose = self.part.spectrum.total, self.transpose
        inside, outside = self.solved
        e = next(iter(self.left_out.path([self.alpha])))
        a = (2.0 / total) * self.inverse_times(e)
        y_inside, y_outside = self.apply_inverse(a)
        by, bz = y_inside * self.b[None, :], inside * self.b[None, :]
        within = self._leverage_slope_in_gram(a, e) - by @ transpose(inside)
        B = -transpose(y_inside * self.s[:, None]) @ inside
        z, beyond = self.E @ inside, None
        if outside is not None and y_outside is not None:
            z = z + outside
            beyond = self.outside(self.times_basis(a, e, self.D * self.b[None, :])) / self.alpha
            beyond = beyond - 0.5 * (y_outside @ transpose(bz) + outside @ transpose(by))
        flat = transpose(a) @ z - (2.0 / total) * (transpose(e) @ e)
        unit = self.alpha / max(float(self.xp.max(self.s)), 1e-300)
        B = B + _divided_differences(flat, self.leverage_slope_in_operator(a, e), self.b, unit)
        return self.slopes(float(self.xp.sum(e * e)) / total, B, within, beyond)

    def _leverage_slope_in_gram(self, a: Array, e: Array) -> Array:
        """Return the derivative of the leverage terms in the Gram matrix, in the eigenbasis E.

        It is Σ_j b_j D_j Eᵀ T_j E D_j for the blocks T_j of a_j e_jᵀ, with D the inverse
        eigenvalues of the ridge equation.
        """
        b, transpose = self.b[None, :], self.transpose
        if self.part.equal_eigenvalues:
            d = self.D[:, 0]
            inner = transpose(self.E) @ self.times_basis(a, e, self.xp.ones_like(self.D))
            return float(self.b[0]) * d[:, None] * inner * d[None, :]
        flat = transpose(self.E) @ self.times_basis(a, e, self.D)
        curved = transpose(self.E) @ self.times_basis(a, e, self.D * self.D * b)
        unit = self.alpha / max(float(self.xp.max(self.b)), 1e-300)
        return _divided_differences(
            flat - transpose(flat), (curved + transpose(curved)) / 2.0, self.s, unit
        )

    # -- sums over left-out examples, which `GroupObjective` replaces by sums over groups ------

    def inverse_times(self, e: Array) -> Array:
        """Return e divided by the diagonal of 𝒦_j⁻¹ = (b_j K + αI)⁻¹, entry by entry."""
        rest = self.part.residual_leverages(self.alpha)
        return self.alpha * e / self.xp.where(rest > 0, rest, self.xp.ones_like(rest))

    def times_basis(self, a: Array, e: Array, F: Array) -> Array:
        """Return Σ_j T_j E diag(f_j), (n, r), with T_j = diag(a_j ∘ e_j) and f_j columns of F."""
        return self.E * ((a * e) @ self.transpose(F))

    def leverage_slope_in_operator(self, a: Array, e: Array) -> Array:
        """Return Σ_i a_ij dG_i e_ik for directions j and k (G: diagonal of (K ⊗ B + αI)⁻¹).

        dG is the mean of its derivatives in the operator eigenvalues b_j and b_k, sign dropped.
        """
        G = self.part.squared_basis @ (self.D * self.D * self.s[:, None])
        return 0.5 * (self.transpose(a) @ (e * G) + self.transpose(a * G) @ e)


class GroupObjective(RidgeObjective):
    """The same objective where groups of examples are left out; groups of equal size together.

    T_j has the blocks a_gj e_gjᵀ, made symmetric, and G_g is the block of
    𝒦⁻¹ = (K ⊗ B + αI)⁻¹ over group g.
    """

    def _rows_by_size(self, a: Array, e: Array) -> Iterator[tuple[np.ndarray, Array, Array, Array]]:
        """Yield for each group size the members, and rows of E, a, e, (groups, size, columns)."""
        for own in members_by_size(self.factorization.problem.groups):
            rows = (take(A, own.reshape(-1)) for A in (self.E, a, e))
            E, ag, eg = (self.xp.reshape(A, (*own.shape, A.shape[1])) for A in rows)
            yield own, E, ag, eg

    def inverse_times(self, e: Array) -> Array:
        """Return G_g⁻¹e_g for every group g, with G_g the group's block of (K ⊗ B + αI)⁻¹."""
        return self.alpha * self.left_out.solve([e], [self.alpha])[0]

    def times_basis(self, a: Array, e: Array, F: Array) -> Array:
        """Return Σ_j T_j E diag(f_j), with T_j the symmetric part of a_j e_jᵀ within each group."""
        xp, transpose, found, order = self.xp, self.transpose, [], []
        for own, E, ag, eg in self._rows_by_size(a, e):
            ours, theirs = (transpose(B) @ E * transpose(F)[None, :, :] for B in (eg, ag))
            found.append(xp.reshape(0.5 * (ag @ ours + eg @ theirs), (own.size, -1)))
            order.append(own.reshape(-1))
        return take(xp.concat(found), np.argsort(np.concatenate(order)))

    def leverage_slope_in_operator(self, a: Array, e: Array) -> Array:
        """Return Σ_g ⟨a_gj, dG_g e_gk⟩ for directions j, k (G_g: block of (K ⊗ B + αI)⁻¹).

        dG_g is the mean of its derivatives in the operator eigenvalues b_j and b_k, sign dropped.
        """
        transpose, total = self.transpose, 0.0
        F = transpose(self.D * self.D * self.s[:, None])[None, :, :]
        for _, E, ag, eg in self._rows_by_size(a, e):
            left, right = transpose(ag) @ E, transpose(eg) @ E
            both = left @ transpose(right * F) + (left * F) @ transpose(right)
            total = total + 0.5 * self.xp.sum(both, axis=0)
        return total


def _divided_differences(rise: Array, slope: Array, at: Array, floor: float) -> Array:
    """Return rise_ij / (at_i - at_j), or slope_ij if at_i - at_j is small.

    Small is next to at_i + at_j + floor: the quotient of nearly equal entries loses its digits.
    """
    xp = namespace(at)
    step = at[:, None] - at[None, :]
    near = xp.abs(step) <= NEAR_EIGENVALUES * (at[:, None] + at[None, :] + floor)
    return xp.where(near, slope, rise / xp.where(near, xp.ones_like(step), step))


def _diagonal(values: Array) -> Array:
    """Return the diagonal matrix with the given values."""
    return like(np.eye(values.shape[0]), values) * values[:, None]


def slopes(factorization: Factorization, alpha: float, criterion: str) -> Slopes:
    """Return the objective `criterion` of a factored problem with its derivatives.

    Parameters
    ----------
    factorization
        A scalar kernel times an operator, factored.
    alpha
        The ridge.
    criterion
        "loo" or "evidence".
    """
    kind = RidgeObjective if factorization.problem.groups is None else GroupObjective
    objective = kind(factorization, alpha)
    return objective.evidence_slopes() if criterion == "evidence" else objective.left_out_slopes()
