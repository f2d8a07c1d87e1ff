"""The windows of all fields as input rows, in coordinates of landmarks among them."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from math import log
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, count, host, is_foreign, like, namespace, take
from .._base.linalg import PositiveDefinite, solve_triangular
from ..operators.slots import Slots
from ..operators.views import View
from .inputs import FittedMap, InputSpectrum, Located
from .landmark_moments import FieldRows, LandmarkFieldMap, LandmarkMoments, stack_locations
from .slot_inputs import SlotInputs

DOMINANT = 1e3
"""Eigenvalues over the ridge that represent a Cholesky factor; any number serves."""
CHOICE_RANK = 4000
"""The most landmarks that several ridges are chosen with; the last fit has all."""
HOST_CHOICE_RANK = 1000
"""The same without an accelerator."""


class Landmarks:
    """Landmark moments: of all landmarks, and of fewer for comparing ridge parameters."""

    def __init__(self, data: FieldRows):
        self.data = data

    @cached_property
    def full(self) -> LandmarkMoments:
        """The moments of all landmarks."""
        return LandmarkMoments(self.data, self.data.landmarks)

    @cached_property
    def small(self) -> LandmarkMoments:
        """The moments of a subset of landmarks, used to compare ridge parameters."""
        most = CHOICE_RANK if is_foreign(self.data.X) else HOST_CHOICE_RANK
        if int(self.data.landmarks.shown.shape[0]) <= most:
            return self.full
        return LandmarkMoments(self.data, self.data.landmarks.first(most))


class WindowInputs(SlotInputs):
    """Inputs with one row per window of a field, in coordinates of landmark windows.

    With k the values of a window less the mean of its location, E = √w kᵀM diag(e) and
    z(x) = k(x)ᵀM diag(z). The coordinates are eigenvectors of the moment of L⁻¹k with LLᵀ = K, or
    those of a Cholesky factor at one ridge, at the full rank.

    Parameters
    ----------
    landmarks
        The moments of the landmarks.
    slots
        The field and the location of each row.
    directions
        Eigenvectors of the operator over channels as columns, those of the part that has these
        inputs; None for the channels themselves.

    Attributes
    ----------
    prior_level
        At one ridge, what |k(x)ᵀM|² is multiplied by in the prior variance; None for a spectrum.
    used, known
        The moments in use, if not those of a choice; the coordinates, once they are computed.
    """

    in_memory = False
    prior_level: float | None = None
    used: Any = None
    known: Any = None

    def __init__(self, landmarks: Landmarks, slots: Slots, directions: Array | None = None):
        data = landmarks.data
        self.data: Any = data
        self.landmarks: Any = landmarks
        self.directions: Any = directions
        self.kernel, self.slots = data.kernel, slots
        self.weights = data.w[slots.owners] if data.weighted else None
        if self.weights is not None:
            self.roots = like(np.sqrt(self.weights)[:, None], data.X)
        self.set_constants(data.intercept)
        self.complete = self.orthonormal = False
        self.all_rows = True

    @property
    def moments(self) -> Any:
        """The landmark moments in use: by default the smaller set."""
        return self.landmarks.small if self.used is None else self.used

    @property
    def coordinates(self) -> tuple[Array, Array, Array, Array]:
        """The eigenvalues s, the coordinate matrix M, and the column scales of E and of z(x)."""
        if self.known is None:
            self.known = self._factor()
        return self.known

    def _factor(self) -> tuple[Array, Array, Array, Array]:
        """Compute `coordinates` from the spectrum of the landmark moments."""
        s, M = self.moments.spectrum
        kept = np.flatnonzero(host(s) > 0)
        xp = namespace(M)
        s, M = take(s, kept), xp.matrix_transpose(take(xp.matrix_transpose(M), kept))
        return s, M, s**-0.5, s**0.5

    s = property(lambda self: self.coordinates[0])

    def at_ridge(self, b: Array, alpha: float) -> InputSpectrum:
        """Return a copy factored by Cholesky for this alpha, with all landmarks.

        The factor is CCᵀ = K_mn K_nm + (α/b) K.

        H = kᵀC⁻ᵀC⁻¹k. Written with equal eigenvalues s of any size, all formulas of a spectrum
        hold, except for the determinant.
        """
        other, ridge = copy(self), alpha / float(b[0])
        other.used = self.landmarks.full
        upper = namespace(b).matrix_transpose(other.moments.at(ridge))
        M = solve_triangular(upper, like(np.eye(upper.shape[0]), upper), lower=False)
        ones, share = namespace(upper).ones_like(upper[0, :]), DOMINANT / (DOMINANT + 1.0)
        other.prior_level = (DOMINANT + 1.0) * ridge
        e, z = share**-0.5 * ones, other.prior_level * share**0.5 * ones
        other.known = DOMINANT * ridge * ones, M, e, z
        return other

    def log_det(self, b: Array, alpha: float) -> float:
        """Return Σ_pj log(s_p b_j + α) over eigenvalues s of the inputs and b of the operator."""
        if self.prior_level is None:
            return super().log_det(b, alpha)
        root, M = self.moments.root, self.coordinates[1]
        xp, m = namespace(root), int(M.shape[1])
        logs = [float(xp.sum(xp.log(xp.linalg.diagonal(A)))) for A in (M, root)]
        return int(b.shape[0]) * (m * log(float(b[0])) - 2.0 * sum(logs))

    def _landmark_targets(self) -> Array:
        """Return K_mn T, the landmark-window kernel matrix times the targets."""
        b = self.moments.b
        return b if self.directions is None else b @ self.directions

    def project(self, T: Array) -> Array:
        """Return EᵀT, the training targets T in the eigenbasis E, from their stored moments."""
        _, M, e, _ = self.coordinates
        return e[:, None] * (namespace(M).matrix_transpose(M) @ self._landmark_targets())

    def solve(self, smoother: Any, alpha: float, Q: Array | None = None) -> FittedMap:
        """Return the fitted map with all landmarks, by a Cholesky factor, and its training mean."""
        full = self.landmarks.full
        cross = full.b if self.directions is None else full.b @ self.directions
        coef = PositiveDefinite(full.at(alpha / float(smoother.b[0]))).solve(cross)
        mean = 0.0 if full.means is None else full.means @ coef
        return LandmarkFieldMap(self.kernel, full.landmarks, coef), mean

    def _rows(self, K: Array) -> Array:
        """Return K @ M, kernel values in the coordinates M, one row per window."""
        M = self.coordinates[1]
        return namespace(K).reshape(K @ M, (-1, M.shape[1]))

    def rows(self, index: np.ndarray) -> Array:
        """Return the rows `index` of the eigenvector matrix E."""
        locations = self.slots.size // self.slots.n
        fields, at = np.divmod(index, locations)
        needed, where = np.unique(fields, return_inverse=True)
        K, means = self.data.by_location(needed, self.moments.landmarks), self.moments.means
        if means is not None:
            K = K - like(np.sqrt(self.data.w[needed])[:, None, None], K) * means
        return take(self._rows(K), where.reshape(-1) * locations + at) * self.coordinates[2]

    def locate(self, X: Items, prior: bool = False) -> Located:
        """Project the windows of new fields on the eigenbasis; `prior` adds exact variances."""
        kernel, means, xp = self.kernel, self.moments.means, namespace(self.moments.root)
        view = View(kernel, kernel.input_grid, kernel.output_grid)
        A = view.inputs.split(like(X, self.moments.root))
        K = stack_locations(view.values(A, self.moments.landmarks))
        own = None
        if prior:
            own = like(view.diagonal(), K) - xp.sum(self._whitened(K) ** 2, axis=2)
            own = xp.where(own > 0, own, xp.zeros_like(own))
        K = K if means is None else K - means
        Z = self._rows(K)
        if own is not None:
            if self.prior_level is None:
                added = xp.reshape(xp.sum(self._whitened(K) ** 2, axis=2), (-1,))
            else:
                added = self.prior_level * xp.sum(Z * Z, axis=1)
            own = xp.reshape(own, (-1,)) + added
        return Located(Z * self.coordinates[3], own, slots_of(kernel, count(X), self.slots.repeats))

    def _whitened(self, K: Array) -> Array:
        """Return L⁻¹k for the kernel values k of each window (LLᵀ: landmark Gram matrix)."""
        xp = namespace(K)
        flat = xp.matrix_transpose(xp.reshape(K, (-1, K.shape[2])))
        return xp.reshape(xp.matrix_transpose(solve_triangular(self.moments.root, flat)), K.shape)

    def without_rows(self) -> WindowInputs:
        """Return a copy without the training fields; predictions remain available."""
        other = copy(self)
        other.known, other.used = self.coordinates, self.moments.summary()
        other.data, other.landmarks, other.weights, other.roots = None, None, None, None
        return other


def slots_of(kernel: Any, n: int, channels: int) -> Slots:
    """Return the slots of n fields, one for each unmasked location."""
    slots = kernel.slots(n)
    return Slots(n, slots.width, channels, slots.live)
