"""The windows of all fields as input rows, in coordinates of landmarks among them."""

from __future__ import annotations

from copy import copy
from math import log
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, count, host, like, namespace, take
from .._base.linalg import solve_triangular
from ..operators.slots import Slots
from ..operators.views import View
from .left_out import Part
from .place_moments import Moments, PlaceData, stacked
from .slotted import Located, SlotInputs

DOMINANT = 1e3
"""Eigenvalues over the ridge that stand for a Cholesky factor, which has none: any number does."""


class WindowInputs(SlotInputs):
    """Rows of coordinates M of the kernel values between windows and landmarks.

    With k the values of a window less the mean of its location, E = √w kᵀM diag(e) and
    z(x) = k(x)ᵀM diag(z). The coordinates are eigenvectors of the moment of L⁻¹k with LLᵀ = K, or
    those of a Cholesky factor at one ridge.

    Parameters
    ----------
    data
        The fields by location.
    moments
        The moments of the landmarks.
    slots
        The field and the location of each row.

    Attributes
    ----------
    M, e, z
        The coordinates, and what multiplies them in E and in z(x).
    known
        At one ridge, what |k(x)ᵀM|² is multiplied by in the prior variance; None for a spectrum.
    """

    held = False
    M: Array
    e: Array
    z: Array
    known: float | None

    def __init__(self, data: PlaceData, moments: Moments, slots: Slots):
        self.data: Any = data
        self.moments: Any = moments
        self.kernel, self.marks = data.kernel, moments.marks
        self.means, self.root = moments.means, moments.root
        self.slots, self.roots = slots, None
        self.weights = data.w[slots.owners] if data.weighted else None
        if self.weights is not None:
            self.roots = like(np.sqrt(self.weights)[:, None], data.X)
        self.set_constants(data.intercept)
        self.complete = self.orthonormal = False
        self.whole = True

    @classmethod
    def spectral(cls, data: PlaceData, moments: Moments, slots: Slots) -> WindowInputs:
        """In eigenvectors of the moment, for every ridge."""
        made = cls(data, moments, slots)
        s, M = moments.spectrum
        kept = np.flatnonzero(host(s) > 0)
        xp = namespace(M)
        made.s, made.M = take(s, kept), xp.matrix_transpose(take(xp.matrix_transpose(M), kept))
        made.e, made.z = made.s**-0.5, made.s**0.5
        made.known = None
        return made

    @classmethod
    def at_ridge(
        cls, data: PlaceData, moments: Moments, slots: Slots, alpha: float, b: float
    ) -> WindowInputs:
        """By a Cholesky factor CCᵀ = K_mn K_nm + (α/b) K, for the kernel times b at one ridge α.

        H = kᵀC⁻ᵀC⁻¹k. Written with equal eigenvalues s of any size, all formulas of a spectrum
        hold, except for the determinant.
        """
        made = cls(data, moments, slots)
        turned = namespace(moments.A).matrix_transpose(moments.at(alpha / b))
        made.M = solve_triangular(turned, like(np.eye(turned.shape[0]), turned), lower=False)
        ones = namespace(turned).ones_like(turned[0, :])
        share = DOMINANT / (DOMINANT + 1.0)
        made.s = (DOMINANT * alpha / b) * ones
        made.e = share**-0.5 * ones
        made.z = ((DOMINANT + 1.0) * alpha / b) * share**0.5 * ones
        made.known = (DOMINANT + 1.0) * alpha / b
        return made

    def log_det(self, b: Array, alpha: float) -> float:
        """Σ log(s b + α) over the coordinates of every direction."""
        if self.known is None:
            return super().log_det(b, alpha)
        xp, m = namespace(self.root), int(self.s.shape[0])
        logs = [float(xp.sum(xp.log(xp.linalg.diagonal(A)))) for A in (self.M, self.root)]
        return int(b.shape[0]) * (m * log(float(b[0])) - 2.0 * sum(logs))

    def _rows(self, K: Array) -> Array:
        """Kernel values times M, one row a window."""
        return namespace(K).reshape(K @ self.M, (-1, self.M.shape[1]))

    def rows(self, index: np.ndarray) -> Array:
        """Some rows of E."""
        locations = self.slots.size // self.slots.n
        fields, at = np.divmod(index, locations)
        needed, where = np.unique(fields, return_inverse=True)
        K = self.data.by_place(needed, self.marks)
        if self.means is not None:
            K = K - like(np.sqrt(self.data.w[needed])[:, None, None], K) * self.means
        return take(self._rows(K), where.reshape(-1) * locations + at) * self.e

    def located(self, X: Items, prior: bool = False) -> Located:
        """Windows of new fields; k(x, x) is exact although the coordinates are not."""
        kernel = self.kernel
        view = View(kernel, kernel.input_grid, kernel.output_grid)
        A, xp = view.inputs.split(like(X, self.root)), namespace(self.root)
        K = stacked(view.values(A, self.marks))
        own = None
        if prior:
            own = like(view.diagonal(), K) - xp.sum(self._solved(K) ** 2, axis=2)
            own = xp.where(own > 0, own, xp.zeros_like(own))
        K = K if self.means is None else K - self.means
        Z = self._rows(K)
        if own is not None:
            if self.known is None:
                added = xp.reshape(xp.sum(self._solved(K) ** 2, axis=2), (-1,))
            else:
                added = self.known * xp.sum(Z * Z, axis=1)
            own = xp.reshape(own, (-1,)) + added
        return Located(Z * self.z, own, self._slots(count(X)))

    def _slots(self, n: int) -> Slots:
        return slots_of(self.kernel, n, self.slots.repeats)

    def _solved(self, K: Array) -> Array:
        """L⁻¹k for all windows."""
        xp = namespace(K)
        flat = xp.matrix_transpose(xp.reshape(K, (-1, K.shape[2])))
        return xp.reshape(xp.matrix_transpose(solve_triangular(self.root, flat)), K.shape)

    def without_rows(self) -> WindowInputs:
        """The same without the training fields."""
        other = copy(self)
        other.data, other.moments, other.weights, other.roots = None, None, None, None
        return other


def slots_of(kernel: Any, n: int, channels: int) -> Slots:
    """One slot for each location that counts."""
    slots = kernel.slots(n)
    return Slots(n, slots.width, channels, slots.live)


def window_part(
    inputs: WindowInputs, T: Array, cross: Array, b: Array, columns: np.ndarray | None = None
) -> Part:
    """The smoother of outputs T, one row a window, of which `cross` is K_mn T."""
    inside = inputs.e[:, None] * (namespace(cross).matrix_transpose(inputs.M) @ cross)
    return Part(inputs, b, T, inside, columns, slots=inputs.slots)
