"""Left-out predictions of all training examples in closed form, and their noise and density."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import log, pi

import numpy as np

from .._base.arrays import Array, blocks, host, like, namespace, take
from .._base.linalg import adjoint
from .._base.memory import ENTRIES
from .._base.threads import cores, map_in_threads, one_thread_each
from ..problem import Problem
from .outputs import join_in_order
from .part import Part

BLOCK_ENTRIES = 2**20
"""Entries of the groups' matrices that are held at once."""


class LeaveOneOut:
    """Left-out residuals in closed form, from residuals R = T - HT of a linear smoother H.

    Parameters
    ----------
    part
        The smoother.
    groups
        The group number of each row, left out together; None for each row alone.

    Notes
    -----
    Rows carry the roots of sample weights, and so do the residuals here; divided by them they are
    Φ(y_i) minus the prediction of the model that has not seen the group. Held fixed are the
    operator B, landmarks and length scales.
    """

    def __init__(self, part: Part, groups: np.ndarray | None = None):
        self.part = part
        self.members = None if groups is None else members_by_size(groups)

    def path(self, alphas: Sequence[float]) -> Iterator[Array]:
        """Yield the left-out residuals of all rows for each ridge parameter."""
        if self.members is None:
            for R, rest in self.part.residual_path(alphas):
                xp = namespace(rest)
                yield R / xp.where(rest > 0, rest, xp.ones_like(rest))
            return
        for some in blocks(len(alphas), self._ridges_at_once()):
            R = None
            if self.part.spectrum.in_memory:
                R = [R for R, _ in self.part.residual_path(alphas[some])]
            yield from self.solve(R, alphas[some])

    def _distinct_shrinkages(self) -> int:
        """Return 1 if all directions share their shrinkage, else the number of directions."""
        return 1 if self.part.equal_eigenvalues else self.part.shape[1]

    def _ridges_at_once(self) -> int:
        """Return how many ridge parameters can be processed at once in memory."""
        rows, directions = self.part.shape
        largest = max(same.shape[1] for same in self.members or [])
        batches = BLOCK_ENTRIES // (self._distinct_shrinkages() * largest**2)
        return max(1, min(batches, ENTRIES // max(1, rows * directions)))

    def solve(self, R: Sequence[Array] | None, alphas: Sequence[float]) -> list[Array]:
        """Return (I - H_gg)⁻¹R_g of every group g for each alpha, with H the smoother.

        With R=None the residuals of the fit are used, computed group by group.
        """
        batches = list(self._batches(self._distinct_shrinkages() * len(alphas)))

        def of_groups(members: np.ndarray) -> Array:
            return self.solve_groups(R, alphas, members)

        if len(batches) < cores() or self.part.foreign:
            found = [of_groups(members) for members in batches]
        else:
            with one_thread_each():
                found = map_in_threads(of_groups, batches)
        xp = namespace(found[0])
        order = np.argsort(np.concatenate([members.reshape(-1) for members in batches]))
        return [take(xp.concat([A[i, :, :] for A in found]), order) for i in range(len(alphas))]

    def solve_groups(
        self, R: Sequence[Array] | None, alphas: Sequence[float], members: np.ndarray
    ) -> Array:
        """Return (I - H_gg)⁻¹R_g for groups of one size, shape (alphas, rows, directions).

        `members` has one row of row numbers for each group.
        """
        part, flat = self.part, members.reshape(-1)
        E = part.spectrum.rows(flat)
        own = part.residual_rows(flat, alphas, E) if R is None else [take(A, flat) for A in R]
        large = members.shape[1] > part.spectrum.s.shape[0]
        if large and not (part.spectrum.orthonormal or part.spectrum.complete) and part.slots:
            return solve_groups_by_woodbury(part, own, alphas, members, E)
        rest = part.residual_blocks(alphas, members, E)
        xp = namespace(rest)
        rows = xp.stack([xp.reshape(A, (*members.shape, -1)) for A in own], axis=1)
        if rest.shape[2] == 1:
            solved = solve_systems(rest[:, :, 0, :, :], rows)
        else:
            columns = solve_systems(rest, xp.matrix_transpose(rows)[..., None])[..., 0]
            solved = xp.matrix_transpose(columns)
        return xp.reshape(xp.permute_dims(solved, (1, 0, 2, 3)), (len(alphas), len(flat), -1))

    def _batches(self, matrices: int) -> Iterator[np.ndarray]:
        """Yield groups of equal size in batches whose `matrices` matrices each fit into memory."""
        for same in self.members or []:
            step = max(1, BLOCK_ENTRIES // (matrices * same.shape[1] ** 2))
            yield from (same[rows] for rows in blocks(len(same), step))


def solve_groups_by_woodbury(
    part: Part, R: Sequence[Array], alphas: Sequence[float], members: np.ndarray, E: Array
) -> Array:
    """Return (I - H_gg)⁻¹R_g of large groups by the Woodbury identity.

    H_gg = N_gN_gᵀ + E_g diag(f) E_gᵀ, so that all systems are as small as the rank of E.

    It solves with I - √f S √f, S = E_gᵀ(I - N_gN_gᵀ)⁻¹E_g, and never divides by f.
    """
    xp, (groups, size), spectrum = namespace(part.b), members.shape, part.spectrum
    E = xp.reshape(E, (groups, size, -1))
    AE = spectrum.solve_without_constants(members, E)
    S, found = adjoint(E) @ AE, []
    for rows, alpha in zip(R, alphas, strict=True):
        factors = 1.0 - part.shrinkage(alpha)
        AR = spectrum.solve_without_constants(members, xp.reshape(rows, (groups, size, -1)))
        columns = []
        for j in range(factors.shape[1]):
            own = slice(None) if factors.shape[1] == 1 else slice(j, j + 1)
            root = xp.sqrt(factors[:, j])
            inner = like(np.eye(root.shape[0]), E) - root[:, None] * S * root
            right = root[:, None] * (adjoint(E) @ AR[:, :, own])
            columns.append(AR[:, :, own] + (AE * root) @ solve_systems(inner, right))
        found.append(xp.reshape(xp.concat(columns, axis=2), (groups * size, -1)))
    return xp.stack(found)


def residuals_and_trace(part: Part, alpha: float) -> tuple[Array, np.ndarray]:
    """Return the residuals T - HT of the fit, and the trace of I - H for each direction.

    Generalised cross-validation divides by the mean over all parts, which does not depend on the
    basis that outputs are written in.
    """
    R, rest = next(part.residual_path([alpha]))
    return R, np.broadcast_to(host(namespace(rest).sum(rest, axis=0)), (R.shape[1],))


def solve_systems(rest: Array, R: Array) -> Array:
    """Solve `rest` x = R for a batch of matrices I - H_gg; raise ValueError if one is singular."""
    try:
        return namespace(R).linalg.solve(rest, R)
    except np.linalg.LinAlgError:
        raise ValueError(
            "groups cannot be left out at so small an alpha: the remaining examples do not "
            "determine the fit, and the ridge is lost in rounding. Use a larger alpha, or smaller "
            "groups."
        ) from None


def solve_diagonal_blocks(A: Array, R: Array, groups: np.ndarray | None) -> Array:
    """Return A_gg⁻¹R_g for every group g of rows, or R / diag(A) without groups."""
    xp, found, order = namespace(R), [], []
    if groups is None:
        return R / xp.linalg.diagonal(A)[:, None]
    for members in members_by_size(groups):
        flat = members[:, :, None] * A.shape[0] + members[:, None, :]
        blocks_of_A = xp.reshape(take(xp.reshape(A, (-1,)), flat.reshape(-1)), flat.shape)
        own = xp.reshape(take(R, members.reshape(-1)), (*members.shape, -1))
        found.append(xp.reshape(solve_systems(blocks_of_A, own), (members.size, -1)))
        order.append(members.reshape(-1))
    return take(xp.concat(found), np.argsort(np.concatenate(order)))


def members_by_size(groups: Array) -> list[np.ndarray]:
    """Return for each group size an array (groups, size) of the row numbers of its groups."""
    _, number, counts = np.unique(host(groups), return_inverse=True, return_counts=True)
    order = np.argsort(number.reshape(-1), kind="stable")
    starts = np.cumsum(counts) - counts
    return [order[starts[counts == size][:, None] + np.arange(size)] for size in np.unique(counts)]


def left_out_noise_variances(
    parts: Iterable[Part], problem: Problem, alpha: float, order: np.ndarray | None
) -> np.ndarray:
    """Return the noise variance of each direction: the mean of (left-out residual)² (1 - H_ii).

    A left-out residual has variance σ_j² / (1 - H_ii): the noise that left-out outputs show. The
    left-out residuals of a group have the covariance σ_j² (I - H_gg)⁻¹.
    """
    found = []
    for one in parts:
        noise = _noise_and_log_dets(one, alpha, one.group_labels(problem))[0]
        found.append(np.tile(noise, 1 if one.slots is None else one.slots.width)[None, :])
    return join_in_order(found, order)[0]


def summed_log_density(parts: Iterable[Part], problem: Problem, alpha: float) -> float:
    """Return Σ_g log p(y_g | all others), with one noise variance for each direction.

    −½ Σ_j [n log(2πσ_j²) + n - Σ_g log det(I - H_gg)], over finitely many directions.

    References
    ----------
    Rasmussen, Williams: Gaussian processes for machine learning (2006), section 5.4.2.
    """
    total = 0.0
    for one in parts:
        noise, logs = _noise_and_log_dets(one, alpha, one.group_labels(problem))
        n, q = one.shape
        noise = np.maximum(noise, np.finfo(float).tiny)
        own = -0.5 * float((n * (np.log(noise) + log(2 * pi) + 1.0) - logs).sum())
        total += one.multiplicity * (own + 0.5 * q * one.sum_log_weights(problem.weights))
    return total


def _noise_and_log_dets(
    part: Part, alpha: float, groups: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return two numbers for each direction of a part: noise variance and Σ_g log det(I - H_gg).

    H_gg is the block of the smoother over the rows of group g.
    """
    if groups is not None:
        return _group_noise_and_log_dets(part, alpha, groups)
    R, rest = (host(A) for A in next(iter(part.residual_path([alpha]))))
    rest = np.broadcast_to(np.maximum(rest, np.finfo(float).eps), R.shape)
    return (abs(R) ** 2 / rest).mean(axis=0), np.log(rest).sum(axis=0)


def _group_noise_and_log_dets(
    part: Part, alpha: float, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the noise variance and Σ_g log det(I - H_gg) of each direction, by groups of rows."""
    R = next(part.residual_path([alpha]))[0]
    (errors,) = LeaveOneOut(part, groups).solve([R], [alpha])
    logs = np.zeros(R.shape[1])
    for members in members_by_size(groups):
        E = part.spectrum.rows(members.reshape(-1))
        rest = host(part.residual_blocks([alpha], members, E))[:, 0]
        logs = logs + np.linalg.slogdet(rest)[1].sum(axis=0)
    return (host(R).conj() * host(errors)).real.mean(axis=0), logs
