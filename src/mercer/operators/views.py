"""Windows of fields around the locations of another grid: the values of `Shared` kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .._base.arrays import Array, blocks, like, namespace
from .._base.memory import ENTRIES
from ..spaces.fields import Grid
from .windows import like_index

if TYPE_CHECKING:
    from .shared import Shared


@dataclass(frozen=True)
class LandmarkWindows:
    """Windows of some fields, with which the windows of other fields are compared.

    Attributes
    ----------
    shown
        Their values times the square roots of the offset weights, (m, offsets · channels).
    inside
        1 for offsets that have a value and 0 for others, (m, offsets).
    positions
        The coordinates of their locations, (m, dimensions).
    """

    shown: Array
    inside: Array
    positions: Array

    def first(self, number: int) -> LandmarkWindows:
        """Return the first `number` windows."""
        return LandmarkWindows(
            self.shown[:number, :], self.inside[:number, :], self.positions[:number, :]
        )

    def with_indicators(self, roots: np.ndarray, gauge: float) -> Array:
        """Return the windows as rows, with gauge · roots appended for offsets outside the field."""
        outside = (1.0 - self.inside) * like(gauge * roots, self.inside)
        return namespace(self.shown).concat([self.shown, outside], axis=1)


class View:
    """The windows of fields on an input grid around the locations of an output grid."""

    def __init__(self, kernel: Shared, inputs: Grid, outputs: Grid):
        self.kernel, self.inputs, self.outputs = kernel, inputs, outputs
        self.windows = kernel.windows(inputs, outputs)

    @cached_property
    def positions(self) -> np.ndarray:
        """Coordinates of the unmasked output locations; on a circle along periodic axes."""
        at, grid = self.outputs.places[self.outputs.live], self.outputs
        columns = []
        for axis, period in enumerate(grid.periods):
            if np.isinf(period):
                columns.append(at[:, axis])
            else:
                turn = 2.0 * np.pi * at[:, axis] / period
                columns += [period / (2 * np.pi) * f(turn) for f in (np.cos, np.sin)]
        return np.stack(columns, axis=1)

    def _centred(self, X: Array) -> Array:
        """Return fields minus the mean of each channel, in single precision if the kernel is."""
        xp = namespace(X)
        X = X - like(self.kernel.shift_, X)
        return xp.astype(X, xp.float32) if self.kernel.single_ else X

    def landmark_windows(self, X: Array, rows: np.ndarray, places: np.ndarray) -> LandmarkWindows:
        """Return windows of the fields X: window i is of field rows[i], at location places[i]."""
        kernel, windows = self.kernel, self.windows
        centre = windows.centre[places]
        xp, parts = namespace(X), []
        X64, X = X, self._centred(X)
        roots = like(kernel.roots_[None, :, None], X)
        step = max(1, ENTRIES // windows.index[0].size)
        for some in blocks(len(rows), step):
            index = like_index(windows.index[centre[some]], X)
            shown = X[like_index(rows[some][:, None, None], X), index]
            weight = like(windows.weight[centre[some]], X)
            shown = xp.sum(shown * weight[:, :, :, None], axis=2) * roots
            parts.append(xp.reshape(shown, (shown.shape[0], -1)))
        shown = xp.concat(parts)
        known = like(windows.inside[centre].astype(float), shown)
        return LandmarkWindows(shown, known, like(self.positions[places], X64))

    def values(self, X: Array, landmarks: LandmarkWindows) -> Iterator[tuple[int, Array]]:
        """Yield the kernel between the windows of all fields at each location and the landmarks.

        Each item is the number of a location and an (n, m) array in float64. Locations that share
        a window follow one another.
        """
        kernel, windows = self.kernel, self.windows
        roots = kernel.roots_
        apart = self._indicator_distances(landmarks)
        lengths = namespace(landmarks.shown).sum(landmarks.shown * landmarks.shown, axis=1)
        shown = namespace(X).reshape(landmarks.shown, (landmarks.shown.shape[0], len(roots), -1))
        near = self._position_kernel(landmarks, X)
        X = self._centred(X)
        xp = namespace(X)
        radial = kernel.window_.radial
        for c, (at, own) in enumerate(windows.on(X, roots)):
            own = xp.reshape(own, (X.shape[0], -1))
            if radial is None:
                K = self._window_kernel(own, np.flatnonzero(windows.inside[c]), c, landmarks)
            else:
                whole = at.shape[0] == len(roots)
                other = shown if whole else xp.take(shown, at, axis=1)
                other = xp.reshape(other, (shown.shape[0], -1))
                D2 = own @ other.T
                D2 *= -2.0
                D2 += xp.sum(own * own, axis=1)[:, None]
                D2 += (lengths + apart[c, :])[None, :]
                K = radial.value(xp.where(D2 > 0, D2, xp.zeros_like(D2)))
            for p in np.flatnonzero(windows.centre == c):
                K64 = xp.astype(K, xp.float64)
                yield int(p), K64 if near is None else K64 * near[int(p), :][None, :]

    def _indicator_distances(self, landmarks: LandmarkWindows) -> Array:
        """Return the squared distances of outside indicators, (centres, landmarks)."""
        inside = like(self.windows.inside.astype(float), landmarks.inside)
        weights = like((self.kernel.gauge_ * self.kernel.roots_) ** 2, inside)
        xp, weighted = namespace(inside), inside * weights
        both = weighted @ landmarks.inside.T
        own, other = xp.sum(weighted, axis=1)[:, None], (landmarks.inside @ weights)[None, :]
        apart = own + other - 2.0 * both
        return xp.where(apart > 0, apart, xp.zeros_like(apart))

    def _position_kernel(self, landmarks: LandmarkWindows, X: Array) -> Array | None:
        """Return the position kernel between all locations and the landmarks, if there is one."""
        if self.kernel.position_ is None:
            return None
        return self.kernel.position_(like(self.positions, X), landmarks.positions)

    def _window_kernel(
        self, own: Array, at: np.ndarray, c: int, landmarks: LandmarkWindows
    ) -> Array:
        """Return the window kernel of fields and landmarks at centre c, if it is not radial."""
        kernel, S = self.kernel, len(self.kernel.roots_)
        xp, n = namespace(own), own.shape[0]
        full = like(np.zeros((n, S, own.shape[1] // max(1, len(at)))), own)
        full[:, like_index(at, own), :] = xp.reshape(own, (n, len(at), -1))
        known = like(np.repeat(self.windows.inside[c : c + 1].astype(float), n, axis=0), own)
        ours = LandmarkWindows(xp.reshape(full, (n, -1)), known, None).with_indicators(
            kernel.roots_, kernel.gauge_
        )
        theirs = landmarks.with_indicators(kernel.roots_, kernel.gauge_)
        return kernel.window_._gram(xp.astype(ours, xp.float64), xp.astype(theirs, xp.float64))

    def diagonal(self) -> np.ndarray:
        """Return K((x, p), (x, p)) for each location p, if the kernel on windows is stationary."""
        near = self.kernel.position_
        return np.ones(len(self.positions)) if near is None else near.diag(self.positions)
