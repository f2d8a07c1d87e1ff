"""The spectrum of a Gram matrix over windows of fields, by kernel values with landmarks."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property
from math import log
from typing import TYPE_CHECKING, Any

from .._base.arrays import Array, Items, blocks, count, like, namespace
from ..features import FeatureMap
from ..operators.shared import Shared
from ..operators.shared_on_grids import LandmarkWindows, SharedOnGrids, stack_grid_points
from ..operators.slots import Slots
from ..spaces.fields import Grid
from .feature_spectrum import FeatureSpectrum
from .input_spectrum import FittedMap, InputSpectrum, ProjectedInputs
from .landmark_moments import TrainingWindows, WindowBasis, fields_in_memory

if TYPE_CHECKING:
    from .part import Part


class WindowSpectrum(FeatureSpectrum):
    """Spectrum with one row per window of a training field, at low rank (landmark windows).

    Parameters
    ----------
    windows
        The training windows.
    directions
        The eigenvectors of the channel operator of one part, as columns; None for the channels
        themselves.
    basis
        The basis of the windows; None for the spectral basis of `TrainingWindows.choice_moments`.
    """

    slots: Slots

    def __init__(
        self,
        windows: TrainingWindows,
        directions: Array | None = None,
        basis: WindowBasis | None = None,
    ):
        X, slots = windows.X, windows.slots
        if directions is not None:
            slots = replace(slots, repeats=int(directions.shape[1]))
        super().__init__(X, slots, windows.weights, windows.intercept, X)
        self.windows: Any = windows
        self.directions: Any = directions
        self.cached: Any = basis
        self.kernel = windows.kernel

    @property
    def basis(self) -> WindowBasis:
        """The eigenbasis of the training windows, computed on first use."""
        if self.cached is None:
            self.cached = self.windows.choice_moments.spectral_basis
        return self.cached

    s = property(lambda self: self.basis.s)

    def at_ridge(self, b: Array, alpha: float) -> InputSpectrum:
        """Return a copy for one alpha, by a Cholesky factor with all landmarks."""
        other = copy(self)
        other.cached = self.windows.moments.ridge_basis(alpha / float(b[0]))
        return other

    def log_det(self, b: Array, alpha: float) -> float:
        """Return Σ_pj log(s_p b_j + α), with eigenvalues s of Gram matrix and b of operator."""
        basis = self.basis
        if basis.prior_level is None:
            return super().log_det(b, alpha)
        xp, m = namespace(basis.M), int(basis.M.shape[1])
        logs = [float(xp.sum(xp.log(xp.linalg.diagonal(A)))) for A in (basis.M, basis.root)]
        return int(b.shape[0]) * (m * log(float(b[0])) - 2.0 * sum(logs))

    def project_targets(self, T: Array) -> Array:
        """Return EᵀT, the training targets T in the eigenbasis E, from their stored moments."""
        targets = self.basis.targets
        return targets if self.directions is None else targets @ self.directions

    def solve(self, part: Part, alpha: float, Q: Array | None = None) -> FittedMap:
        """Return the fitted map with all landmarks, and its mean over the training fields.

        Both are in output channels, also if `directions` are given.
        """
        moments, along = self.windows.moments, self.directions
        cross = moments.b if along is None else moments.b @ along
        coef = moments.factor(alpha / float(part.b[0])).solve(cross)
        coef = coef if along is None else coef @ namespace(along).matrix_transpose(along)
        mean: Any = 0.0
        if moments.means is not None:
            mean = self.kernel.output_grid.fill((moments.means @ coef)[None, :, :])[0, :]
        return LandmarkFieldMap(self.kernel, moments.landmarks, coef), mean

    @cached_property
    def on_grids(self) -> SharedOnGrids:
        """The kernel between windows on the grids of the training fields."""
        return self.kernel.on_grids()

    def _kernel_values(self, X: Array) -> Array:
        """Return the kernel between the windows of fields X and the landmark windows.

        The result has the shape (fields, grid points, landmarks).
        """
        return stack_grid_points(self.on_grids.values(X, self.basis.landmarks))

    def coordinates(self, X: Items) -> Array:
        """Return the coordinates kᵀM of the windows of fields X, with centred kernel values k."""
        return self.basis.coordinates(self.basis.centred(self._kernel_values(X)))

    @property
    def row_scales(self) -> Array:
        """The factor of each coordinate in E."""
        return self.basis.row_scales

    def project_inputs(self, X: Items, prior: bool = False) -> ProjectedInputs:
        """Project windows of new fields on the eigenvectors; `prior` adds prior variances."""
        basis = self.basis
        X = like(X, basis.root)
        K = self._kernel_values(X)
        centred = basis.centred(K)
        Z, own = basis.coordinates(centred), None
        if prior:
            xp = namespace(K)
            own = xp.reshape(self.on_grids.diagonal(X), (-1,)) - basis.sqlengths(K)
            own = xp.where(own > 0, own, xp.zeros_like(own))
            if basis.prior_level is None:
                own = own + basis.sqlengths(centred)
            else:
                own = own + basis.prior_level * xp.sum(Z * Z, axis=1)
        slots = replace(self.kernel.slots(count(X)), repeats=self.slots.repeats)
        return ProjectedInputs(Z * basis.new_scales, own, slots)

    def without_training_rows(self) -> WindowSpectrum:
        """Return a copy without the training fields; predictions remain available."""
        other: Any = super().without_training_rows()
        other.cached, other.windows = self.basis, None
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
        return kernel.output_grid.fill(self.on(A, kernel.input_grid, kernel.output_grid))

    def on(self, A: Items, inputs: Grid, outputs: Grid) -> Array:
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
