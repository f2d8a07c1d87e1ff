"""Outputs without coordinates: points are weights on the outputs, lengths come from moments.

With H = E diag(f) Eᵀ + NNᵀ, f_p = s_p / (s_p + α), the left-out residual of example i has the
weights (e_i - H_i) / (1 - H_ii) on the outputs, and its squared length is

    (L_ii - 2 (HL)_ii + (HLH)_ii) / (1 - H_ii)²,

for which LE (n × m) and EᵀLE (m × m), made once, serve every α. A group g has
(I - H_gg)⁻¹ (E_g - H_g). Lengths need n × m numbers, the points themselves n².
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .._base.arrays import Array, blocks, count, host, like, namespace, part, put, take
from .._base.memory import ENTRIES
from .._base.plan import LEFT_OUT_SQUARES, require_exact
from ..embedding import Embedding, SpanFrame
from ..kernels import Kernel
from ..problem import Problem
from .left_out import LeaveOneOut, members_by_size
from .part import CANCELLED_FRACTION, Part


class OutputGram:
    """The weighted, centred Gram matrix of the outputs, as products and single entries.

    With an intercept, the weighted mean of the outputs is subtracted first.
    """

    def __init__(self, problem: Problem):
        self.kernel: Kernel = problem.outputs.kernel
        self.y = self.kernel.check(problem.outputs.items, "y")
        self.center, self.w = problem.intercept, problem.weights

    def _unweighted_times(self, M: Array) -> Array:
        """Return L M, the output Gram matrix L (not weighted, not centred) times M."""
        n = count(self.y)
        parts = [
            self.kernel._gram(part(self.y, rows), self.y) @ M for rows in blocks(n, ENTRIES // n)
        ]
        return self.kernel.finite_values(namespace(*parts).concat(parts, axis=0))

    def gram_times(self, M: Array) -> Array:
        """Return the weighted, centred output Gram matrix times M.

        The columns of M must be orthogonal to the constants.
        """
        xp, n = namespace(M), M.shape[0]
        roots = None if self.w is None else like(np.sqrt(self.w)[:, None], M)
        M = M if roots is None else roots * M
        if self.center:
            share = np.full(n, 1.0 / n) if self.w is None else self.w / self.w.sum()
            share = like(share[:, None], M)
            LM = self._unweighted_times(xp.concat([M, share], axis=1))
            self.means = LM[:, -1]
            self.level = float(share[:, 0] @ self.means)
            LM = LM[:, :-1] - xp.matrix_transpose(share) @ LM[:, :-1]
        else:
            LM = self._unweighted_times(M)
        return LM if roots is None else roots * LM

    def diagonal(self) -> Array:
        """Return the weighted squared norms of the (centred) outputs; call `gram_times` first."""
        own = self.kernel.diag(self.y)
        own = own - 2.0 * self.means + self.level if self.center else own
        return own if self.w is None else like(self.w, own) * own

    def block(self, own: np.ndarray) -> Array:
        """Return the weighted, centred Gram matrix of outputs `own`; call `gram_times` first."""
        some = take(self.y, own)
        L = self.kernel._gram(some, some)
        if self.center:
            means = take(self.means, own)
            L = L - means[:, None] - means[None, :] + self.level
        if self.w is None:
            return L
        roots = like(np.sqrt(self.w[own]), L)
        return roots[:, None] * L * roots[None, :]


class SpanMoments:
    """Products of the output Gram matrix L with the basis E of a part, shared by all ridges."""

    def __init__(self, fitted: Part, problem: Problem):
        self.part, self.problem, self.gram = fitted, problem, OutputGram(problem)
        self.E = fitted.spectrum.E
        self.turn = namespace(self.E).matrix_transpose

    @cached_property
    def gram_times_basis(self) -> Array:
        """L @ E, the output Gram matrix times the input eigenvectors."""
        return self.gram.gram_times(self.E)

    @cached_property
    def gram_in_basis(self) -> Array:
        """EᵀLE, the output Gram matrix L in the basis of input eigenvectors E."""
        return self.turn(self.E) @ self.gram_times_basis

    @cached_property
    def gram_times_basis_outside(self) -> Array:
        """P L E, the output Gram matrix times the eigenvectors, projected outside E.

        P = I - EEᵀ - NNᵀ, with N the constants.
        """
        return self.gram_times_basis - self.E @ self.gram_in_basis

    @cached_property
    def unfitted_sqlengths(self) -> Array:
        """The squared norm of each output's component outside the input eigenvectors, (PLP)_ii."""
        xp, both = (
            namespace(self.E),
            self.gram_times_basis + self.gram_times_basis_outside,
        )  # first: it finds the means
        own = self.gram.diagonal()
        left = own - xp.sum(self.E * both, axis=1)
        lost = np.flatnonzero(host(left < CANCELLED_FRACTION * own))
        if len(lost):  # the difference has lost its digits: take the rows of P themselves
            R = self.part.complement_columns(lost)
            left = put(left[:, None], lost, xp.sum(R * self.gram.gram_times(R), axis=0)[:, None])[
                :, 0
            ]
        return xp.where(left > 0, left, xp.zeros_like(left))

    def sqlengths(self, alpha: float, averaged: bool) -> Array:
        """Return the squared norm of the left-out residual of each example.

        Without groups it is ((I - H) L (I - H))_ii / (1 - H_ii)², with H the smoother.
        """
        groups = self.problem.groups
        shrunk = self.E * self.part.shrinkage(alpha)[:, 0]
        if groups is not None and not averaged:
            found = self._sqlengths_of_groups(alpha, shrunk, groups)
        else:
            found = self._sqlengths_of_rows(alpha, shrunk, averaged)
        w = self.problem.weights
        found = found if w is None else found / like(w, found)
        return namespace(found).where(found > 0, found, namespace(found).zeros_like(found))

    def _sqlengths_of_rows(self, alpha: float, shrunk: Array, averaged: bool) -> Array:
        """Return the squared norms of left-out residuals if each example is left out alone.

        They follow from I - H = P + E diag(d) Eᵀ, and `shrunk` is E diag(d).
        """
        xp = namespace(shrunk)
        found = xp.sum((shrunk @ self.gram_in_basis) * shrunk, axis=1)
        if not self.part.spectrum.complete:
            found = (
                found
                + 2.0 * xp.sum(shrunk * self.gram_times_basis_outside, axis=1)
                + self.unfitted_sqlengths
            )
        rest = self.part.residual_leverages(alpha)[:, 0]
        rest = xp.where(rest > 0, rest, xp.ones_like(rest))
        lost = np.flatnonzero(host(rest**2 < CANCELLED_FRACTION))
        if len(lost) and not self.part.spectrum.complete:
            exact = xp.linalg.diagonal(self._block_of_products(alpha, lost))
            found = put(found[:, None], lost, exact[:, None])[:, 0]
        rest = xp.mean(rest) if averaged else rest
        return found / (rest * rest)

    def _sqlengths_of_groups(self, alpha: float, shrunk: Array, groups: np.ndarray) -> Array:
        """Return the squared norms of left-out residuals if groups are left out together."""
        xp, turn = namespace(shrunk), self.turn
        lengths = xp.zeros_like(xp.sum(shrunk, axis=1))
        for own in (own for same in members_by_size(groups) for own in same):
            G = take(shrunk, own)
            N = G @ self.gram_in_basis @ turn(G)
            if not self.part.spectrum.complete:
                E, complement = take(self.E, own), take(self.gram_times_basis_outside, own)
                cross = G @ turn(complement)
                outside = self.gram.block(own) - E @ turn(take(self.gram_times_basis, own))
                N = N + cross + turn(cross) + outside - complement @ turn(E)
            rest = self.part.residual_blocks([alpha], own[None, :], take(self.E, own))[
                0, 0, 0, :, :
            ]
            if float(xp.min(xp.linalg.diagonal(rest))) ** 2 < CANCELLED_FRACTION:
                N = self._block_of_products(alpha, own)
            half = turn(xp.linalg.solve(rest, N))
            found = xp.linalg.diagonal(xp.linalg.solve(rest, half))
            lengths = put(lengths[:, None], own, found[:, None])[:, 0]
        return lengths

    def _block_of_products(self, alpha: float, rows: np.ndarray) -> Array:
        """Return the block over `rows` of (I - H) L (I - H), with smoother H and output Gram L.

        It is computed from the rows of I - H, which is slower than from the moments.
        """
        (R,) = self.part.residual_rows(rows, [alpha], take(self.E, rows))
        roots = self.part.spectrum.roots
        R = R if roots is None else R / self.turn(roots)
        return R @ self.gram.gram_times(self.turn(R))

    def points(self, alpha: float) -> Embedding:
        """Return the left-out predictions as weights on the training outputs, (n, n)."""
        problem, n = self.problem, self.problem.n
        require_exact(n, LEFT_OUT_SQUARES)
        R = next(iter(LeaveOneOut(self.part, problem.groups).path([alpha])))
        R = R if problem.weights is None else R / like(np.sqrt(problem.weights)[:, None], R)
        frame = SpanFrame(problem.outputs.kernel, problem.outputs.items)
        C = like(np.eye(n), R) - R
        return Embedding(C, frame, problem.left_out_labels, problem.given)
