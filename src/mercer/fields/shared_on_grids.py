"""Values of a `Shared` kernel between the windows of fields and landmark windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import check_random_state

from .._base.arrays import Array, blocks, count, like, namespace, take_columns
from .._base.memory import ENTRIES
from ..kernels import squared_distances
from ..spaces import Grid
from .windows import Windows, interpolated

if TYPE_CHECKING:
    from .shared import Shared


@dataclass(frozen=True)
class LandmarkWindows:
    """Landmark windows: windows of fields that all other windows are compared with.

    Attributes
    ----------
    values
        Their values times the square roots of the offset weights, (m, offsets, channels).
    outside
        An indicator of the offsets without a value, (m, offsets): the square root of the offset
        weight times a typical deviation of the inputs, and zero at offsets with a value.
    positions
        The coordinates of their grid points, (m, dimensions).
    """

    values: Array
    outside: Array
    positions: Array

    def first(self, number: int) -> LandmarkWindows:
        """Return the first `number` landmark windows."""
        return LandmarkWindows(
            self.values[:number, ...], self.outside[:number, :], self.positions[:number, :]
        )

    @property
    def number(self) -> int:
        """The number of landmark windows."""
        return int(self.values.shape[0])

    @property
    def rows(self) -> Array:
        """The windows as float64 vectors: weighted values, then indicators of missing values."""
        xp = namespace(self.values)
        values = xp.reshape(self.values, (self.number, -1))
        return xp.astype(xp.concat([values, self.outside], axis=1), xp.float64)


class SharedOnGrids:
    """A fitted `Shared` kernel on the windows of input fields around the points of an output grid.

    Parameters
    ----------
    kernel
        The kernel.
    inputs, outputs
        The grids of the input and of the output fields.
    """

    def __init__(self, kernel: Shared, inputs: Grid, outputs: Grid):
        self.kernel, self.inputs, self.outputs = kernel, inputs, outputs
        self.windows = Windows.of(inputs, outputs, kernel.offsets_, kernel.relative_)

    @cached_property
    def positions(self) -> np.ndarray:
        """Coordinates of the unmasked output grid points; on a circle along periodic axes."""
        at, columns = self.outputs.coordinates[self.outputs.live], []
        for axis, period in enumerate(self.outputs.periods):
            if np.isinf(period):
                columns.append(at[:, axis])
            else:
                angle = 2.0 * np.pi * at[:, axis] / period
                columns += [period / (2 * np.pi) * f(angle) for f in (np.cos, np.sin)]
        return np.stack(columns, axis=1)

    @cached_property
    def _outside(self) -> np.ndarray:
        """Weighted indicators of the offsets from each centre that have no value in the field."""
        return self.kernel.gauge_ * self.kernel.roots_ * ~self.windows.inside

    def _centred(self, X: Array) -> Array:
        """Return fields minus the channel means, in float32 if the kernel computes in it."""
        xp = namespace(X)
        X = self.inputs.split(X) - like(self.kernel.shift_, X)
        return xp.astype(X, xp.float32) if self.kernel.single_ else X

    # -- landmarks ----------------------------------------------------------------------------

    def landmark_windows(self, X: Array, rows: np.ndarray, points: np.ndarray) -> LandmarkWindows:
        """Return windows of fields X: window i is of field rows[i], around grid point points[i]."""
        own, size, windows = self._centred(X), self.inputs.size, self.windows
        xp, centre, found = namespace(own), windows.centre[points], []
        flat = xp.reshape(own, (1, -1, own.shape[2]))  # grid points of all fields, end to end
        for some in blocks(len(rows), max(1, ENTRIES // windows.index[0].size)):
            index = rows[some][:, None, None] * size + windows.index[centre[some]]
            found.append(interpolated(flat, index, windows.weight[centre[some]])[0, ...])
        values = xp.concat(found) * like(self.kernel.roots_[:, None], own)
        return LandmarkWindows(
            values, like(self._outside[centre], own), like(self.positions[points], X)
        )

    def draw_windows(self, X: Array, number: int, seed_offset: int = 0) -> LandmarkWindows:
        """Draw `number` windows of the fields X at random, as `draw_window_indices` does."""
        points = len(self.positions)
        chosen = self.draw_window_indices(count(X), number, seed_offset)
        return self.landmark_windows(X, chosen // points, chosen % points)

    def draw_window_indices(self, n: int, number: int, seed_offset: int = 0) -> np.ndarray:
        """Draw `number` of the windows of n fields at random, and return their indices.

        The window of field i around grid point p has the index i · (grid points) + p. An integer
        seed is increased by `seed_offset`.
        """
        seed, total = self.kernel.random_state, n * len(self.positions)
        random = check_random_state(seed + seed_offset if isinstance(seed, int) else seed)
        return random.choice(total, size=min(number, total), replace=False)

    def landmark_gram(self, landmarks: LandmarkWindows) -> Array:
        """Return the Gram matrix of landmark windows."""
        rows, near = landmarks.rows, self.kernel.position_
        K = self.kernel.window_._gram(rows, rows)
        return K if near is None else K * near(landmarks.positions)

    # -- values -------------------------------------------------------------------------------

    def values(self, X: Array, landmarks: LandmarkWindows) -> Iterator[tuple[int, Array]]:
        """Yield kernel values of the windows of fields X and the landmarks, by output grid point.

        Each item is the number of a grid point and an (n, m) array in float64. Grid points that
        share a window follow one another.
        """
        near = self.kernel.position_
        if near is not None:
            near = near(like(self.positions, X), landmarks.positions)
        for c, K in enumerate(self._window_kernels(X, landmarks)):
            xp = namespace(K)
            K = xp.astype(K, xp.float64, copy=False)
            for p in np.flatnonzero(self.windows.centre == c):
                yield int(p), K if near is None else K * near[int(p), :][None, :]

    def _window_kernels(self, X: Array, landmarks: LandmarkWindows) -> Iterator[Array]:
        """Yield values of the window kernel between fields X and landmarks, by window centre."""
        window = self.kernel.window_
        if window.radial is not None:
            for D2 in self._distances_by_centre(X, landmarks):
                yield window.radial.value(D2)
            return
        rows = landmarks.rows
        for own in self._rows_by_centre(X):
            yield window._gram(own, rows)

    def _rows_by_centre(self, X: Array) -> Iterator[Array]:
        """Yield the windows of fields X as vectors, by window centre."""
        fields = np.arange(count(X))
        for c in range(len(self.windows.index)):
            point = np.full(count(X), np.flatnonzero(self.windows.centre == c)[0])
            yield self.landmark_windows(X, fields, point).rows

    def _distances_by_centre(self, X: Array, landmarks: LandmarkWindows) -> Iterator[Array]:
        """Yield squared distances of the windows of fields X from the landmarks, by window centre.

        Only the offsets that have a value at the centre take part in a matrix product.
        """
        X, theirs = self._centred(X), landmarks.values
        xp = namespace(X)
        outside = squared_distances(like(self._outside, theirs), landmarks.outside)
        constant = outside + xp.sum(theirs * theirs, axis=(1, 2))
        for c, (at, own) in enumerate(self.windows.by_centre(X)):
            own = xp.reshape(own * like(self.kernel.roots_[at, None], X), (X.shape[0], -1))
            other = theirs if len(at) == theirs.shape[1] else take_columns(theirs, at)
            D2 = own @ xp.reshape(other, (landmarks.number, -1)).T
            D2 *= -2.0
            D2 += xp.sum(own * own, axis=1)[:, None]
            D2 += constant[c, :]
            yield xp.where(D2 > 0, D2, xp.zeros_like(D2))

    def diagonal(self, X: Array) -> Array:
        """Return the kernel of each window of fields X with itself, (fields, grid points)."""
        near, window, xp = self.kernel.position_, self.kernel.window_, namespace(X)
        if window.radial is not None:
            K = window.radial.value(like(np.zeros((count(X), len(self.positions))), X))
        else:
            own = xp.stack([window.diag(rows) for rows in self._rows_by_centre(X)], axis=1)
            K = take_columns(own, self.windows.centre)
        return K if near is None else K * like(near.diag(self.positions), K)


def stack_grid_points(values: Iterable[tuple[int, Array]]) -> Array:
    """Stack pairs (grid point number, array of fields) to one array (fields, grid points, …)."""
    found = [own for _, own in sorted(values, key=lambda pair: pair[0])]
    return namespace(*found).stack(found, axis=1)
