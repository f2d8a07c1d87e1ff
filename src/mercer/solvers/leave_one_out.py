"""Leave-one-out and leave-group-out predictions of every training example, in closed form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from .._arrays import Array, blocks, host, like, namespace, put, take
from .spectral import Spectra

BLOCK = 2**24
"""Residuals that are held at once for several α."""


class LeaveOneOut:
    """What the model would predict for each training example, had it not seen it (or its group).

    Parameters
    ----------
    spectra
        The factored ridge equation.
    U, V
        Coordinates of the training inputs and outputs, centred both where `intercept`.
    intercept
        Whether U and V had their means taken off.
    groups
        A label for each example: examples of one label are left out together.

    Notes
    -----
    In the eigenbasis of B the fit is a linear smoother by output direction. Write
    Û = U P diag(s)^{-1/2} for the left singular vectors of U and d_pj = α / (s_p b_j + α) for what
    the ridge takes away. Then the residuals and one minus the leverages are

        R = (VQ - ÛÛᵀVQ) + Û [(ÛᵀVQ) ∘ d],    1 - H_ij = (1 - Σ_p Û_ip²) + Σ_p Û_ip² d_pj,

    sums of non-negative parts, so that nothing cancels as α becomes small; an intercept takes
    another 1/n off 1 - H_ij. The leave-one-out residual is R_ij / (1 - H_ij), and for a group g
    it is (I - H_gg)⁻¹ R_g, direction by direction; with B held fixed both are exact.
    """

    def __init__(
        self,
        spectra: Spectra,
        U: Array,
        V: Array,
        intercept: bool = False,
        groups: Array | None = None,
    ):
        xp = namespace(U)
        self.spectra = spectra
        self.intercept = intercept
        self.groups = None if groups is None else _members(groups)
        rotated = U if spectra.P is None else U @ spectra.P
        keep = spectra.s > 0
        root = xp.sqrt(xp.where(keep, spectra.s, xp.ones_like(spectra.s)))
        self.left = rotated * xp.where(keep, 1.0 / root, xp.zeros_like(root))
        self.V = V if spectra.Q is None else V @ spectra.Q
        self.inside = xp.matrix_transpose(self.left) @ self.V
        self.full = int(xp.sum(xp.astype(keep, xp.int64))) == U.shape[0] - intercept

    @cached_property
    def outside(self) -> Array | float:
        """The part of the outputs that no function of the inputs can reach."""
        return 0.0 if self.full else self.V - self.left @ self.inside

    @cached_property
    def squares(self) -> Array:
        """Û², for the leverages."""
        return self.left * self.left

    @cached_property
    def free(self) -> Array | float:
        """1 - Σ_p Û_ip², less 1/n for an intercept: leverage that no α can take."""
        if self.full:
            return 0.0
        xp = namespace(self.squares)
        rest = 1.0 - xp.sum(self.squares, axis=1) - self.intercept / self.V.shape[0]
        return xp.where(rest > 0, rest, xp.zeros_like(rest))[:, None]

    @cached_property
    def alike(self) -> bool:
        """Whether all directions shrink alike, as under the identity."""
        b = self.spectra.b
        return b.shape[0] > 0 and bool(namespace(b).all(b == b[:1]))

    def shrinkage(self, alpha: float) -> Array:
        """d_pj; one column where all directions shrink alike."""
        b = self.spectra.b[:1] if self.alike else self.spectra.b
        return alpha / (self.spectra.s[:, None] * b[None, :] + alpha)

    def _fit_residuals(self, d: Array) -> Array:
        """R, the residuals of the fit itself."""
        return self.left @ (self.inside * d) + self.outside

    def _rest(self, d: Array) -> Array:
        """1 - H, one column where all directions shrink alike."""
        return self.squares @ d + self.free

    def residuals(self, alpha: float) -> Array:
        """Outputs minus their left-out predictions, in the eigenbasis of B."""
        d = self.shrinkage(alpha)
        R = self._fit_residuals(d)
        return _over(R, self._rest(d)) if self.groups is None else self._group_residuals(R, d)

    def path(self, alphas: Sequence[float]) -> Iterator[Array]:
        """`residuals` of every α in turn; many in one product where directions shrink alike."""
        if self.groups is not None or not self.alike:
            yield from map(self.residuals, alphas)
            return
        xp = namespace(self.left)
        n, q = self.V.shape
        for part in blocks(len(alphas), BLOCK // (n * q)):
            D = xp.concat([self.shrinkage(alpha) for alpha in alphas[part]], axis=1)
            shrunk = xp.concat([self.inside * D[:, i : i + 1] for i in range(D.shape[1])], axis=1)
            R, rest = self.left @ shrunk, self.squares @ D + self.free
            for i in range(D.shape[1]):
                yield _over(R[:, i * q : (i + 1) * q] + self.outside, rest[:, i : i + 1])

    def _group_residuals(self, R: Array, d: Array) -> Array:
        xp = namespace(R)
        out = xp.zeros_like(R)
        for members in self.groups or []:
            left, rows = take(self.left, members), take(R, members)
            H = _identity_minus(left, d, self.full, self.intercept / R.shape[0])
            # (directions, members, 1) against (directions or 1, members, members)
            right = xp.matrix_transpose(rows)[:, :, None]
            solved = _solve(H, right, alike=d.shape[1] == 1)
            out = put(out, members, xp.matrix_transpose(solved[:, :, 0]))
        return out

    def averaged_residuals(self, alpha: float) -> Array:
        """The residuals of generalised cross-validation: leverages averaged over the examples."""
        d = self.shrinkage(alpha)
        rest = self._rest(d)
        return self._fit_residuals(d) / namespace(rest).mean(rest, axis=0, keepdims=True)

    def risk(self, residuals: Array) -> float:
        """The mean squared length of residuals; rotations do not change it."""
        return float(namespace(residuals).sum(residuals * residuals)) / residuals.shape[0]

    def points(self, residuals: Array) -> Array:
        """Left-out predictions in the coordinates V came in (centred where V was)."""
        G = self.V - residuals
        Q = self.spectra.Q
        return G if Q is None else G @ namespace(Q).matrix_transpose(Q)


def _over(R: Array, rest: Array) -> Array:
    """Residuals over one minus the leverages; what no other example determines stays as it is."""
    xp = namespace(R)
    return R / xp.where(rest > 0, rest, xp.ones_like(rest))


def _identity_minus(left: Array, d: Array, full: bool, mean: float) -> Array:
    """I - H for the members of a group, one matrix for each distinct direction."""
    xp, size = namespace(left), left.shape[0]
    shrunk = xp.stack([(left * left[i, :]) @ d for i in range(size)])  # (member, member, direction)
    H = xp.permute_dims(shrunk, (2, 0, 1))
    if full:
        return H
    eye = like(np.eye(size), left)
    return H + (eye - left @ xp.matrix_transpose(left) - mean)[None, :, :]


def _solve(H: Array, right: Array, alike: bool) -> Array:
    xp = namespace(H)
    if not alike:
        return xp.linalg.solve(H, right)
    columns = xp.permute_dims(right, (2, 1, 0))[0, :, :]  # one matrix, all directions at once
    return xp.permute_dims(xp.linalg.solve(H[0, :, :], columns)[None, :, :], (2, 1, 0))


def _members(groups: Array) -> list[np.ndarray]:
    """The positions of each group's examples."""
    _, number = np.unique(host(groups), return_inverse=True)
    order = np.argsort(number, kind="stable")
    return np.split(order, np.cumsum(np.bincount(number))[:-1])
