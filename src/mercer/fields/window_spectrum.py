"""The spectrum of a Gram matrix over windows of fields, by kernel values with landmarks."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property
from math import log
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._base.arrays import Array, Items, blocks, count, like, namespace, take
from .._base.linalg import PositiveDefinite, triangular_inverse
from ..features import FeatureMap
from ..operators import Slots
from ..solvers import Constants, FittedMap, InputSpectrum, Part, ProjectedInputs
from ..spaces import Grid
from .landmark_moments import LandmarkMoments, TrainingWindows, fields_in_memory
from .shared_on_grids import LandmarkWindows, SharedOnGrids, stack_grid_points

if TYPE_CHECKING:
    from .shared import Shared

DOMINANT = 1e3
"""Ratio of eigenvalues to ridge in the spectrum that stands for a Cholesky factor (arbitrary)."""


class WindowSpectrum(InputSpectrum):
    """Spectrum with one row per window of a training field, at low rank (landmark windows).

    The features f of a window are its kernel values k with the landmarks, minus their mean at the
    grid point. Its row of E is √w fᵀM, and the projection of a new window is z = s ∘ fᵀM. Rows of E
    are computed when they are needed, because all of them may exceed the memory.

    Parameters
    ----------
    windows
        The training windows.
    directions
        The eigenvectors of the channel operator of one part, as columns; None for the channels
        themselves.
    moments
        The moments of their kernel values with landmarks; None for the `choice_moments` of the
        windows.
    """

    in_memory: ClassVar[bool] = False
    slots: Slots
    cached: Any = None
    """The eigenvalues s and the matrix M, once they are computed."""
    determinant: float | None = None
    """log det(b K + αI) at one ridge α and operator eigenvalue b; None for a spectrum."""

    def __init__(
        self,
        windows: TrainingWindows,
        directions: Array | None = None,
        moments: LandmarkMoments | None = None,
    ):
        X, slots = windows.X, windows.slots
        if directions is not None:
            slots = replace(slots, repeats=int(directions.shape[1]))
        self.X: Any = X
        self.slots = slots
        w = None if windows.weights is None else windows.weights[slots.owners]
        self.total = float(slots.size if w is None else w.sum())
        self.roots: Any = None if w is None else like(np.sqrt(w)[:, None], X)
        self.constants = Constants.by_component(slots, w, windows.intercept)
        self.complete = self.orthonormal = False
        self.windows: Any = windows
        self.directions: Any = directions
        self.kernel, self.given_moments = windows.kernel, moments

    @property
    def moments(self) -> LandmarkMoments:
        """The moments of kernel values with landmarks, computed on first use."""
        given = self.given_moments
        return self.windows.choice_moments if given is None else given

    @property
    def factored(self) -> tuple[Array, Array]:
        """The eigenvalues s and the matrix M, which parts share, computed on first use."""
        return self.moments.spectrum if self.cached is None else self.cached

    s = property(lambda self: self.factored[0])
    M = property(lambda self: self.factored[1])

    def at_ridge(self, b: Array, alpha: float) -> InputSpectrum:
        """Return a copy for one alpha, by a Cholesky factor with all landmarks.

        With the moment A, the landmark Gram matrix K and CCᵀ = A + ridge · K, the smoother of
        kernel values k is H = kᵀC⁻ᵀC⁻¹k. With scaled rows and equal eigenvalues s, all formulas of
        a spectrum hold, except for the determinant.
        """
        moments, scale = self.windows.moments, float(b[0])
        ridge = alpha / scale
        C = moments.factor(ridge)
        xp, share = namespace(C.factor), DOMINANT / (DOMINANT + 1.0)
        M = triangular_inverse(xp.matrix_transpose(C.factor), lower=False)
        root = PositiveDefinite(moments.root)
        other = copy(self)
        other.given_moments = moments
        other.cached = DOMINANT * ridge * xp.ones_like(M[0, :]), M * share**-0.5
        other.determinant = C.log_determinant() - root.log_determinant()
        other.determinant += int(M.shape[0]) * log(scale)
        return other

    def log_det(self, b: Array, alpha: float) -> float:
        """Return Σ_pj log(s_p b_j + α), with eigenvalues s of Gram matrix and b of operator."""
        if self.determinant is None:
            return super().log_det(b, alpha)
        return int(b.shape[0]) * self.determinant

    def project_targets(self, T: Array) -> Array:
        """Return EᵀT, the training targets T in the eigenbasis E, from their stored moments."""
        return namespace(self.M).matrix_transpose(self.M) @ self._cross(self.moments)

    def _cross(self, moments: LandmarkMoments) -> Array:
        """Return the moment of kernel values and targets, along `directions` if given."""
        return moments.b if self.directions is None else moments.b @ self.directions

    def solve(self, part: Part, alpha: float, Q: Array | None = None) -> FittedMap:
        """Return the fitted map with all landmarks, and its mean over the training fields.

        Both are in output channels, also if `directions` are given.
        """
        moments, along = self.windows.moments, self.directions
        coef = moments.factor(alpha / float(part.b[0])).solve(self._cross(moments))
        coef = coef if along is None else coef @ namespace(along).matrix_transpose(along)
        mean: Any = 0.0
        if moments.means is not None:
            mean = self.kernel.output_grid.fill((moments.means @ coef)[None, :, :])[0, :]
        return FittedMap(LandmarkFieldMap(self.kernel, moments.landmarks, coef), mean)

    @cached_property
    def on_grids(self) -> SharedOnGrids:
        """The kernel between windows on the grids of the training fields."""
        return self.kernel.on_grids()

    def features(self, X: Items) -> Array:
        """Return the centred kernel values of windows, (fields, grid points, landmarks)."""
        X = like(X, self.moments.gram)
        K = stack_grid_points(self.on_grids.values(X, self.moments.landmarks))
        return K if self.moments.means is None else K - self.moments.means

    def _in_basis(self, F: Array) -> Array:
        """Return the rows of E of windows with features F, without sample weights."""
        return namespace(F).reshape(F, (-1, F.shape[2])) @ self.M

    def rows(self, index: np.ndarray) -> Array:
        """Return the rows `index` of E, computed from the training fields."""
        per_field = self.slots.size // self.slots.n
        fields, at = np.divmod(index, per_field)
        needed, where = np.unique(fields, return_inverse=True)
        E = self._in_basis(self.features(take(self.X, needed)))
        E = take(E, where.reshape(-1) * per_field + at)
        return E if self.roots is None else E * take(self.roots, index)

    def project_inputs(self, X: Items, prior: bool = False) -> ProjectedInputs:
        """Project the windows of new fields on the eigenvectors; `prior` adds prior variances."""
        F = self.features(X)
        E = self._in_basis(F)
        own = self._prior_variances(X, F, E) if prior else None
        slots = replace(self.kernel.slots(count(X)), repeats=self.slots.repeats)
        return ProjectedInputs(E * self.s, own, slots)

    def _prior_variances(self, X: Items, F: Array, E: Array) -> Array:
        """Return the prior variance of each window of fields X, with features F and rows E.

        It is the kernel of the window with itself after centring the landmark features.
        """
        xp, moments = namespace(F), self.moments
        K = F if moments.means is None else F + moments.means
        own = self.on_grids.diagonal(like(X, F))
        own = xp.reshape(own, (-1,)) - moments.sqlengths(K)
        own = xp.where(own > 0, own, xp.zeros_like(own))
        return own + (moments.sqlengths(F) if self.determinant is None else (E * E) @ self.s)

    def without_training_rows(self) -> WindowSpectrum:
        """Return a copy without the training fields; predictions remain available."""
        other = copy(self)
        other.X, other.roots = None, None
        other.cached, other.windows = self.factored, None
        other.given_moments = replace(self.moments, A=None, b=None)
        return other


class LandmarkFieldMap(FeatureMap):
    """The map from fields x to fields g(x)_p = Σ_l K((x, p), l) c_l at grid points p.

    The sum is over the landmark windows l, with coefficients c_l.
    """

    def __init__(self, kernel: Shared, landmarks: LandmarkWindows, coef: Array):
        self.kernel = kernel
        self.landmarks = landmarks
        self.coef = coef

    def transform(self, A: Items) -> Array:
        """Return the predicted fields on the training grid, one row per input."""
        kernel = self.kernel
        return kernel.output_grid.fill(self.predict_on(A, kernel.input_grid, kernel.output_grid))

    def predict_on(self, A: Items, inputs: Grid, outputs: Grid) -> Array:
        """Return predictions on the grid `outputs`, from fields A on the grid `inputs`.

        The result has the shape (n, unmasked grid points, channels).
        """
        on_grids = self.kernel.on_grids(inputs, outputs)
        A = like(A, self.landmarks.positions)
        parts = []
        for rows in blocks(count(A), fields_in_memory(A, self.landmarks.number)):
            values = on_grids.values(A[rows, ...], self.landmarks)
            parts.append(stack_grid_points((p, K @ self.coef) for p, K in values))
        return parts[0] if len(parts) == 1 else namespace(A).concat(parts)

    @property
    def coefficients(self) -> Array:
        """The coefficients c_l, one row per landmark."""
        return self.coef
