"""Leave-one-out and leave-group-out predictions of every training example, in closed form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from .._arrays import Array, blocks, host, like, namespace, take
from .spectral import Spectra

BATCH = 2**20
"""Entries of the groups' matrices that are held at once."""
BLOCK = 2**24
"""Residuals that are held at once for several α."""


class LeftOut:
    """Predictions of every training example by a model that did not see it, for every α."""

    def path(self, alphas: Sequence[float]) -> Iterator[Array]:
        """Outputs minus their left-out predictions, for every α in turn."""
        raise NotImplementedError

    def averaged_residuals(self, alpha: float) -> Array:
        """The residuals of generalised cross-validation: leverages averaged over the examples."""
        raise NotImplementedError

    def points(self, residuals: Array) -> Array:
        """Left-out predictions in the coordinates of the outputs."""
        raise NotImplementedError

    def together(self, labels: np.ndarray) -> np.ndarray:
        """Which examples are left out together, given which must be."""
        return labels

    def residuals(self, alpha: float) -> Array:
        """Outputs minus their left-out predictions at one α."""
        return next(self.path([alpha]))

    def risk(self, residuals: Array) -> float:
        """The mean squared length of residuals; rotations do not change it."""
        return float(namespace(residuals).sum(residuals * residuals)) / residuals.shape[0]


class LeaveOneOut(LeftOut):
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

    def smooth(self, T: Array, alpha: float) -> Array:
        """The fit to other outputs T at one α, both in the eigenbasis of B; not centred."""
        xp = namespace(T)
        b = self.spectra.b[:1] if self.alike else self.spectra.b
        sb = self.spectra.s[:, None] * b[None, :]
        fitted = self.left @ ((xp.matrix_transpose(self.left) @ T) * (sb / (sb + alpha)))
        return fitted + xp.mean(T, axis=0) if self.intercept else fitted

    def _fit_residuals(self, d: Array) -> Array:
        """R, the residuals of the fit itself."""
        return self.left @ (self.inside * d) + self.outside

    def _rest(self, d: Array) -> Array:
        """1 - H, one column where all directions shrink alike."""
        return self.squares @ d + self.free

    def _residuals(self, alpha: float) -> Array:
        """Outputs minus their left-out predictions, in the eigenbasis of B."""
        d = self.shrinkage(alpha)
        R = self._fit_residuals(d)
        return _over(R, self._rest(d)) if self.groups is None else self._group_residuals(R, d)

    def path(self, alphas: Sequence[float]) -> Iterator[Array]:
        """The same of every α in turn; many in one product where directions shrink alike."""
        if self.groups is not None or not self.alike:
            yield from map(self._residuals, alphas)
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
        batches = list(_batches(self.groups or [], d.shape[1]))
        solved = namespace(R).concat([self._solve_groups(R, d, members) for members in batches])
        return take(solved, np.argsort(np.concatenate([m.reshape(-1) for m in batches])))

    def _solve_groups(self, R: Array, d: Array, members: np.ndarray) -> Array:
        """(I - H_gg)⁻¹ R_g for groups of one size, all groups and directions at once."""
        xp, (groups, size) = namespace(R), members.shape
        index = members.reshape(-1)
        left = xp.reshape(take(self.left, index), (groups, size, -1))
        H = _identity_minus(left, d, self.full, self.intercept / R.shape[0])
        rows = xp.reshape(take(R, index), (groups, size, -1))
        # One matrix a group where directions shrink alike, else one a group and direction.
        if d.shape[1] == 1:
            solved = xp.linalg.solve(H[:, 0, :, :], rows)
        else:
            columns = xp.linalg.solve(H, xp.matrix_transpose(rows)[:, :, :, None])[:, :, :, 0]
            solved = xp.matrix_transpose(columns)
        return xp.reshape(solved, (groups * size, -1))

    def averaged_residuals(self, alpha: float) -> Array:
        """The residuals of generalised cross-validation: leverages averaged over the examples."""
        d = self.shrinkage(alpha)
        rest = self._rest(d)
        return self._fit_residuals(d) / namespace(rest).mean(rest, axis=0, keepdims=True)

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
    """I - H for groups of one size, (groups, directions, members, members)."""
    xp, size = namespace(left), left.shape[1]
    shrunk = [(left * left[:, i : i + 1, :]) @ d for i in range(size)]  # (group, member, direction)
    H = xp.permute_dims(xp.stack(shrunk), (1, 3, 0, 2))
    if full:
        return H
    eye = like(np.eye(size), left)
    return H + (eye - left @ xp.matrix_transpose(left) - mean)[:, None, :, :]


def _members(groups: Array) -> list[np.ndarray]:
    """The positions of the examples, one array for each size of group: a row a group."""
    _, number, counts = np.unique(host(groups), return_inverse=True, return_counts=True)
    order = np.argsort(number, kind="stable")
    starts = np.cumsum(counts) - counts
    return [order[starts[counts == size][:, None] + np.arange(size)] for size in np.unique(counts)]


def _batches(members: list[np.ndarray], directions: int) -> Iterator[np.ndarray]:
    """Groups of one size, as many at a time as keep their matrices within BATCH numbers."""
    for same in members:
        step = max(1, BATCH // (directions * same.shape[1] ** 2))
        yield from (same[rows] for rows in blocks(len(same), step))
