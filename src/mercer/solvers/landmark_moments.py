"""Moments of the windows of fields: sums of products of their kernel values with landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._base.arrays import (
    Array,
    blocks,
    count,
    host,
    is_foreign,
    like,
    namespace,
    take,
    take_columns,
)
from .._base.linalg import PositiveDefinite, add_ridge, eigh, solve_triangular, triangular_inverse
from ..operators.shared import Shared
from ..operators.shared_on_grids import LandmarkWindows
from ..problem import Problem
from .outputs import OutputRows

ROUNDED = 1e6
"""Bound on the rounding of the coordinate moment: the size of its terms, relative to it."""
JITTER = 1e-10
"""Ridge on the diagonal of the Gram matrix of the landmarks, relative to its mean."""
HOST_ENTRIES, DEVICE_ENTRIES = 2**24, 2**28
"""The number of kernel values in memory at once, on a processor and on an accelerator."""
DOMINANT = 1e3
"""Ratio of eigenvalues to ridge in the spectrum that stands for a Cholesky factor (arbitrary)."""
CHOICE_RANK = 4000
"""The largest number of landmarks for comparing ridges; the final fit uses all landmarks."""
HOST_CHOICE_RANK = 1000
"""The same as `CHOICE_RANK`, without an accelerator."""


class TrainingWindows:
    """The windows of all training fields around the output grid points, and their targets.

    Attributes
    ----------
    X
        The input fields.
    slots
        The field and the grid point of each window.
    T
        The outputs at the grid points minus their means, times the square roots of the sample
        weights; one row per window.
    weights, total
        The sample weight of each field (None for equal weights), and the sum of all weights.
    """

    def __init__(self, problem: Problem, kernel: Shared, output_rows: OutputRows):
        self.kernel, self.on_grids = kernel, kernel.on_grids()
        self.X, self.slots = problem.inputs.items, kernel.slots(problem.n)
        self.T = self.slots.split(output_rows.rows)
        self.weights, self.total = problem.weights, problem.total
        self.intercept = problem.intercept

    @cached_property
    def landmarks(self) -> LandmarkWindows:
        """Landmark windows, drawn at random from all fields and grid points."""
        return self.on_grids.draw(self.X, self.kernel.rank)

    @cached_property
    def moments(self) -> LandmarkMoments:
        """The moments of kernel values with all landmarks."""
        return LandmarkMoments(self, self.landmarks)

    @cached_property
    def choice_moments(self) -> LandmarkMoments:
        """The moments of kernel values with fewer landmarks, for comparing ridge parameters."""
        most = CHOICE_RANK if is_foreign(self.X) else HOST_CHOICE_RANK
        if self.landmarks.number <= most:
            return self.moments
        return LandmarkMoments(self, self.landmarks.first(most))

    def weighted(self, fields: Any, K: Array) -> Array:
        """Return K with the values of each field (first axis) times the root of its weight."""
        if self.weights is None:
            return K
        roots = np.sqrt(self.weights[fields])
        return K * like(roots.reshape(-1, *[1] * (K.ndim - 1)), K)


@dataclass(frozen=True)
class WindowBasis:
    """The eigenbasis E of the windows of training fields, from kernel values with landmarks.

    With kernel values k of a window with all landmarks, minus their mean at the grid point, the row
    of E is √w kᵀM diag(row_scales). A new window has the projection kᵀM diag(new_scales).

    Attributes
    ----------
    landmarks
        The landmark windows.
    means
        The mean kernel values at each grid point; None without an intercept.
    root
        The Cholesky factor L of the landmark Gram matrix LLᵀ.
    s, M, row_scales, new_scales
        The eigenvalues and the matrices of the formulas above.
    targets
        EᵀT for the outputs T of all channels.
    prior_level
        The factor of |kᵀM|² in the prior variance, for a basis for one ridge; None for a spectrum.
    """

    landmarks: LandmarkWindows
    means: Array | None
    root: Array
    s: Array
    M: Array
    row_scales: Array
    new_scales: Array
    targets: Array
    prior_level: float | None = None

    def centred(self, K: Array) -> Array:
        """Return kernel values K (fields, grid points, landmarks) minus the training means."""
        return K if self.means is None else K - self.means

    def coordinates(self, K: Array) -> Array:
        """Return the coordinates kᵀM of windows with centred kernel values k, one row each."""
        return namespace(K).reshape(K @ self.M, (-1, self.M.shape[1]))

    def sqlengths(self, K: Array) -> Array:
        """Return the squared norm of the landmark features L⁻¹k of each window, from K."""
        xp = namespace(K)
        flat = xp.matrix_transpose(xp.reshape(K, (-1, K.shape[2])))
        return xp.sum(solve_triangular(self.root, flat) ** 2, axis=0)


class LandmarkMoments:
    """The moments A = KᵀK and b = KᵀT of weighted kernel values K of windows with landmarks.

    T holds the targets. With an intercept, K is centred at each grid point.

    Parameters
    ----------
    windows
        The training windows.
    landmarks
        The landmark windows.
    """

    def __init__(self, windows: TrainingWindows, landmarks: LandmarkWindows):
        self.windows, self.landmarks = windows, landmarks
        xp, m, points = namespace(windows.X), landmarks.number, len(windows.on_grids.positions)
        self.A: Any = like(np.zeros((m, m)), windows.X)
        self.b: Any = like(np.zeros((m, windows.T.shape[1])), windows.X)
        field_blocks = list(blocks(count(windows.X), fields_in_memory(windows.X, m)))
        sums: Any = [0.0] * points
        for fields in field_blocks:
            self._add_fields(fields, sums, windows.intercept and len(field_blocks) == 1)
        self.means = None
        if windows.intercept:
            self.means = xp.stack(sums) / windows.total
            if len(field_blocks) > 1:  # T has no mean, so that b needs no correction
                self.A -= windows.total * (xp.matrix_transpose(self.means) @ self.means)

    def _add_fields(self, fields: slice, sums: list[Any], centred: bool) -> None:
        """Add the moments of a slice of fields, and their kernel values at grid point p to sums[p].

        With `centred`, the mean kernel values of these fields are subtracted first.
        """
        windows, xp = self.windows, namespace(self.windows.X)
        T = xp.reshape(windows.T, (count(windows.X), -1, windows.T.shape[1]))
        w = None if windows.weights is None else like(windows.weights[fields], windows.X)
        for p, K in windows.on_grids.values(windows.X[fields, ...], self.landmarks):
            total = xp.sum(K, axis=0) if w is None else w @ K
            sums[p] = sums[p] + total
            K = windows.weighted(fields, K - total / windows.total if centred else K)
            self.A += xp.matrix_transpose(K) @ K
            self.b += xp.matrix_transpose(K) @ T[fields, p, :]

    @cached_property
    def K(self) -> Array:
        """The Gram matrix of the landmarks, with a small ridge on its diagonal."""
        K = self.windows.on_grids.landmark_gram(self.landmarks)
        mean = _mean_diagonal(K)
        single = self.windows.kernel.single_
        return add_ridge(K, JITTER * mean * K.shape[0] if single else JITTER * mean)

    @cached_property
    def root(self) -> Array:
        """The Cholesky factor L of the landmark Gram matrix K = LLᵀ."""
        return cholesky_with_jitter(self.K)

    def factor(self, alpha: float) -> PositiveDefinite:
        """Return the Cholesky factor of A + αK, with moment A and landmark Gram matrix K."""
        return PositiveDefinite(cholesky_with_jitter(self.A + alpha * self.K))

    @cached_property
    def spectral_basis(self) -> WindowBasis:
        """The eigenbasis of the low-rank Gram matrix of all windows, for all ridge parameters.

        It is computed from the eigenvectors of the moment L⁻¹A L⁻ᵀ of whitened kernel values.
        """
        xp = namespace(self.A)
        half = solve_triangular(self.root, self.A)
        S = solve_triangular(self.root, xp.matrix_transpose(half))
        S = 0.5 * (S + xp.matrix_transpose(S))
        s, Q = eigh(S, "moment", drop=False, scale=ROUNDED * float(xp.max(xp.abs(S))))
        M = solve_triangular(xp.matrix_transpose(self.root), Q, lower=False)
        kept = np.flatnonzero(host(s) > 0)
        s = take(s, kept)
        return self._basis(s, take_columns(M, kept), s**-0.5, s**0.5)

    def ridge_basis(self, ridge: float) -> WindowBasis:
        """Return a basis for a single ridge, by a Cholesky factor instead of eigenvectors.

        With the moment A, the landmark Gram matrix K and CCᵀ = A + ridge · K, the smoother of
        kernel values k is H = kᵀC⁻ᵀC⁻¹k. With scaled rows and equal eigenvalues s, all formulas of
        a spectrum hold, except for the determinant.
        """
        upper = namespace(self.A).matrix_transpose(self.factor(ridge).factor)
        M = triangular_inverse(upper, lower=False)
        ones, share = namespace(upper).ones_like(upper[0, :]), DOMINANT / (DOMINANT + 1.0)
        level = (DOMINANT + 1.0) * ridge
        scales = share**-0.5 * ones, level * share**0.5 * ones
        return self._basis(DOMINANT * ridge * ones, M, *scales, level)

    def _basis(
        self, s: Array, M: Array, rows: Array, new: Array, prior_level: float | None = None
    ) -> WindowBasis:
        """Return the `WindowBasis` with these eigenvalues, coordinates M and scales."""
        targets = rows[:, None] * (namespace(M).matrix_transpose(M) @ self.b)
        return WindowBasis(
            self.landmarks, self.means, self.root, s, M, rows, new, targets, prior_level
        )


def _mean_diagonal(K: Array) -> float:
    """Return the mean of the diagonal of a square matrix."""
    xp = namespace(K)
    return float(xp.sum(xp.linalg.diagonal(K))) / K.shape[0]


def fields_in_memory(A: Array, entries: int) -> int:
    """Return the number of fields to process at once if each has `entries` kernel values."""
    return max(1, (DEVICE_ENTRIES if is_foreign(A) else HOST_ENTRIES) // entries)


def cholesky_with_jitter(K: Array) -> Array:
    """Return the Cholesky factor of K; add a small ridge if rounding requires it."""
    level, mean = 0.0, _mean_diagonal(K)
    for _ in range(8):
        try:
            return PositiveDefinite.of(add_ridge(K + 0.0, level * mean)).factor
        except np.linalg.LinAlgError:
            level = max(10.0 * level, 1e-13)
    raise ValueError("the landmarks are too similar: give a smaller rank or length scale.")
