"""Laws that fields obey place by place: learnt from windows, solved for whole fields."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import MatrixRankWarning, spsolve

from .._arrays import Array, Items, blocks, count, host, is_foreign, like, namespace
from .._checks import Limits, array, bounded, must
from .._parameters import parameters
from ..features import FeatureMap
from ..kernels import Kernel
from ..operators.windows import Windows, like_index, stencil
from ..spaces import Fields
from ..spaces.fields import Grid

ROWS, DEVICE_ROWS = 2**14, 2**18
"""Windows that are compared with the landmarks at once."""
DENSE = 2**28
"""Numbers of the systems that are solved together on a device."""
BORDER = 2.0
"""How far apart a place inside the field and one outside are, in standard deviations."""


class Neighbours(NamedTuple):
    """The positions of the places around each place that counts, and which of them there are."""

    places: np.ndarray
    inside: np.ndarray

    @classmethod
    def of(cls, grid: Grid, radius: float, centre: bool) -> Neighbours:
        """Those up to a distance, with or without the place itself."""
        offsets, relative = stencil(grid, grid, radius)
        offsets = offsets if centre else offsets[(offsets != 0).any(axis=1)]
        if not len(offsets):
            raise ValueError(f"no place has a neighbour up to a distance of {radius!r}.")
        windows = Windows.of(grid, grid, offsets, relative)
        return cls(windows.index[windows.centre][:, :, 0], windows.inside[windows.centre])

    def on(self, A: Array) -> Array:
        """Their values in fields (n, size, channels): (n, places, neighbours, channels), or 0."""
        xp, (P, S) = namespace(A), self.places.shape
        seen = xp.take(A, like_index(self.places.reshape(-1), A), axis=1)
        seen = xp.reshape(seen, (A.shape[0], P, S, A.shape[2]))
        return seen * like(self.inside[:, :, None].astype(float), A)


@parameters
class LocalLawMap(FeatureMap):
    """The fields y with y_p = Σ_o c_o(x around p) y_(p+o) + c(x around p) at every place p.

    Parameters
    ----------
    kernel
        The kernel on windows, fitted.
    fields, shape
        What inputs are fields on, and the shape of an input.
    radius, reach
        How far windows of inputs and neighbours of outputs go.
    device
        Where fields are computed; None for numpy.
    shift, spread
        The mean and standard deviation of each channel of the inputs.
    marks
        The windows that others are compared with.
    weights
        (marks, 2 + neighbours): for the constant, the deviations of neighbours from their mean,
        and that mean, to which one is added.
    constant
        What is added to c at each place.
    """

    kernel: Kernel
    fields: Fields
    shape: tuple[int, ...]
    radius: float
    reach: float
    device: str | None = None
    shift: Any = None
    spread: Any = None
    marks: Any = None
    weights: Any = None
    constant: Any = None

    def check_loaded(self, limits: Limits) -> None:
        """One row a mark, one constant a place; neighbours are no more than a file may ask for."""
        must(isinstance(self.shape, tuple) and 1 <= len(self.shape) <= 4, "shape is no shape")
        for size in self.shape:
            bounded(size, "shape", 1, limits.size)
        must(isinstance(self.fields, Fields), "fields are none")
        grid, number = self._grid, float(np.prod([float(s) for s in self.shape]))
        for radius in (self.radius, self.reach):
            must(isinstance(radius, float) and radius > 0, "radius and reach are no lengths")
            lines = zip(grid.shape, grid.spacing, strict=True)
            around = np.prod([2.0 * min(radius / h, n) + 1.0 for n, h in lines])
            must(number * around <= limits.size, "places and their neighbours are too many")
        m = len(array(self.marks, "marks", np.float64, None, None))
        array(self.weights, "weights", np.float64, m, 2 + self._near.places.shape[1])
        array(self.constant, "constant", np.float64, len(grid.live))
        for name in ("shift", "spread"):
            array(getattr(self, name), name, np.float64, grid.channels)
        must(self.device is None or isinstance(self.device, str), "device is no name")

    # -- what places see ------------------------------------------------------------------------

    @cached_property
    def _grid(self) -> Grid:
        return self.fields.grid(self.shape)

    @cached_property
    def _seen(self) -> Neighbours:
        return Neighbours.of(self._grid, self.radius, centre=True)

    @cached_property
    def _near(self) -> Neighbours:
        return Neighbours.of(self._grid, self.reach, centre=False)

    def __getstate__(self) -> dict:
        return {name: value for name, value in vars(self).items() if name[0] != "_"}

    def windows(self, A: Array) -> Array:
        """Standardised values around every place, and where the field ends, (n · places, …)."""
        xp = namespace(A)
        A = (self._grid.split(A) - like(self.shift, A)) / like(self.spread, A)
        shown = self._seen.on(A)
        inside = like(BORDER * self._seen.inside[None, :, :, None], A)
        inside = inside + 0.0 * shown[:, :, :, :1]
        return xp.reshape(
            xp.concat([shown, inside], axis=3), (-1, shown.shape[2] * (A.shape[2] + 1))
        )

    def neighbours(self, Y: Array) -> tuple[Array, Array]:
        """Of outputs (n, size): deviations of neighbours, their mean; and what is over that mean.

        (n · places, neighbours + 1) and (n · places,).
        """
        xp, live = namespace(Y), like_index(self._grid.live, Y)
        near = self._near.on(Y[:, :, None])[:, :, :, 0]
        mean = xp.mean(near, axis=2)[:, :, None]
        over = xp.take(Y, live, axis=1) - mean[:, :, 0]
        own = xp.concat([near - mean, mean], axis=2)
        return xp.reshape(own, (-1, own.shape[2])), xp.reshape(over, (-1,))

    # -- fields -------------------------------------------------------------------------------

    def transform(self, A: Items) -> Array:
        """The fields that obey the law, one row each."""
        given, A = A, self.moved(A)
        marks, weights = like(self.marks, A), like(self.weights, A)
        step = max(1, (DEVICE_ROWS if is_foreign(A) else ROWS) // len(self.constant))
        found = []
        for rows in blocks(count(A), step):
            K = self.kernel._gram(self.windows(A[rows, ...]), marks)
            found.append(self.solved(self.law(K, weights, like(self.constant, A))))
        return namespace(A).concat(found) if is_foreign(given) else host(namespace(A).concat(found))

    def moved(self, A: Array) -> Array:
        """An array on the device, where there is one."""
        if self.device is None or is_foreign(A):
            return A
        import torch

        return torch.asarray(A, device=self.device)

    def law(self, K: Array, weights: Array, constant: Array) -> Array:
        """Those of the law at every place, (n, places, 2 + neighbours), of kernel values."""
        C = namespace(K).reshape(K @ weights, (-1, constant.shape[0], weights.shape[1]))
        C[:, :, 0] += constant
        return C

    def solved(self, C: Array) -> Array:
        """The fields of coefficients, flat; zero at masked places."""
        xp, deviations, mean = namespace(C), C[:, :, 1:-1], C[:, :, -1:]
        own = deviations - xp.mean(deviations, axis=2)[:, :, None]
        own = own + (1.0 + mean) / own.shape[2]
        right = C[:, :, 0]
        Y = self._by_tables(own, right) if is_foreign(C) else self._by_rows(own, right)
        if self._grid.mask is None:
            return Y
        full = like(np.zeros((Y.shape[0], self._grid.size)), Y)
        full[:, like_index(self._grid.live, Y)] = Y
        return full

    @cached_property
    def _columns(self) -> np.ndarray:
        """The unknown that each neighbour of each place is."""
        number = np.zeros(self._grid.size, dtype=np.intp)
        number[self._grid.live] = np.arange(len(self._grid.live))
        return number[self._near.places]

    def _by_rows(self, own: np.ndarray, right: np.ndarray) -> np.ndarray:
        """One sparse system after the other."""
        inside, P = self._near.inside, right.shape[1]
        rows = np.append(np.nonzero(inside)[0], np.arange(P))
        columns = np.append(self._columns[inside], np.arange(P))
        found = np.empty_like(right)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MatrixRankWarning)  # gives NaN, which no choice takes
            for i, one in enumerate(own):
                values = np.append(-one[inside], np.ones(P))
                system = csr_array((values, (rows, columns)), shape=(P, P)).tocsc()
                found[i] = spsolve(system, right[i])
        return found

    def _by_tables(self, own: Array, right: Array) -> Array:
        """Several systems at once, written out."""
        xp, (n, P) = namespace(own), right.shape
        inside, last = self._near.inside, P * own.shape[2]
        table = np.full((P, P), last)
        at = np.nonzero(inside)
        table[at[0], self._columns[inside]] = at[0] * own.shape[2] + at[1]
        table[np.arange(P), np.arange(P)] = last + 1
        where, found = like_index(table.reshape(-1), own), []
        ends = like(np.array([[0.0, 1.0]]), own)
        for rows in blocks(n, max(1, DENSE // P**2)):
            flat = xp.reshape(-own[rows, ...], (-1, last))
            flat = xp.concat([flat, ends + 0.0 * flat[:, :1]], axis=1)
            systems = xp.reshape(xp.take(flat, where, axis=1), (-1, P, P))
            found.append(xp.linalg.solve(systems, right[rows, :, None])[:, :, 0])
        return xp.concat(found)
