"""Moments of the windows of fields: sums of products of their kernel values with landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

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
from .._base.linalg import PositiveDefinite, add_ridge, eigh, solve_triangular
from ..problem import Problem
from ..solvers import OutputRows
from .shared_on_grids import LandmarkWindows

if TYPE_CHECKING:
    from .shared import Shared

ROUNDED = 1e6
"""Bound on the rounding of the coordinate moment: the size of its terms, relative to it."""
JITTER = 1e-10
"""Ridge on the diagonal of the Gram matrix of the landmarks, relative to its mean."""
HOST_ENTRIES, DEVICE_ENTRIES = 2**24, 2**28
"""The number of kernel values in memory at once, on a processor and on an accelerator."""
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
        return self.on_grids.draw_windows(self.X, self.kernel.rank)

    @cached_property
    def moments(self) -> LandmarkMoments:
        """The moments of kernel values with all landmarks."""
        return LandmarkMoments.of(self, self.landmarks)

    @cached_property
    def choice_moments(self) -> LandmarkMoments:
        """The moments of kernel values with fewer landmarks, for comparing ridge parameters."""
        most = CHOICE_RANK if is_foreign(self.X) else HOST_CHOICE_RANK
        if self.landmarks.number <= most:
            return self.moments
        return LandmarkMoments.of(self, self.landmarks.first(most))


@dataclass(frozen=True, eq=False)
class LandmarkMoments:
    """The moments A = KᵀK and b = KᵀT of weighted kernel values K of windows with landmarks.

    T holds the targets. With an intercept, K is centred at each grid point.

    Attributes
    ----------
    landmarks
        The landmark windows.
    gram
        The Gram matrix of the landmarks, with a small ridge on its diagonal.
    means
        The mean kernel values at each grid point; None without an intercept.
    A, b
        The moments.
    """

    landmarks: LandmarkWindows
    gram: Array
    means: Array | None
    A: Array
    b: Array

    @classmethod
    def of(cls, windows: TrainingWindows, landmarks: LandmarkWindows) -> LandmarkMoments:
        """Sum the moments over the windows of all fields."""
        X, on_grids, xp = windows.X, windows.on_grids, namespace(windows.X)
        m, points = landmarks.number, len(on_grids.positions)
        T = xp.reshape(windows.T, (count(X), points, -1))
        A: Any = like(np.zeros((m, m)), X)
        b: Any = like(np.zeros((m, T.shape[2])), X)
        sums: Any = [0.0] * points
        field_blocks = list(blocks(count(X), fields_in_memory(X, m)))
        centred = windows.intercept and len(field_blocks) == 1
        for fields in field_blocks:
            w = None if windows.weights is None else like(windows.weights[fields], X)
            for p, K in on_grids.values(X[fields, ...], landmarks):
                total = xp.sum(K, axis=0) if w is None else w @ K
                sums[p] = sums[p] + total
                K = K - total / windows.total if centred else K
                K = K if w is None else K * xp.sqrt(w)[:, None]
                A += xp.matrix_transpose(K) @ K
                b += xp.matrix_transpose(K) @ T[fields, p, :]
        means = xp.stack(sums) / windows.total if windows.intercept else None
        if windows.intercept and not centred:  # T has no mean, so that b needs no correction
            A -= windows.total * (xp.matrix_transpose(means) @ means)
        gram = on_grids.landmark_gram(landmarks)
        jitter = JITTER * m if windows.kernel.single_ else JITTER
        gram = add_ridge(gram + 0.0, jitter * _mean_diagonal(gram))  # a kernel may store its values
        return cls(landmarks, gram, means, A, b)

    @cached_property
    def root(self) -> Array:
        """The Cholesky factor L of the landmark Gram matrix LLᵀ."""
        return cholesky_with_jitter(self.gram)

    def sqlengths(self, K: Array) -> Array:
        """Return the squared norm of the landmark features L⁻¹k of each window, from K."""
        xp = namespace(K)
        flat = xp.matrix_transpose(xp.reshape(K, (-1, K.shape[2])))
        return xp.sum(solve_triangular(self.root, flat) ** 2, axis=0)

    def factor(self, ridge: float) -> PositiveDefinite:
        """Return the Cholesky factor of A + ridge · K, with the landmark Gram matrix K."""
        return PositiveDefinite(cholesky_with_jitter(self.A + ridge * self.gram))

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues of the low-rank Gram matrix of all windows, and `WindowSpectrum.M`.

        They are computed from the eigenvectors of the moment L⁻¹A L⁻ᵀ of whitened kernel values.
        """
        xp = namespace(self.A)
        half = solve_triangular(self.root, self.A)
        S = solve_triangular(self.root, xp.matrix_transpose(half))
        S = 0.5 * (S + xp.matrix_transpose(S))
        s, Q = eigh(S, "moment", drop=False, scale=ROUNDED * float(xp.max(xp.abs(S))))
        M = solve_triangular(xp.matrix_transpose(self.root), Q, lower=False)
        kept = np.flatnonzero(host(s) > 0)
        s = take(s, kept)
        return s, take_columns(M, kept) * s**-0.5


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
