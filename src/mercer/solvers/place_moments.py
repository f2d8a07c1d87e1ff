"""Fields by place, the moments of a fit on landmarks among their windows, and its map."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, blocks, count, is_foreign, like, namespace, take
from .._base.linalg import PositiveDefinite, add_ridge, eigh, solve_triangular
from ..features import FeatureMap
from ..operators.shared import Shared
from ..operators.views import LandmarkWindows, View
from ..operators.windows import like_index
from ..problem import Problem
from .outputs import OutputRows

ROUNDED = 1e6
"""How much larger than the moment of the coordinates is what it was computed of, at worst."""
JITTER = 1e-10
"""What is added to the diagonal of the landmarks' Gram matrix, relative to its mean."""
HOST_ENTRIES, DEVICE_ENTRIES = 2**24, 2**28
"""Kernel values that are held at once."""


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

    def __init__(self, problem: Problem, kernel: Shared, outputs: OutputRows, rows: Any = None):
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
    def marks(self) -> LandmarkWindows:
        """All landmarks; the first of them are as good a draw."""
        places = len(self.view.windows.centre)
        rows, at = self.kernel.drawn(self.n, places, self.kernel.rank)
        return self.view.landmark_windows(self.X, rows, at)

    def by_place(self, rows: np.ndarray, marks: LandmarkWindows) -> Array:
        """Return weighted kernel values of some fields, (fields, places, m)."""
        K = stacked(self.view.values(take(self.X, rows), marks))
        return K * like(np.sqrt(self.w[rows])[:, None, None], K) if self.weighted else K


@dataclass(frozen=True)
class LandmarkSummary:
    """What predictions need of the moments of landmarks."""

    marks: LandmarkWindows
    means: Array | None
    root: Array


class PlaceMoments:
    """What a fit on some landmarks needs: K_mn K_nm, K_mn T and the means of each place."""

    def __init__(self, data: PlaceData, marks: LandmarkWindows):
        self.data, self.marks = data, marks
        xp, m = namespace(data.X), marks.shown.shape[0]
        P, channels = int(data.T.shape[1]), int(data.T.shape[2])
        self.A: Any = like(np.zeros((m, m)), data.X)
        self.b: Any = like(np.zeros((m, channels)), data.X)
        sums: Any = [0.0] * P
        parts = list(blocks(data.n, at_once(data.X, m)))
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
        return add_ridge(K, JITTER * mean * K.shape[0] if kernel.single_ else JITTER * mean)

    def summary(self) -> LandmarkSummary:
        """Return what predictions need."""
        return LandmarkSummary(self.marks, self.means, self.root)

    @cached_property
    def root(self) -> Array:
        """L with LLᵀ = K."""
        return factor_of(self.K)

    def at(self, alpha: float) -> Array:
        """Return C with CCᵀ = K_mn K_nm + αK."""
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


def _squares(A: Array) -> Array:
    xp = namespace(A)
    lengths = xp.sum(A * A, axis=1)
    return lengths[:, None] + lengths[None, :] - 2.0 * (A @ xp.matrix_transpose(A))


def at_once(A: Array, entries: int) -> int:
    """Return the number of fields in a block, given the kernel values of each."""
    return max(1, (DEVICE_ENTRIES if is_foreign(A) else HOST_ENTRIES) // entries)


def stacked(values: Iterable[tuple[int, Array]]) -> Array:
    """Return values at places in any order, (fields, …) each, stacked as (fields, places, …)."""
    found = [own for _, own in sorted(values, key=lambda pair: pair[0])]
    return namespace(*found).stack(found, axis=1)


def factor_of(K: Array) -> Array:
    """Return the Cholesky factor of K; where rounding made it indefinite, of a little more."""
    xp = namespace(K)
    level, mean = 0.0, float(xp.sum(xp.linalg.diagonal(K))) / K.shape[0]
    for _ in range(8):
        try:
            return PositiveDefinite.of(add_ridge(K + 0.0, level * mean)).factor
        except np.linalg.LinAlgError:
            level = max(10.0 * level, 1e-13)
    raise ValueError("the landmarks are too much alike: give a smaller rank or length scale.")


def joined(R: Array, grid: Any) -> Array:
    """Return values at live places as rows over all places of the grid, zero elsewhere."""
    xp = namespace(R)
    if grid.mask is not None:
        full = like(np.zeros((R.shape[0], grid.size, grid.channels)), R)
        full[:, like_index(grid.live, R), :] = R
        R = full
    return xp.reshape(R, (R.shape[0], -1))


class PlaceMap(FeatureMap):
    """g(x)_p = Σ_l K((x, p), l) c_l over landmarks l."""

    def __init__(self, kernel: Shared, marks: LandmarkWindows, coef: Array):
        self.kernel = kernel
        self.marks = marks
        self.coef = coef

    def transform(self, A: Items) -> Array:
        """Return the values at all places of the training grid."""
        kernel = self.kernel
        return joined(self.on(A, kernel.input_grid, kernel.output_grid), kernel.output_grid)

    def on(self, A: Items, inputs: Any, outputs: Any) -> Array:
        """Return the values on any grid for fields on any grid, (n, places, channels)."""
        view = View(self.kernel, inputs, outputs)
        A = inputs.split(like(A, self.marks.positions))
        xp, m = namespace(A), self.marks.shown.shape[0]
        parts = []
        for rows in blocks(count(A), at_once(A, m)):
            values = view.values(A[rows, ...], self.marks)
            parts.append(stacked((p, K @ self.coef) for p, K in values))
        return parts[0] if len(parts) == 1 else xp.concat(parts)

    @property
    def coefficients(self) -> Array:
        """The c_l, one row a landmark."""
        return self.coef
