"""Left-out residuals of all training examples in closed form, their noise and log density."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .._base.arrays import Array, blocks, host, like, namespace, take
from .._base.linalg import adjoint
from .._base.memory import ENTRIES
from .._base.threads import cores, map_in_threads, one_thread_each
from ..problem import Problem
from .part import Part

ACCELERATOR_ENTRIES = 2**25
"""Entries that are held at once by other libraries than numpy: accelerators need large batches."""
BLOCK_ENTRIES = 2**20
"""The number of matrix entries of groups in memory at once."""


class LeaveOneOut:
    """Left-out residuals in closed form, from residuals R = T - HT of a linear smoother H.

    Parameters
    ----------
    part
        The part of a factorisation with the smoother H and the targets T.
    groups
        The group label of each row; groups are left out together. None to leave out single rows.

    Notes
    -----
    Rows and residuals are multiplied by the roots of the sample weights. Divided by these roots, a
    residual is Φ(y_i) minus the prediction of the model without the group. The operator B,
    landmarks and length scales are held fixed.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> X, Y = [[0.0], [1.0], [2.0]], [[0.0], [1.0], [4.0]]
    >>> model = KernelDependency(RBF(1.0), alpha=0.1).fit(X, Y)
    >>> from mercer.solvers import LeaveOneOut
    >>> (part,) = model.fitted_.factorization.parts
    >>> [residuals.shape for residuals in LeaveOneOut(part).path([0.1, 1.0])]
    [(3, 1), (3, 1)]
    """

    def __init__(self, part: Part, groups: np.ndarray | None = None):
        self.part = part
        self.members = None if groups is None else members_by_size(groups)

    def path(self, alphas: Sequence[float]) -> Iterator[Array]:
        """Yield the left-out residuals of all rows for each ridge parameter."""
        if self.members is None:
            for R, rest in self.part.residual_path(alphas):
                yield divide_by_positive(R, rest)
            return
        for ridges in blocks(len(alphas), self._ridges_at_once()):
            R = None
            if self.part.spectrum.in_memory:
                R = [R for R, _ in self.part.residual_path(alphas[ridges])]
            yield from self.solve(R, alphas[ridges])

    def _distinct_shrinkages(self) -> int:
        """Return the number of distinct shrinkage factors: 1 if all directions share theirs."""
        return 1 if self.part.equal_eigenvalues else self.part.shape[1]

    def _ridges_at_once(self) -> int:
        """Return the number of ridge parameters that fit into memory at once."""
        rows, directions = self.part.shape
        sizes = [same.shape[1] for same in self.members or []]
        largest = max((size for size in sizes if not self._uses_woodbury(size)), default=1)
        batches = self._block_entries() // (self._distinct_shrinkages() * largest**2)
        return max(1, min(batches, ENTRIES // max(1, rows * directions)))

    def _block_entries(self) -> int:
        """Return the number of entries of the groups' matrices that are held at once."""
        return ACCELERATOR_ENTRIES if self.part.foreign else BLOCK_ENTRIES

    def _uses_woodbury(self, size: int) -> bool:
        """Return whether groups of `size` rows are solved by systems of the size of the rank."""
        spectrum = self.part.spectrum
        exact = spectrum.orthonormal or spectrum.complete
        return not exact and size > spectrum.s.shape[0]

    def solve(self, R: Sequence[Array] | None, alphas: Sequence[float]) -> list[Array]:
        """Return left-out residuals (I - H_gg)⁻¹R_g of all groups g per alpha, with smoother H.

        R holds residuals for each alpha; with None, those of the fit are computed group by group.
        """
        batches = list(self._batches(self._distinct_shrinkages() * len(alphas)))

        def of_groups(members: np.ndarray) -> Array:
            """Solve the systems of one batch of groups of equal size."""
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
        """Return the left-out residuals of groups of one size, (alphas, rows, directions).

        `members` has the row numbers of each group, and R is that of `solve`.
        """
        part, flat = self.part, members.reshape(-1)
        E = part.spectrum.rows(flat)
        residuals = part.residual_rows(flat, alphas, E) if R is None else [take(A, flat) for A in R]
        if self._uses_woodbury(members.shape[1]):
            return solve_groups_by_woodbury(part, residuals, alphas, members, E)
        rest = part.residual_blocks(alphas, members, E)
        xp = namespace(rest)
        rows = xp.stack([xp.reshape(A, (*members.shape, -1)) for A in residuals], axis=1)
        if rest.shape[2] == 1:
            solved = solve_systems(rest[:, :, 0, :, :], rows)
        else:
            columns = solve_systems(rest, xp.matrix_transpose(rows)[..., None])[..., 0]
            solved = xp.matrix_transpose(columns)
        return xp.reshape(xp.permute_dims(solved, (1, 0, 2, 3)), (len(alphas), len(flat), -1))

    def _batches(self, matrices_per_group: int) -> Iterator[np.ndarray]:
        """Yield batches of groups of equal size whose matrices fit into memory."""
        rank = max(1, int(self.part.spectrum.s.shape[0]))
        for same in self.members or []:
            size = same.shape[1]
            entries = ACCELERATOR_ENTRIES if self.part.foreign else ENTRIES
            step = entries // (size * rank)  # rows of E
            if not self._uses_woodbury(size):
                step = min(step, self._block_entries() // (matrices_per_group * size**2))
            yield from (same[rows] for rows in blocks(len(same), step))


def solve_groups_by_woodbury(
    part: Part, R: Sequence[Array], alphas: Sequence[float], members: np.ndarray, E: Array
) -> Array:
    """Return left-out residuals (I - H_gg)⁻¹R_g of large groups g by the Woodbury identity.

    With the smoother H_gg = N_gN_gᵀ + E_g diag(f) E_gᵀ, all linear systems have the size of the
    rank of E. Their matrix is I - √f S √f with S = E_gᵀ(I - N_gN_gᵀ)⁻¹E_g; nothing is divided by f.
    """
    xp, (groups, size), spectrum = namespace(part.b), members.shape, part.spectrum
    E = xp.reshape(E, (groups, size, -1))
    AE = spectrum.constants.solve(members, E)
    S, found = adjoint(E) @ AE, []
    for rows, alpha in zip(R, alphas, strict=True):
        factors = 1.0 - part.shrinkage(alpha)
        AR = spectrum.constants.solve(members, xp.reshape(rows, (groups, size, -1)))
        columns = []
        for j in range(factors.shape[1]):
            columns_of_R = slice(None) if factors.shape[1] == 1 else slice(j, j + 1)
            root = xp.sqrt(factors[:, j])
            inner = like(np.eye(root.shape[0]), E) - root[:, None] * S * root
            right = root[:, None] * (adjoint(E) @ AR[:, :, columns_of_R])
            columns.append(AR[:, :, columns_of_R] + (AE * root) @ solve_systems(inner, right))
        found.append(xp.reshape(xp.concat(columns, axis=2), (groups * size, -1)))
    return xp.stack(found)


def divide_by_positive(R: Array, rest: Array) -> Array:
    """Return R / rest, or R where `rest` is not positive."""
    xp = namespace(rest)
    return R / xp.where(rest > 0, rest, xp.ones_like(rest))


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
        return divide_by_positive(R, xp.linalg.diagonal(A)[:, None])
    for members in members_by_size(groups):
        flat = members[:, :, None] * A.shape[0] + members[:, None, :]
        blocks_of_A = xp.reshape(take(xp.reshape(A, (-1,)), flat.reshape(-1)), flat.shape)
        right = xp.reshape(take(R, members.reshape(-1)), (*members.shape, -1))
        found.append(xp.reshape(solve_systems(blocks_of_A, right), (members.size, -1)))
        order.append(members.reshape(-1))
    return take(xp.concat(found), np.argsort(np.concatenate(order)))


def members_by_size(groups: Array) -> list[np.ndarray]:
    """Return the row numbers of the groups, as one array (groups, size) for each group size."""
    _, number, counts = np.unique(host(groups), return_inverse=True, return_counts=True)
    order = np.argsort(number.reshape(-1), kind="stable")
    starts = np.cumsum(counts) - counts
    return [order[starts[counts == size][:, None] + np.arange(size)] for size in np.unique(counts)]


def noise_and_log_dets(part: Part, problem: Problem, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Return noise variances and sums of log det(I - H_gg) over groups g, one per direction.

    H_gg is the block of the smoother over the rows of group g; without groups, over each row. A
    left-out residual along direction j has the variance σ_j² / (1 - H_ii), and those of a group the
    covariance σ_j² (I - H_gg)⁻¹: σ_j² is the mean of (left-out residual)² (1 - H_ii), in which a
    row counts as often as its sample weight says.
    """
    R, rest = next(part.residual_path([alpha]))
    groups = part.group_labels(problem)
    if groups is None:
        R, rest = host(R), np.broadcast_to(np.maximum(host(rest), np.finfo(float).eps), R.shape)
        return (abs(R) ** 2 / rest).sum(axis=0) / part.counted_rows, np.log(rest).sum(axis=0)
    (errors,) = LeaveOneOut(part, groups).solve([R], [alpha])
    logs = np.zeros(R.shape[1])
    for members in members_by_size(groups):
        E = part.spectrum.rows(members.reshape(-1))
        rest = host(part.residual_blocks([alpha], members, E))[:, 0]
        logs = logs + np.linalg.slogdet(rest)[1].sum(axis=0)
    return (host(R).conj() * host(errors)).real.sum(axis=0) / part.counted_rows, logs
