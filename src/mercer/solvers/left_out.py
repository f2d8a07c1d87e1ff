"""Left-out predictions of all training examples in closed form, from any linear smoother."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._base.arrays import Array, blocks, host, is_foreign, like, namespace, put, take
from .._base.threads import cores, one_thread_each, side_by_side
from ..operators.slots import Slots
from ..problem import Problem
from .inputs import InputSpectrum

BATCH = 2**20
"""Entries of the groups' matrices that are held at once."""
BLOCK = 2**24
"""Residuals that are held at once for several α."""
CANCELLED = 1e-6
"""Differences of ones below this have lost digits that a projection keeps."""
COLUMNS = 20
"""Shrinkages from which on products of all pairs of rows pay, in large groups; fewer in small."""


class Smoother:
    """A fit that is linear in the outputs: fitted = H T, at every α.

    Rows are training examples (or their slots), each times the root of its sample weight; columns
    are directions of the outputs, which may shrink differently.
    """

    def path(self, alphas: Sequence[float]) -> Iterator[tuple[Array, Array]]:
        """For every α the residuals T - HT and the diagonal of I - H, one column or one each."""
        raise NotImplementedError

    def residuals(self, alpha: float) -> Array:
        """T - HT."""
        return next(self.path([alpha]))[0]

    @property
    def sizes(self) -> tuple[int, int]:
        """How many residuals there are at one α, and how many directions shrink differently."""
        raise NotImplementedError

    held = True
    """Whether residuals of all rows may be in memory at once with the basis."""

    @property
    def foreign(self) -> bool:
        """Whether arrays are of a library other than numpy."""
        return False

    def small_rank(self, size: int) -> bool:
        """Whether Woodbury's formula is shorter for groups of this size."""
        return False

    def by_woodbury(self, alphas: Sequence[float], members: np.ndarray) -> Array:
        """(I - H_gg)⁻¹ R_g for groups of one size, by matrices as large as the rank."""
        raise NotImplementedError

    def group_systems(
        self, alphas: Sequence[float], members: np.ndarray
    ) -> tuple[Array, Callable[[], list[Array]]]:
        """I - H over groups of one size for every α: (groups, α, directions, size, size).

        There is one direction where all shrink alike. Also a function that returns the residuals
        of the groups at every α.
        """
        raise NotImplementedError


@dataclass(eq=False)
class Part(Smoother):
    """The smoother H_j = E diag(s b_j / (s b_j + α)) Eᵀ + NNᵀ of each output direction j.

    Parameters
    ----------
    inputs
        E, s and N: the inputs, factored.
    b
        The eigenvalues of the operator, one a direction.
    targets
        T: outputs in the eigenbasis of the operator, rows times the roots of their weights, means
        taken off where there is an intercept; or a function that returns them.
    inside
        EᵀT; of a sample of a stream it comes from the moments of all.
    columns
        Which directions of all outputs these are; None for all.
    everything
        Of a sample of a stream, the number of all pairs and their squared lengths along each
        direction; None where the rows are those of all pairs.
    slots
        The example and the output component of each row; None for one row an example.
    constants
        With slots and an intercept, the mean output of each component, (width, directions).

    Notes
    -----
    With d_pj = α / (s_p b_j + α) the residuals and one minus the leverages are

        R = (T - EEᵀT) + E [(EᵀT) ∘ d],    1 - H_ij = (1 - N_i² - Σ_p E_ip²) + Σ_p E_ip² d_pj.

    Where E and N are a complete basis both brackets are zero and are left out.
    """

    inputs: InputSpectrum
    b: Array
    targets: Array | Callable[[], Array]
    inside: Array
    columns: np.ndarray | None = None
    everything: tuple[float, Array] | None = None
    slots: Slots | None = None
    constants: Array | None = None

    @cached_property
    def T(self) -> Array:
        """The outputs, rotated only where more than a solution is wanted."""
        return self.targets() if callable(self.targets) else self.targets

    @cached_property
    def alike(self) -> bool:
        """Whether all directions shrink alike, as under the identity."""
        return self.b.shape[0] == 0 or bool(namespace(self.b).all(self.b == self.b[:1]))

    @property
    def held(self) -> bool:  # type: ignore[override]
        """Whether all rows of E are in memory."""
        return self.inputs.held

    @property
    def foreign(self) -> bool:
        """Whether arrays are of a library other than numpy."""
        return is_foreign(self.inside)

    @property
    def sizes(self) -> tuple[int, int]:
        """As many residuals as outputs have coordinates."""
        n, q = self.T.shape
        return n * q, 1 if self.alike else q

    def _reach(self) -> Array:
        """S b, one column where all directions shrink alike."""
        if self.b.shape[0] == 0:  # outputs without coordinates shrink as under the identity
            return self.inputs.s[:, None]
        return self.inputs.s[:, None] * (self.b[:1] if self.alike else self.b)[None, :]

    def shrinkage(self, alpha: float) -> Array:
        """d_pj = α / (s_p b_j + α)."""
        return alpha / (self._reach() + alpha)

    def _factors(self, alpha: float) -> Array:
        """D of I - H = (I - EEᵀ - NNᵀ) + E diag(d) Eᵀ; for a sample of I - NNᵀ + E diag(d) Eᵀ.

        The rows of a sample are not orthonormal: their own products must not be subtracted.
        """
        if self.inputs.orthonormal:
            return self.shrinkage(alpha)
        reach = self._reach()
        return -reach / (reach + alpha)

    def smooth(self, T: Array, alpha: float) -> Array:
        """The fit to other outputs T."""
        turned, E = namespace(T).matrix_transpose, self.inputs.E
        reach = self._reach()
        fitted = E @ ((turned(E) @ T) * (reach / (reach + alpha)))
        N = self.inputs.N
        return fitted if N is None else fitted + N @ (turned(N) @ T)

    @cached_property
    def outside(self) -> Array | float:
        """T less its projection on E and N, what no α can fit; T where E is not orthonormal."""
        if self.inputs.complete:
            return 0.0
        if not self.inputs.orthonormal:
            return self.T
        rest, E = self.T - self.inputs.E @ self.inside, self.inputs.E
        return rest - E @ (namespace(E).matrix_transpose(E) @ rest)  # what cancelled the first time

    @property
    def lengths(self) -> Array:
        """The squared lengths of all outputs along each direction."""
        if self.everything is not None:
            return self.everything[1]
        return namespace(self.T).sum(self.T * self.T, axis=0)

    def misfit(self, alpha: float) -> float:
        """α times the sum of squares over (s b + α), where no basis reaches over α."""
        xp, reach = namespace(self.inside), self._reach()
        squares = self.inside**2
        if not self.inputs.orthonormal:  # EEᵀ must not be subtracted by itself
            explained = float(xp.sum(squares * (reach / (reach + alpha))))
            return max(0.0, float(xp.sum(self.lengths)) - explained)
        beyond = 0.0 if self.inputs.complete else float(xp.sum(self.outside**2))
        return float(xp.sum(squares * (alpha / (reach + alpha)))) + beyond

    @property
    def number(self) -> float:
        """How many rows of all outputs the constants leave."""
        rows = self.T.shape[0] if self.everything is None else self.everything[0]
        return rows - self.inputs.constants

    def labels(self, problem: Problem) -> np.ndarray | None:
        """The group of each row; None where each row is left out alone."""
        if self.slots is None:
            return problem.groups
        return problem.left_out_labels[self.slots.owners]

    def joined(self, A: Array) -> Array:
        """Values of all rows as one row an example."""
        return A if self.slots is None else self.slots.join(A)

    def log_weights(self, weights: np.ndarray | None) -> float:
        """Σ log w over all rows."""
        if weights is None:
            return 0.0
        return float(np.log(weights if self.slots is None else weights[self.slots.owners]).sum())

    def left_out_path(self, alphas: Sequence[float], labels: np.ndarray) -> Iterator[Array]:
        """Left-out residuals for every α, where the slots of an example are left out together."""
        assert self.slots is not None
        groups = labels[self.slots.owners]
        unknown = self._unknown(groups)
        return (E + unknown for E in LeaveOneOut(self, groups).path(alphas))

    def _unknown(self, groups: np.ndarray) -> Array | float:
        """The constants of rows whose component no other group has: without it they are zero."""
        assert self.slots is not None
        if self.constants is None:
            return 0.0
        places = self.slots.places
        first = np.full(self.slots.width, -1)
        first[places[::-1]] = groups[::-1]
        known = np.zeros(self.slots.width, dtype=bool)
        known[places[groups != first[places]]] = True
        return self._constant_rows(np.arange(len(places)), known)

    def unknown_constants(self, own: np.ndarray) -> Array | float:
        """The same for the rows of one group."""
        assert self.slots is not None
        if self.constants is None:
            return 0.0
        known = np.zeros(self.slots.width, dtype=bool)
        known[np.delete(self.slots.places, own)] = True
        return self._constant_rows(own, known)

    def _constant_rows(self, own: np.ndarray, known: np.ndarray) -> Array | float:
        """√w times the constants of some rows, zero for components that others know."""
        assert self.slots is not None and self.constants is not None
        if known[self.slots.places[own]].all():
            return 0.0
        found = take(self.constants * like(~known[:, None], self.constants), self.slots.places[own])
        return found if self.inputs.roots is None else found * take(self.inputs.roots, own)

    @cached_property
    def squares(self) -> Array:
        """E², entry by entry."""
        return self.inputs.E * self.inputs.E

    @cached_property
    def free(self) -> Array | float:
        """1 - N² - Σ_p E_ip², where the basis is not complete; 1 - N² where not orthonormal."""
        if self.inputs.complete:
            return 0.0
        xp = namespace(self.squares)
        rest = 1.0 + 0.0 * xp.sum(self.squares, axis=1)
        rest = rest - self.inputs.squared_levels(slice(None))
        if not self.inputs.orthonormal:
            return rest[:, None]
        rest = rest - xp.sum(self.squares, axis=1)
        lost = np.flatnonzero(host(rest < CANCELLED))
        if len(lost):
            rest = put(rest[:, None], lost, xp.sum(self._beyond(lost) ** 2, axis=0)[:, None])[:, 0]
        return xp.where(rest > 0, rest, xp.zeros_like(rest))[:, None]

    def path(self, alphas: Sequence[float]) -> Iterator[tuple[Array, Array]]:
        """Residuals and 1 - H; those of many α in one product where directions shrink alike."""
        if not self.inputs.held:
            yield from self._path_in_blocks(alphas)
            return
        E, xp, (n, q) = self.inputs.E, namespace(self.T), self.T.shape
        together = max(1, BLOCK // max(1, n * q)) if self.alike else 1
        for some in blocks(len(alphas), together):
            D = [self._factors(alpha) for alpha in alphas[some]]
            R = E @ xp.concat([self.inside * d for d in D], axis=1)
            rest = self.squares @ xp.concat(D, axis=1) + self.free
            width = D[0].shape[1]
            for i in range(len(D)):
                yield (
                    R[:, i * q : (i + 1) * q] + self.outside,
                    rest[:, i * width : (i + 1) * width],
                )

    def _path_in_blocks(self, alphas: Sequence[float]) -> Iterator[tuple[Array, Array]]:
        """The same where rows of E are made block by block, once for all α."""
        D, T, xp = [self._factors(alpha) for alpha in alphas], self.T, namespace(self.T)
        found: list[list[tuple[Array, Array]]] = [[] for _ in alphas]
        for rows in blocks(T.shape[0], max(1, BLOCK // max(1, self.inputs.s.shape[0]))):
            E = self.inputs.rows(np.arange(rows.start, rows.stop))
            free = 1.0 + 0.0 * xp.sum(E, axis=1) - self.inputs.squared_levels(rows)
            for own, d in zip(found, D, strict=True):
                own.append((T[rows, :] + E @ (self.inside * d), free[:, None] + (E * E) @ d))
        for own in found:
            residuals, rests = zip(*own, strict=True)
            yield xp.concat(residuals), xp.concat(rests)

    def rest_blocks(self, alphas: Sequence[float], members: np.ndarray) -> Array:
        """E_g diag(d) E_gᵀ, and what is not spanned."""
        return self.group_systems(alphas, members)[0]

    def group_systems(
        self, alphas: Sequence[float], members: np.ndarray
    ) -> tuple[Array, Callable[[], list[Array]]]:
        """I - H over groups for every α, and a function that returns their residuals."""
        xp, (groups, size) = namespace(self.inside), members.shape
        D = [self._factors(alpha) for alpha in alphas]
        d = xp.concat(D, axis=1)
        E = xp.reshape(self.inputs.rows(members.reshape(-1)), (groups, size, -1))

        def residuals() -> list[Array]:
            """Those of rows that are not held for all examples."""
            own = xp.reshape(take(self.T, members.reshape(-1)), (groups, size, -1))
            return [own + E @ (self.inside * one) for one in D]

        H = xp.reshape(_congruences(E, d), (groups, len(alphas), -1, size, size))
        extra = self._unspanned(E, members)
        return (H if extra is None else H + extra[:, None, None, :, :]), residuals

    def small_rank(self, size: int) -> bool:
        """Whether groups have more rows than the basis has columns."""
        return not self.inputs.held and size > self.inputs.s.shape[0]

    def by_woodbury(self, alphas: Sequence[float], members: np.ndarray) -> Array:
        """The inverse of I - N_gN_gᵀ - E_g diag(f) E_gᵀ, with I - √f S √f and never with 1/f."""
        xp, (groups, size) = namespace(self.inside), members.shape
        turn = xp.matrix_transpose
        E = xp.reshape(self.inputs.rows(members.reshape(-1)), (groups, size, -1))
        T = xp.reshape(take(self.T, members.reshape(-1)), (groups, size, -1))
        AE = self.inputs.without_constants(members, E)
        S, found = turn(E) @ AE, []
        for alpha in alphas:
            factors = -self._factors(alpha)
            R = T - E @ (self.inside * factors)
            AR = self.inputs.without_constants(members, R)
            columns = []
            for j in range(factors.shape[1]):
                own = slice(None) if factors.shape[1] == 1 else slice(j, j + 1)
                root = xp.sqrt(factors[:, j])
                inner = like(np.eye(root.shape[0]), E) - root[:, None] * S * root
                right = root[:, None] * (turn(E) @ AR[:, :, own])
                columns.append(AR[:, :, own] + (AE * root) @ solved_systems(inner, right))
            found.append(xp.reshape(xp.concat(columns, axis=2), (groups * size, -1)))
        return xp.stack(found)

    def _unspanned(self, E: Array, members: np.ndarray) -> Array | None:
        """I - N_gN_gᵀ - E_gE_gᵀ where the basis is not complete; constants of the group alone.

        A constant whose every row is in the group is not known without it: it is not fitted.
        """
        constants = self.inputs.constant_blocks(members)
        if self.inputs.complete:
            return None if constants is None else constants[1]
        rest = self._projected(E, members, constants)
        return rest if constants is None else rest + constants[1]

    def _projected(
        self, E: Array, members: np.ndarray, constants: tuple[Array, Array] | None
    ) -> Array:
        """The blocks of P = I - NNᵀ - EEᵀ over groups, of rows E of the basis."""
        xp, turn = namespace(E), namespace(E).matrix_transpose
        rest = like(np.tile(np.eye(members.shape[1]), (len(members), 1, 1)), E)
        if constants is not None:
            rest = rest - constants[0]
        if not self.inputs.orthonormal:
            return rest
        rest = rest - E @ turn(E)
        smallest = host(xp.min(xp.linalg.diagonal(rest), axis=-1))
        for g in np.flatnonzero(smallest < CANCELLED):
            own = self._beyond(members[g])
            rest[int(g), :, :] = turn(own) @ own
        return rest

    def _beyond(self, rows: np.ndarray) -> Array:
        """Columns of P, projected twice for the digits that the first time cancelled."""
        A = unit_columns(self.inputs.E.shape[0], rows, self.inputs.E)
        for basis in (self.inputs.E, self.inputs.N) * 2:
            if basis is not None:
                A = A - basis @ (namespace(A).matrix_transpose(basis) @ A)
        return A

    def weights(
        self, Z: Array, alpha: float, direction: int, rows: np.ndarray | None = None
    ) -> Array:
        """The weight of (some) rows of T in g_j at new inputs of projections Z, (inputs, rows)."""
        xp, b = namespace(Z), self.b[direction]
        E = self.inputs.E if rows is None else take(self.inputs.E, rows)
        W = (Z * (b / (self.inputs.s * b + alpha))) @ xp.matrix_transpose(E)
        N = self.inputs.N
        if N is None:
            return W
        N = N if rows is None else take(N, rows)
        return W + self.inputs.share * N[:, 0]


class LeaveOneOut:
    """Left-out residuals of a smoother: R / (1 - H), and (I - H_gg)⁻¹ R_g for groups.

    Parameters
    ----------
    smoother
        The fit.
    groups
        The group number of each row, left out together; None for each row alone.

    Notes
    -----
    Rows carry the roots of sample weights, and so do the residuals here; divided by them they are
    Φ(y_i) minus the prediction of the model that has not seen the group. Held fixed are the
    operator B, landmarks and length scales.
    """

    def __init__(self, smoother: Smoother, groups: np.ndarray | None = None):
        self.smoother = smoother
        self.members = None if groups is None else members_by_size(groups)

    def path(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[Array]:
        """Left-out residuals for every α; `averaged` for generalised cross-validation."""
        if averaged:
            for alpha in alphas:
                R, rest = pooled(self.smoother, alpha)
                yield R / (float(rest.sum()) / (R.shape[0] * R.shape[1]))
        elif self.members is None:
            for R, rest in self.smoother.path(alphas):
                xp = namespace(R)
                yield R / xp.where(rest > 0, rest, xp.ones_like(rest))
        else:
            for some in blocks(len(alphas), self._together()):
                R = None
                if self.smoother.held:
                    R = [R for R, _ in self.smoother.path(alphas[some])]
                yield from self.solved(R, alphas[some])

    def _together(self) -> int:
        """For how many α residuals and the matrices of the largest group are held at once."""
        residuals, directions = self.smoother.sizes
        largest = max(same.shape[1] for same in self.members or [])
        return max(1, min(BATCH // (directions * largest**2), BLOCK // max(1, residuals)))

    def solved(self, R: Sequence[Array] | None, alphas: Sequence[float]) -> list[Array]:
        """(I - H_gg)⁻¹ R_g for every group, at every α with its own R; None for those of the fit.

        The residuals of the fit are made group by group then.
        """
        batches = list(self._batches(self.smoother.sizes[1] * len(alphas)))

        def solve(members: np.ndarray) -> Array:
            return self.solved_groups(R, alphas, members)

        if len(batches) < cores() or self.smoother.foreign:
            found = [solve(members) for members in batches]
        else:
            with one_thread_each():
                found = side_by_side(solve, batches)
        xp = namespace(found[0])
        order = np.argsort(np.concatenate([members.reshape(-1) for members in batches]))
        return [take(xp.concat([A[i, :, :] for A in found]), order) for i in range(len(alphas))]

    def solved_groups(
        self, R: Sequence[Array] | None, alphas: Sequence[float], members: np.ndarray
    ) -> Array:
        """(I - H_gg)⁻¹ R_g for groups of one size, (α, rows, directions), all at once."""
        groups, size = members.shape
        if R is None and self.smoother.small_rank(size):
            return self.smoother.by_woodbury(alphas, members)
        rest, residuals = self.smoother.group_systems(alphas, members)
        xp = namespace(rest)
        if R is None:
            own = residuals()
        else:
            own = [xp.reshape(take(A, members.reshape(-1)), (groups, size, -1)) for A in R]
        rows = xp.stack(own, axis=1)
        if rest.shape[2] == 1:
            solved = solved_systems(rest[:, :, 0, :, :], rows)
        else:
            columns = solved_systems(rest, xp.matrix_transpose(rows)[..., None])[..., 0]
            solved = xp.matrix_transpose(columns)
        return xp.reshape(xp.permute_dims(solved, (1, 0, 2, 3)), (len(alphas), groups * size, -1))

    def _batches(self, matrices: int) -> Iterator[np.ndarray]:
        """Groups of one size, as many at a time as keep their matrices within BATCH numbers."""
        for same in self.members or []:
            step = max(1, BATCH // (matrices * same.shape[1] ** 2))
            yield from (same[rows] for rows in blocks(len(same), step))


def pooled(smoother: Smoother, alpha: float) -> tuple[Array, np.ndarray]:
    """Residuals of the fit, and for each direction the sum of 1 - H over all rows.

    Generalised cross-validation divides by the mean over all parts, which does not depend on the
    basis that outputs are written in.
    """
    R, rest = next(smoother.path([alpha]))
    return R, np.broadcast_to(host(namespace(rest).sum(rest, axis=0)), (R.shape[1],))


def solved_systems(rest: Array, R: Array) -> Array:
    """(I - H_gg)⁻¹ R_g, refused where the ridge is lost in rounding."""
    try:
        return namespace(R).linalg.solve(rest, R)
    except np.linalg.LinAlgError:
        raise ValueError(
            "groups cannot be left out at so small an alpha: the remaining examples do not "
            "determine the fit, and the ridge is lost in rounding. Use a larger alpha, or smaller "
            "groups."
        ) from None


def by_inverse(A: Array, T: Array, groups: np.ndarray | None) -> Array:
    """Left-out residuals at one α from A = (K + αI)⁻¹ = (I - H)/α on what is not constant."""
    return divided(A, A @ T, groups)


def divided(A: Array, R: Array, groups: np.ndarray | None) -> Array:
    """A_gg⁻¹ R_g for every group, or R over the diagonal of A where each is left out alone."""
    xp = namespace(R)
    if groups is None:
        return R / xp.linalg.diagonal(A)[:, None]

    def rest(members: np.ndarray) -> Array:
        flat = members[:, :, None] * A.shape[0] + members[:, None, :]
        return xp.reshape(take(xp.reshape(A, (-1,)), flat.reshape(-1)), flat.shape)

    return by_groups(rest, R, groups)


def by_groups(rest: Callable[[np.ndarray], Array], R: Array, groups: np.ndarray) -> Array:
    """(I - H_gg)⁻¹ R_g for all groups, given the matrices of groups of one size."""
    xp, found, order = namespace(R), [], []
    for members in members_by_size(groups):
        own = xp.reshape(take(R, members.reshape(-1)), (*members.shape, -1))
        found.append(xp.reshape(solved_systems(rest(members), own), (members.size, -1)))
        order.append(members.reshape(-1))
    return take(xp.concat(found), np.argsort(np.concatenate(order)))


def members_by_size(groups: Array) -> list[np.ndarray]:
    """The positions of the rows of each group, one array for each size of group: a row a group."""
    _, number, counts = np.unique(host(groups), return_inverse=True, return_counts=True)
    order = np.argsort(number.reshape(-1), kind="stable")
    starts = np.cumsum(counts) - counts
    return [order[starts[counts == size][:, None] + np.arange(size)] for size in np.unique(counts)]


def unit_columns(n: int, rows: np.ndarray, like_this: Array) -> Array:
    """Some columns of the identity."""
    eye = np.zeros((n, len(rows)))
    eye[rows, np.arange(len(rows))] = 1.0
    return like(eye, like_this)


def _congruences(E: Array, d: Array) -> Array:
    """E_g diag(d_j) E_gᵀ for the rows E_g of every group and every column j, (groups, j, ·, ·)."""
    xp, (size, columns) = namespace(E), (E.shape[1], d.shape[1])
    if columns * (size + 2 * COLUMNS) <= COLUMNS * size:
        turned = xp.matrix_transpose(E)
        return xp.stack([(E * d[:, j]) @ turned for j in range(columns)], axis=1)
    # one product for all columns, of the entries on and above the diagonal alone
    upper = xp.concat([(E[:, i:, :] * E[:, i : i + 1, :]) @ d for i in range(size)], axis=1)
    place = np.zeros((size, size), dtype=np.int64)
    place[np.triu_indices(size)] = np.arange(upper.shape[1])
    place = np.maximum(place, place.T).reshape(-1)
    whole = take(xp.permute_dims(upper, (1, 2, 0)), place)
    return xp.permute_dims(xp.reshape(whole, (size, size, columns, -1)), (3, 2, 0, 1))
