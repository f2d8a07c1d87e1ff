"""Moments of the windows of fields, in kernel values with landmark windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, blocks, count, is_foreign, like, namespace, take
from .._base.linalg import PositiveDefinite, add_ridge, eigh, solve_triangular
from .._base.symmetric import trace
from ..features import FeatureMap
from ..operators.shared import Shared
from ..operators.views import LandmarkWindows, View
from ..operators.windows import like_index
from ..problem import Problem
from .outputs import OutputRows

ROUNDED = 1e6
"""Bound on the size of what the coordinate moment is computed from, relative to it."""
JITTER = 1e-10
"""Ridge on the diagonal of the Gram matrix of the landmarks, relative to its mean."""
HOST_ENTRIES, DEVICE_ENTRIES = 2**24, 2**28
"""Kernel values that are held at once."""


class FieldRows:
    """Input and output fields of a problem, reshaped to one entry per location.

    Attributes
    ----------
    X
        Inputs, (n, locations, channels).
    T
        Outputs less their means, times the roots of the weights, (n, live locations, channels).
    w, weighted
        The sample weights, and whether they are not all one.
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

    @property
    def total(self) -> float:
        """The sum of the sample weights."""
        return float(self.w.sum())

    @cached_property
    def landmarks(self) -> LandmarkWindows:
        """Landmark windows, drawn at random from all fields and locations."""
        locations = len(self.view.windows.centre)
        rows, at = self.kernel.drawn(self.n, locations, self.kernel.rank)
        return self.view.landmark_windows(self.X, rows, at)

    def by_location(self, rows: np.ndarray, landmarks: LandmarkWindows) -> Array:
        """Return weighted kernel values of the fields `rows`, (fields, locations, landmarks)."""
        K = stack_locations(self.view.values(take(self.X, rows), landmarks))
        return K * like(np.sqrt(self.w[rows])[:, None, None], K) if self.weighted else K


@dataclass(frozen=True)
class LandmarkSummary:
    """The landmarks, mean kernel values and Cholesky factor that predictions need."""

    landmarks: LandmarkWindows
    means: Array | None
    root: Array


class LandmarkMoments:
    """The moments K_mn K_nm and K_mn T of windows n, landmarks m and targets T.

    Parameters
    ----------
    data
        The fields.
    landmarks
        The landmark windows.
    """

    def __init__(self, data: FieldRows, landmarks: LandmarkWindows):
        self.data, self.landmarks = data, landmarks
        xp, m = namespace(data.X), landmarks.shown.shape[0]
        self.A: Any = like(np.zeros((m, m)), data.X)
        self.b: Any = like(np.zeros((m, data.T.shape[2])), data.X)
        parts = list(blocks(data.n, fields_in_memory(data.X, m)))
        sums: Any = [0.0] * int(data.T.shape[1])
        for rows in parts:
            for p, total in self._add(rows, centred=data.intercept and len(parts) == 1):
                sums[p] = sums[p] + total
        self.means = None
        if data.intercept:
            self.means = xp.stack(sums) / data.total
            if len(parts) > 1:  # T has no mean, so that b needs no correction
                self.A -= data.total * (xp.matrix_transpose(self.means) @ self.means)

    def _add(self, rows: slice, centred: bool) -> Iterator[tuple[int, Array]]:
        """Add the moments of the fields `rows`; yield each location and its kernel sums."""
        data, xp = self.data, namespace(self.data.X)
        w = like(data.w[rows], data.X)
        for p, K in data.view.values(data.X[rows, ...], self.landmarks):
            total = w @ K if data.weighted else xp.sum(K, axis=0)
            K = K - (total / data.total)[None, :] if centred else K
            K = K * xp.sqrt(w)[:, None] if data.weighted else K
            self.A += xp.matrix_transpose(K) @ K
            self.b += xp.matrix_transpose(K) @ data.T[rows, p, :]
            yield p, total

    @cached_property
    def K(self) -> Array:
        """The Gram matrix of the landmarks, with a small ridge on its diagonal."""
        view, landmarks = self.data.view, self.landmarks
        kernel = view.kernel
        xp = namespace(landmarks.positions)
        whole = xp.astype(landmarks.with_indicators(kernel.roots_, kernel.gauge_), xp.float64)
        if kernel.window_.radial is None:
            K = kernel.window_._gram(whole, whole)
        else:
            D2 = _squared_distances(whole)
            K = kernel.window_.radial.value(xp.where(D2 > 0, D2, xp.zeros_like(D2)))
        if kernel.position_ is not None:
            K = K * kernel.position_(landmarks.positions)
        mean = float(xp.sum(xp.linalg.diagonal(K))) / K.shape[0]
        return add_ridge(K, JITTER * mean * K.shape[0] if kernel.single_ else JITTER * mean)

    def summary(self) -> LandmarkSummary:
        """Return the landmarks, means and Cholesky factor that predictions need."""
        return LandmarkSummary(self.landmarks, self.means, self.root)

    @cached_property
    def root(self) -> Array:
        """The Cholesky factor L of the landmark Gram matrix K = LLᵀ."""
        return cholesky_with_jitter(self.K)

    def at(self, alpha: float) -> Array:
        """Return the Cholesky factor of K_mn K_nm + αK, with K the landmark Gram matrix."""
        return cholesky_with_jitter(self.A + alpha * self.K)

    @cached_property
    def coordinate_moment(self) -> Array:
        """The second moment L⁻¹K_mn K_nm L⁻ᵀ of the whitened kernel values, where LLᵀ = K."""
        turn = namespace(self.A).matrix_transpose
        half = solve_triangular(self.root, self.A)
        return solve_triangular(self.root, turn(half))

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """The eigenvalues of `coordinate_moment`, and M such that K_nm M is in its eigenbasis."""
        S = self.coordinate_moment
        S = 0.5 * (S + namespace(S).matrix_transpose(S))
        scale = ROUNDED * float(namespace(S).max(namespace(S).abs(S)))
        s, Q = eigh(S, "moment", drop=False, scale=scale)
        turned = namespace(S).matrix_transpose(self.root)
        return s, solve_triangular(turned, Q, lower=False)

    @property
    def scale(self) -> float:
        """The mean diagonal entry of the low-rank Gram matrix over all windows."""
        rows = self.data.total * int(self.data.T.shape[1])
        return trace(self.coordinate_moment) / rows or 1.0


def _squared_distances(A: Array) -> Array:
    """Return the squared Euclidean distances between all rows of A."""
    xp = namespace(A)
    lengths = xp.sum(A * A, axis=1)
    return lengths[:, None] + lengths[None, :] - 2.0 * (A @ xp.matrix_transpose(A))


def fields_in_memory(A: Array, entries: int) -> int:
    """Return how many fields to process at once if each has `entries` kernel values."""
    return max(1, (DEVICE_ENTRIES if is_foreign(A) else HOST_ENTRIES) // entries)


def stack_locations(values: Iterable[tuple[int, Array]]) -> Array:
    """Stack pairs (location, array with one row per field) to (fields, locations, …)."""
    found = [own for _, own in sorted(values, key=lambda pair: pair[0])]
    return namespace(*found).stack(found, axis=1)


def cholesky_with_jitter(K: Array) -> Array:
    """Return the Cholesky factor of K, with a small ridge added where rounding requires it."""
    xp = namespace(K)
    level, mean = 0.0, float(xp.sum(xp.linalg.diagonal(K))) / K.shape[0]
    for _ in range(8):
        try:
            return PositiveDefinite.of(add_ridge(K + 0.0, level * mean)).factor
        except np.linalg.LinAlgError:
            level = max(10.0 * level, 1e-13)
    raise ValueError("the landmarks are too similar: give a smaller rank or length scale.")


def rows_on_grid(R: Array, grid: Any) -> Array:
    """Return values at unmasked locations as rows over the whole grid, zero where masked."""
    xp = namespace(R)
    if grid.mask is not None:
        full = like(np.zeros((R.shape[0], grid.size, grid.channels)), R)
        full[:, like_index(grid.live, R), :] = R
        R = full
    return xp.reshape(R, (R.shape[0], -1))


class LandmarkFieldMap(FeatureMap):
    """The fitted map g(x)_p = Σ_l K((x, p), l) c_l at location p, over landmarks l."""

    def __init__(self, kernel: Shared, landmarks: LandmarkWindows, coef: Array):
        self.kernel = kernel
        self.landmarks = landmarks
        self.coef = coef

    def transform(self, A: Items) -> Array:
        """Return the predicted fields on the training grid, one row per input."""
        kernel = self.kernel
        return rows_on_grid(self.on(A, kernel.input_grid, kernel.output_grid), kernel.output_grid)

    def on(self, A: Items, inputs: Any, outputs: Any) -> Array:
        """Predict on the grid `outputs` from fields on the grid `inputs`.

        The shape of the result is (n, locations, channels).
        """
        view = View(self.kernel, inputs, outputs)
        A = inputs.split(like(A, self.landmarks.positions))
        xp, m = namespace(A), self.landmarks.shown.shape[0]
        parts = []
        for rows in blocks(count(A), fields_in_memory(A, m)):
            values = view.values(A[rows, ...], self.landmarks)
            parts.append(stack_locations((p, K @ self.coef) for p, K in values))
        return parts[0] if len(parts) == 1 else xp.concat(parts)

    @property
    def coefficients(self) -> Array:
        """The coefficients c_l, one row per landmark."""
        return self.coef
