"""Leave-one-out under the identity operator where the outputs have no coordinates of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._arrays import Array, Items, blocks, count, like, namespace, part, put, take
from .._linalg import ridged
from ..kernels import Kernel
from .leave_one_out import LeftOut

ENTRIES = 2**23
"""Kernel values of the outputs that are held at once."""


@dataclass(frozen=True)
class At:
    """What stands for the residuals at one α, of which only the lengths are ever computed."""

    alpha: float
    averaged: bool = False


class OutputGram:
    """L, the Gram matrix of the outputs, known by its products and a few of its entries.

    With `center` it is that of the outputs less their mean.
    """

    def __init__(self, kernel: Kernel, y: Items, center: bool):
        self.kernel, self.y, self.center = kernel, kernel.check(y, "y"), center

    def _times(self, M: Array) -> Array:
        n = count(self.y)
        parts = [
            self.kernel._gram(part(self.y, rows), self.y) @ M for rows in blocks(n, ENTRIES // n)
        ]
        return namespace(*parts).concat(parts, axis=0)

    def times(self, M: Array) -> Array:
        """L M, for M whose columns sum to zero where `center`."""
        xp = namespace(M)
        if not self.center:
            return self._times(M)
        ones = xp.ones_like(M[:, :1]) / M.shape[0]
        LM = self._times(xp.concat([M, ones], axis=1))
        self.means = LM[:, -1]
        return LM[:, :-1] - xp.mean(LM[:, :-1], axis=0)

    def diagonal(self) -> Array:
        """The diagonal of L, after `times`."""
        diagonal = self.kernel.diag(self.y)
        if not self.center:
            return diagonal
        return diagonal - 2.0 * self.means + namespace(self.means).mean(self.means)

    def square(self, own: np.ndarray) -> Array:
        """The block of L over some outputs, after `times`."""
        some = take(self.y, own)
        L = self.kernel._gram(some, some)
        if not self.center:
            return L
        means = take(self.means, own)
        return L - means[:, None] - means[None, :] + namespace(means).mean(self.means)


class SpannedLeaveOneOut(LeftOut):
    """Left-out predictions as weights on the outputs, whose Gram matrix is never factored.

    Notes
    -----
    With S_uu = P diag(s) Pᵀ, Û = U P diag(s)^{-1/2} and f_p = s_p / (s_p + α) the fit has the
    weights H = Û diag(f) Ûᵀ on the outputs (an intercept adds 1/n to each). The left-out residual
    of example i has the weights (e_i - H_i) / (1 - H_ii), and its squared length is

        (L_ii - 2 (HL)_ii + (HLH)_ii) / (1 - H_ii)²,

    for which LÛ (n × m) and ÛᵀLÛ (m × m), made once, serve every α. A group g has
    (I - H_gg)⁻¹ (E_g - H_g). Lengths need n × m numbers, the points themselves n².
    """

    def __init__(
        self,
        s: Array,
        P: Array | None,
        U: Array,
        gram: OutputGram,
        intercept: bool,
        groups: Sequence[np.ndarray] | None,
    ):
        xp = namespace(U)
        self.gram, self.groups = gram, groups
        self.mean = float(intercept) / U.shape[0]
        if P is None:
            kept = xp.astype(s > 0, s.dtype)
            self.s, self.left = s, U * (kept / xp.sqrt(s + (1.0 - kept)))
        else:
            self.s, self.left = s, (U @ P) / xp.sqrt(s)
        self.full = int(xp.sum(xp.astype(s > 0, xp.int64))) == U.shape[0] - intercept

    # -- once for all α -----------------------------------------------------------------------

    @cached_property
    def crossed(self) -> Array:
        """LÛ."""
        return self.gram.times(self.left)

    @cached_property
    def inner(self) -> Array:
        """ÛᵀLÛ."""
        return namespace(self.left).matrix_transpose(self.left) @ self.crossed

    # -- at one α -----------------------------------------------------------------------------

    def _rest(self, alpha: float) -> Array:
        """1 - H_ii, a sum of non-negative parts."""
        xp = namespace(self.left)
        squares = self.left * self.left
        rest = squares @ (alpha / (self.s + alpha))
        free = 0.0 if self.full else 1.0 - xp.sum(squares, axis=1) - self.mean
        rest = rest + free
        return xp.where(rest > 0, rest, xp.ones_like(rest))

    def _group_rest(self, own: np.ndarray, alpha: float) -> Array:
        """I - H_gg."""
        left = take(self.left, own)
        turned = namespace(left).matrix_transpose(left)
        shrunk = (left * (alpha / (self.s + alpha))) @ turned
        return shrunk if self.full else ridged(shrunk - left @ turned - self.mean, 1.0)

    def _fit(self, alpha: float) -> Array:
        """Û diag(f), of which Ûᵀ makes the weights of the fit."""
        return self.left * (self.s / (self.s + alpha))

    def risk(self, residuals: At) -> float:
        """The mean squared length of the left-out residuals."""
        alpha, n = residuals.alpha, self.left.shape[0]
        if self.groups is not None and not residuals.averaged:
            return sum(self._group_risk(own, alpha) for own in self.groups) / n
        xp, F, rest = namespace(self.left), self._fit(alpha), self._rest(alpha)
        crossed = xp.sum(F * self.crossed, axis=1)  # first: the diagonal needs the means it finds
        lengths = self.gram.diagonal() - 2.0 * crossed + xp.sum((F @ self.inner) * F, axis=1)
        rest = xp.mean(rest) if residuals.averaged else rest
        return float(xp.mean(lengths / (rest * rest)))

    def _group_risk(self, own: np.ndarray, alpha: float) -> float:
        F, T = take(self._fit(alpha), own), take(self.crossed, own)
        xp = namespace(F)
        HL = F @ xp.matrix_transpose(T)
        N = self.gram.square(own) - HL - xp.matrix_transpose(HL)
        N = N + F @ self.inner @ xp.matrix_transpose(F)
        rest = self._group_rest(own, alpha)
        half = xp.matrix_transpose(xp.linalg.solve(rest, N))
        return float(xp.sum(xp.linalg.diagonal(xp.linalg.solve(rest, half))))

    def points(self, residuals: At) -> Array:
        """The left-out predictions as weights on the outputs, (n, n)."""
        alpha, xp = residuals.alpha, namespace(self.left)
        R = self._fit(alpha) @ xp.matrix_transpose(self.left)
        R *= -1.0
        R -= self.mean
        R = ridged(R, 1.0)
        if self.groups is None:
            R /= self._rest(alpha)[:, None]
        else:
            for own in self.groups:
                solved = xp.linalg.solve(self._group_rest(own, alpha), take(R, own))
                R = put(R, own, solved)
        R *= -1.0
        return ridged(R, 1.0)

    def path(self, alphas: Sequence[float]) -> Iterator[At]:
        """What stands for the residuals, for every α in turn."""
        return map(At, alphas)

    def averaged_residuals(self, alpha: float) -> At:
        """The same for generalised cross-validation."""
        return At(alpha, averaged=True)


def members(labels: np.ndarray) -> list[np.ndarray] | None:
    """The positions of each group; None where every example is one."""
    if labels.max() + 1 == len(labels):
        return None
    return [np.flatnonzero(labels == group) for group in range(labels.max() + 1)]


def shrunk(s: Array, P: Array | None, alpha: float) -> Array:
    """(S + αI)⁻¹ on the directions that S has."""
    if P is None:
        return like(np.eye(s.shape[0]), s) / (s + alpha)
    return (P / (s + alpha)) @ namespace(P).matrix_transpose(P)
