"""Fields to fields at low rank: every place of every example is an example of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array, Items, blocks, count, is_foreign, like, namespace, take
from .._linalg import PositiveDefinite, eigh, ridged, solve_triangular
from .._plan import Route, Sizes
from ..embedding import PointMap
from ..features import FeatureMap
from ..operators.separable import fitted
from ..operators.shared import SINGLE, Marks, Shared, View
from ..operators.windows import like_index
from ..problem import Problem, Want
from .base import Cache, Solver
from .factorization import Factorization, LeftOut, Solution, _Points
from .left_out import members_by_size
from .outputs import Outputs
from .weights import LeastWeights

CHOICE_RANK = 4000
"""The most landmarks that several ridges are chosen with; the last fit has all."""
HOST_CHOICE_RANK = 1000
"""The same without an accelerator."""
ROUNDED = 1e6
"""How much larger than the moment of the coordinates is what it was computed of, at worst."""
JITTER = 1e-10
"""What is added to the diagonal of the landmarks' Gram matrix, relative to its mean."""
HOST_ENTRIES, DEVICE_ENTRIES = 2**24, 2**28
"""Kernel values that are held at once."""


class AtPlaces(Solver):
    """Kernels that all places share, on landmarks among the windows; moments are streamed."""

    name = "places"

    def accepts(self, problem: Problem, want: Want) -> str | None:
        """A kernel over places, pairs held whole, the square loss."""
        if problem.inputs.features is not None:
            return f"{problem.kernel} draws landmarks itself: give rank= there, not features="
        if problem.loss is not None or want.judge != "closed":
            return f"{problem.kernel} goes with the square loss"
        return None

    def cost(self, sizes: Sizes) -> Route:
        """As at low rank, with a row for every place."""
        return replace(sizes, n=sizes.n * (sizes.q or 1)).low_rank()

    def factor(self, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Choose what is open, draw landmarks, and gather the moments when they are needed."""
        from .place_choice import chosen

        outputs = cache.outputs(problem)
        kernel: Any = problem.kernel.for_outputs(tuple(problem.outputs.items.shape[1:]))
        if kernel.open:
            kernel = chosen(kernel, problem, outputs)
        problem = replace(problem, kernel=kernel)  # a model keeps what was chosen
        return Places(problem, settled(kernel, problem, outputs), outputs)


def settled(kernel: Shared, problem: Problem, outputs: Outputs) -> Shared:
    """The kernel, fitted on all inputs; large fits take distances in float32."""
    made: Shared = fitted(kernel, problem.inputs.items, outputs.rows, problem.weights)
    size = float(problem.n) * made.output_grid.size * made.rank * len(made.roots_)
    made.single_ = size > SINGLE and made.window_.radial is not None
    return made


class PlaceData:
    """Fields and targets by place, as every fit at some rank needs them.

    Attributes
    ----------
    X
        Inputs, (n, places, channels).
    T
        Outputs less their means, times the roots of the weights, (n, places that count, channels).
    roots
        The roots of the sample weights over that of their sum, which an intercept's constants are
        made of; None without an intercept.
    """

    def __init__(self, problem: Problem, kernel: Shared, outputs: Outputs, rows: Any = None):
        X, T, w = problem.inputs.items, outputs.rows, problem.weights
        if rows is not None:
            X, T = take(X, rows), take(T, rows)
            w = None if w is None else w[rows]
            if problem.intercept and w is None:
                T = T - namespace(T).mean(T, axis=0)
        inputs, grid = kernel.input_grid, kernel.output_grid
        self.kernel, self.grid = kernel, grid
        self.view = View(kernel, inputs, grid)
        self.X, T = inputs.split(X), grid.split(T)
        self.T = T if grid.mask is None else namespace(T).take(T, like_index(grid.live, T), axis=1)
        self.n, self.intercept = count(X), problem.intercept
        self.w = np.ones(self.n) if w is None else np.asarray(w, dtype=float)
        self.weighted = w is not None

    @cached_property
    def marks(self) -> Marks:
        """All landmarks; the first of them are as good a draw."""
        places = len(self.view.windows.centre)
        rows, at = self.kernel.drawn(self.n, places, self.kernel.rank)
        return self.view.marks(self.X, rows, at)

    def by_place(self, rows: np.ndarray, marks: Marks) -> Array:
        """Kernel values of some fields, (fields, places, m), times the roots of their weights."""
        found = sorted(self.view.values(take(self.X, rows), marks), key=lambda pair: pair[0])
        K = namespace(self.X).stack([values for _, values in found], axis=1)
        return K * like(np.sqrt(self.w[rows])[:, None, None], K) if self.weighted else K


class Moments:
    """What a fit on some landmarks needs: K_mn K_nm, K_mn T and the means of each place."""

    def __init__(self, data: PlaceData, marks: Marks):
        self.data, self.marks = data, marks
        xp, m = namespace(data.X), marks.shown.shape[0]
        P, channels = int(data.T.shape[1]), int(data.T.shape[2])
        self.A: Any = like(np.zeros((m, m)), data.X)
        self.b: Any = like(np.zeros((m, channels)), data.X)
        sums: Any = [0.0] * P
        entries = DEVICE_ENTRIES if is_foreign(data.X) else HOST_ENTRIES
        parts = list(blocks(data.n, max(1, entries // m)))
        whole, total = len(parts) == 1, float(data.w.sum())
        for rows in parts:
            w = like(data.w[rows], data.X)
            for p, K in data.view.values(data.X[rows, ...], marks):
                mean = xp.sum(K, axis=0) if not data.weighted else w @ K
                sums[p] = sums[p] + mean
                if whole and data.intercept:
                    K = K - (mean / total)[None, :]
                K = K * xp.sqrt(w)[:, None] if data.weighted else K
                Kt = xp.matrix_transpose(K)
                self.A += Kt @ K
                self.b += Kt @ data.T[rows, p, :]
        self.means = None
        if data.intercept:
            self.means = xp.stack(sums) / total
            if not whole:  # T has no mean, so that b needs no correction
                self.A -= total * (xp.matrix_transpose(self.means) @ self.means)
        self.rows = total * P

    @cached_property
    def K(self) -> Array:
        """The Gram matrix of the landmarks, with a little on its diagonal."""
        view, marks = self.data.view, self.marks
        kernel = view.kernel
        xp = namespace(marks.positions)
        whole = xp.astype(marks.whole(kernel.roots_, kernel.gauge_), xp.float64)
        if kernel.window_.radial is None:
            K = kernel.window_._gram(whole, whole)
        else:
            D2 = _squares(whole)
            K = kernel.window_.radial.value(xp.where(D2 > 0, D2, xp.zeros_like(D2)))
        if kernel.position_ is not None:
            K = K * kernel.position_(marks.positions)
        mean = float(xp.sum(xp.linalg.diagonal(K))) / K.shape[0]
        return ridged(K, JITTER * mean * K.shape[0] if kernel.single_ else JITTER * mean)

    @cached_property
    def root(self) -> Array:
        """L with LLᵀ = K."""
        return factor_of(self.K)

    def at(self, alpha: float) -> Array:
        """C with CCᵀ = K_mn K_nm + αK."""
        return factor_of(self.A + alpha * self.K)

    @cached_property
    def reach(self) -> Array:
        """L⁻¹ K_mn K_nm L⁻ᵀ: the moment of the coordinates."""
        turn = namespace(self.A).matrix_transpose
        half = solve_triangular(self.root, self.A)
        return solve_triangular(self.root, turn(half))

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """The eigenvalues of `reach`, and M with rows K_nm M in its eigenvectors."""
        S = self.reach
        S = 0.5 * (S + namespace(S).matrix_transpose(S))
        scale = ROUNDED * float(namespace(S).max(namespace(S).abs(S)))
        s, Q = eigh(S, "moment", drop=False, scale=scale)
        turned = namespace(S).matrix_transpose(self.root)
        return s, solve_triangular(turned, Q, lower=False)

    @property
    def scale(self) -> float:
        """The mean of the diagonal of the smoother's kernel over all rows."""
        xp = namespace(self.A)
        return float(xp.sum(xp.linalg.diagonal(self.reach))) / self.rows or 1.0

    def basis(self, alphas: Sequence[float]) -> Iterator[tuple[Array, Array]]:
        """For every α, M and d with H = K_nm M diag(d) Mᵀ K_mn.

        Several α share the eigenvectors of `reach`; on a device a Cholesky factor each is shorter.
        """
        xp = namespace(self.A)
        if len(alphas) > 1 and not is_foreign(self.A):
            s, M = self.spectrum
            for alpha in alphas:
                yield M, 1.0 / (s + alpha)
            return
        for alpha in alphas:
            turned = xp.matrix_transpose(self.at(alpha))
            eye = like(np.eye(turned.shape[0]), turned)
            yield solve_triangular(turned, eye, lower=False), xp.ones_like(turned[0, :])


def _squares(A: Array) -> Array:
    xp = namespace(A)
    lengths = xp.sum(A * A, axis=1)
    return lengths[:, None] + lengths[None, :] - 2.0 * (A @ xp.matrix_transpose(A))


def factor_of(K: Array) -> Array:
    """The Cholesky factor of K; where rounding made it indefinite, of a little more."""
    xp = namespace(K)
    level, mean = 0.0, float(xp.sum(xp.linalg.diagonal(K))) / K.shape[0]
    for _ in range(8):
        try:
            return PositiveDefinite.of(ridged(K + 0.0, level * mean)).factor
        except np.linalg.LinAlgError:
            level = max(10.0 * level, 1e-13)
    raise ValueError("the landmarks are too much alike: give a smaller rank or length scale.")


@dataclass(frozen=True)
class PlacePart:
    """The directions of the outputs, which no operator turns, and the outputs."""

    b: Array
    T: Array


class Places(Factorization):
    """Solutions at the rank asked for; several ridges are compared at a smaller one."""

    def __init__(self, problem: Problem, kernel: Shared, outputs: Outputs):
        self.problem, self.kernel, self.outputs = problem, kernel, outputs
        self.data = PlaceData(problem, kernel, outputs)
        self.rank = int(self.data.marks.shown.shape[0])

    @cached_property
    def full(self) -> Moments:
        """The moments of all landmarks."""
        return Moments(self.data, self.data.marks)

    @cached_property
    def small(self) -> Moments:
        """The moments of some, for a choice."""
        most = CHOICE_RANK if is_foreign(self.data.X) else HOST_CHOICE_RANK
        if self.rank <= most:
            return self.full
        return Moments(self.data, self.data.marks.first(most))

    @property
    def scale(self) -> float:
        """The mean of the diagonal over all places, as the small fit has it."""
        return self.small.scale

    def solve(self, alpha: float) -> Solution:
        """The map g at one α."""
        full = self.full
        coef = PositiveDefinite(full.at(alpha)).solve(full.b)
        frame, mean = self.outputs.frame, self.outputs.mean
        offset = None
        if mean is not None:
            explained = self._joined((full.means @ coef)[None, :, :])
            offset = mean - explained[0, :]
        map = PlaceMap(self.kernel, full.marks, coef)
        weigher = LeastWeights(frame, self.problem.outputs.items)
        return Solution(PointMap(map, offset, frame, weigher), self.kernel)

    def _joined(self, R: Array) -> Array:
        """Values at the places that count, (n, places, channels), as rows of coordinates."""
        return joined(R, self.data.grid)

    # -- the Gaussian-process view ------------------------------------------------------------

    Q = None

    @property
    def parts(self) -> list[PlacePart]:
        """All output components as directions."""
        T = self.outputs.rows
        return [PlacePart(namespace(T).ones_like(T[0, :]), T)]

    def noise(self, alpha: float) -> float:
        """The variance of the noise that makes the outputs most likely, profiled."""
        full, T = self.full, self.data.T
        xp = namespace(T)
        explained = full.b * PositiveDefinite(full.at(alpha)).solve(full.b)
        rows = (self.data.n - self.problem.intercept) * int(T.shape[1]) * int(T.shape[2])
        return (float(xp.sum(T * T)) - float(xp.sum(explained))) / rows

    # -- left out -----------------------------------------------------------------------------

    def left_out(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[LeftOut]:
        """Left-out predictions, all places of a field (or group) together.

        One ridge is judged at the full rank, several at that of a choice.
        """
        if averaged:
            raise ValueError('generalised cross-validation needs no groups of places: use "loo".')
        alphas = list(alphas)
        yield from self._left_out(alphas, self.full if len(alphas) == 1 else self.small)

    def left_out_quickly(self, alpha: float) -> LeftOut:
        """Left-out predictions at the rank of a choice."""
        return next(self._left_out([alpha], self.small))

    def _left_out(self, alphas: list[float], moments: Moments) -> Iterator[LeftOut]:
        groups = members_by_size(self.problem.left_out_labels)
        found = left_out_residuals(self.data, moments, alphas, groups)
        for alpha, E in zip(alphas, found, strict=True):
            E = self.outputs.unweighted(self._joined(E))
            yield LeftOut(alpha, namespace(E).sum(E * E, axis=1), _Points(self, E))

    def left_out_points(self, E: Array) -> Any:
        """Points whose residuals are E."""
        return self.outputs.points(self.outputs.coordinates - E, self.problem)

    def moves(self, X: Items, alpha: float) -> Iterator[tuple[slice, Array]]:
        """Σ_{i∈G} over all places of what each left-out residual adds at new inputs."""
        full, data = self.full, self.data
        (M, d), xp = next(full.basis([alpha])), namespace(data.X)
        labels = self.problem.left_out_labels
        (E,) = left_out_residuals(data, full, [alpha], members_by_size(labels))
        pulls = []  # of each field on the coordinates of g
        for rows in blocks(data.n, self._fields_at_once()):
            Z = self._centred(data.by_place(np.arange(rows.start, rows.stop), full.marks), rows)
            pulls.append(xp.matrix_transpose((Z @ M) * d) @ E[rows, ...])
        pull = xp.concat(pulls)
        constant = E * like(np.sqrt(data.w)[:, None, None] / data.w.sum(), E)
        if self.problem.groups is not None:
            together = like((labels[:, None] == labels[None, :]).astype(float), E)
            n = data.n
            pull, constant = (
                xp.reshape(together @ xp.reshape(A, (n, -1)), A.shape) for A in (pull, constant)
            )
        A = data.view.inputs.split(like(X, data.X))
        for rows in blocks(count(A), max(1, self._fields_at_once() // data.n)):
            found = sorted(data.view.values(A[rows, ...], full.marks), key=lambda pair: pair[0])
            K = xp.stack([values for _, values in found], axis=1)
            K = K if full.means is None else K - full.means[None, :, :]
            D = (K @ M)[:, None, :, :] @ pull[None, :, :, :]
            D = D + constant[None, :, :, :] if self.problem.intercept else D
            flat = joined(xp.reshape(D, (-1, *D.shape[2:])), data.grid)
            yield rows, xp.reshape(flat, (D.shape[0], data.n, -1))

    def _fields_at_once(self) -> int:
        entries = DEVICE_ENTRIES if is_foreign(self.data.X) else HOST_ENTRIES
        return max(1, entries // (self.rank * int(self.data.T.shape[1])))

    def _centred(self, K: Array, rows: slice) -> Array:
        """Kernel values of training fields less the means of their places."""
        if self.full.means is None:
            return K
        roots = like(np.sqrt(self.data.w[rows])[:, None, None], K)
        return K - roots * self.full.means[None, :, :]

    def variance(self, X: Items, alpha: float) -> Array:
        """(k(x,x) - k_m K⁻¹ k_m) / α + k_m (K_mn K_nm + αK)⁻¹ k_m, and 1/Σw for an intercept."""
        full, view, columns = self.full, self.data.view, []
        C, xp = full.at(alpha), namespace(self.data.X)
        X = view.inputs.split(like(X, self.data.X))
        prior = view.diagonal()
        for p, K in sorted(view.values(X, full.marks), key=lambda pair: pair[0]):
            Kt = xp.matrix_transpose(K)
            lost = prior[p] - xp.sum(solve_triangular(full.root, Kt) ** 2, axis=0)
            if full.means is not None:
                Kt = Kt - full.means[p, :][:, None]
            known = xp.sum(solve_triangular(C, Kt) ** 2, axis=0)
            known = known + self.problem.intercept / self.problem.total
            columns.append(xp.where(lost > 0, lost, xp.zeros_like(lost)) / alpha + known)
        V = xp.stack(columns, axis=1)[:, :, None] + 0.0 * self.data.T[:1, :, :]
        return self._joined(V)


def joined(R: Array, grid: Any) -> Array:
    """Values at the places of a grid that count as rows over all places; others are zero."""
    xp = namespace(R)
    if grid.mask is not None:
        full = like(np.zeros((R.shape[0], grid.size, grid.channels)), R)
        full[:, like_index(grid.live, R), :] = R
        R = full
    return xp.reshape(R, (R.shape[0], -1))


def left_out_residuals(
    data: PlaceData, moments: Moments, alphas: Sequence[float], groups: list[np.ndarray]
) -> list[Array]:
    """(I - H_gg)⁻¹ R_g for every group of fields and every α, in the order of the fields.

    Fields that are in no group have none.
    """
    found: list[list[Array]] = [[] for _ in alphas]
    order: list[np.ndarray] = []
    m, P = moments.marks.shown.shape[0], int(data.T.shape[1])
    entries = DEVICE_ENTRIES if is_foreign(data.X) else HOST_ENTRIES
    bases = list(moments.basis(alphas))
    for same in groups:
        size = same.shape[1]
        width = max(m, size * P)
        for some in blocks(len(same), max(1, entries // (size * P * width))):
            rows = same[some]
            order.append(rows.reshape(-1))
            for own, E in zip(found, _solved(data, moments, bases, rows), strict=True):
                own.append(E)
    xp = namespace(data.X)
    back = np.argsort(np.concatenate(order), kind="stable")
    return [take(xp.concat(parts), back) for parts in found]


def _solved(
    data: PlaceData, moments: Moments, bases: list[tuple[Array, Array]], rows: np.ndarray
) -> Iterator[Array]:
    """The left-out residuals of groups of one size, (fields, places, channels), for every α."""
    xp, (groups, size) = namespace(data.X), rows.shape
    P, channels = int(data.T.shape[1]), int(data.T.shape[2])
    flat = rows.reshape(-1)
    K = data.by_place(flat, moments.marks)
    u = np.sqrt(data.w[rows] / data.w.sum()) if data.intercept else np.zeros(rows.shape)
    if moments.means is not None:
        scale = like(np.sqrt(data.w[flat])[:, None, None], K)
        K = K - scale * moments.means[None, :, :]
    T = xp.reshape(take(data.T, flat), (groups, size * P, channels))
    last, Z = None, K
    for M, d in bases:
        if M is not last:
            Z, last = xp.reshape(K @ M, (groups, size * P, -1)), M
            right = xp.matrix_transpose(M) @ moments.b
        R = T - Z @ (d[:, None] * right)
        E = _woodbury(Z, d, R, u, P) if size * P > Z.shape[2] else _direct(Z, d, R, u, P)
        yield xp.reshape(E, (groups * size, P, channels))


def _direct(Z: Array, d: Array, R: Array, u: np.ndarray, P: int) -> Array:
    """(I - uuᵀ⊗I - Z diag(d) Zᵀ)⁻¹ R, written out."""
    xp, (groups, size) = namespace(Z), u.shape
    rest = -(Z * d) @ xp.matrix_transpose(Z)
    blocks_ = np.eye(size)[None] - u[:, :, None] * u[:, None, :]
    if size == 1:
        rest += like(blocks_, Z) * like(np.eye(P)[None], Z)
    else:
        kron = blocks_[:, :, None, :, None] * np.eye(P)[None, None, :, None, :]
        rest += like(kron.reshape(groups, size * P, size * P), Z)
    return xp.linalg.solve(rest, R)


def _woodbury(Z: Array, d: Array, R: Array, u: np.ndarray, P: int) -> Array:
    """The same by Woodbury's identity, with a matrix as large as the rank."""
    xp, (groups, size) = namespace(Z), u.shape
    gain = u[:, :, None] * u[:, None, :] / (1.0 - (u * u).sum(axis=1))[:, None, None]
    gain_ = like(gain, Z)

    def apart(V: Array) -> Array:
        """(I - uuᵀ⊗I)⁻¹ V."""
        shaped = xp.reshape(V, (groups, size, -1))
        return V + xp.reshape(gain_ @ shaped, V.shape)

    Zt, NR = xp.matrix_transpose(Z), apart(R)
    NZ = apart(Z)
    inner = -(Zt @ NZ) + like(np.eye(int(d.shape[0]))[None], Z) * (1.0 / d)
    return NR + NZ @ xp.linalg.solve(inner, Zt @ NR)


class PlaceMap(FeatureMap):
    """g(x)_p = Σ_l K((x, p), l) c_l over landmarks l."""

    def __init__(self, kernel: Shared, marks: Marks, coef: Array):
        self.kernel = kernel
        self.marks = marks
        self.coef = coef

    def transform(self, A: Items) -> Array:
        """The values at all places of the training grid."""
        kernel = self.kernel
        return joined(self.on(A, kernel.input_grid, kernel.output_grid), kernel.output_grid)

    def on(self, A: Items, inputs: Any, outputs: Any) -> Array:
        """The values at the places of any grid for fields on any grid, (n, places, channels)."""
        view = View(self.kernel, inputs, outputs)
        A = inputs.split(like(A, self.marks.positions))
        xp, m = namespace(A), self.marks.shown.shape[0]
        entries = DEVICE_ENTRIES if is_foreign(A) else HOST_ENTRIES
        parts = []
        for rows in blocks(count(A), max(1, entries // m)):
            values = view.values(A[rows, ...], self.marks)
            found = [(p, K @ self.coef) for p, K in values]
            parts.append(xp.stack([v for _, v in sorted(found, key=lambda f: f[0])], axis=1))
        return parts[0] if len(parts) == 1 else xp.concat(parts)

    @property
    def coefficients(self) -> Array:
        """The c_l, one row a landmark."""
        return self.coef
