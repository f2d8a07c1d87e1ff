"""Laws that fields obey place by place: learnt from windows, solved for whole fields."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.linalg import MatrixRankWarning, spsolve

from .._base.arrays import Array, Items, blocks, count, host, is_foreign, like, namespace
from .._base.checks import Limits, array, bounded, must
from .._base.parameters import parameters
from ..features import FeatureMap
from ..kernels import Kernel
from ..operators.windows import Windows, like_index, stencil
from ..spaces import Fields
from ..spaces.fields import Grid

ROWS, DEVICE_ROWS = 2**14, 2**18
"""Windows that are compared with the landmarks at once."""
DENSE = 2**28
"""Numbers of the systems that are solved together on a device."""
ROUNDING = 1e-15
"""The least damping of a singular system, relative to it."""
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
    centre, bound
        The mean of the training fields at the places that count, and how far from it they are.
    damping
        What solutions beyond the bound are damped by, as `damped_solution` says.
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
    centre: Any = None
    bound: float = 1.0
    damping: float = 0.0

    def check_loaded(self, limits: Limits) -> None:
        """One row a mark, one constant a place; neighbours are no more than a file may ask for."""
        must(
            isinstance(self.shape, tuple) and 1 <= len(self.shape) <= 4,
            "shape is not a tuple of sizes",
        )
        for size in self.shape:
            bounded(size, "shape", 1, limits.size)
        must(isinstance(self.fields, Fields), "fields are none")
        grid, number = self._grid, float(np.prod([float(s) for s in self.shape]))
        for radius in (self.radius, self.reach):
            must(isinstance(radius, float) and radius > 0, "radius and reach are not lengths")
            lines = zip(grid.shape, grid.spacing, strict=True)
            around = np.prod([2.0 * min(radius / h, n) + 1.0 for n, h in lines])
            must(number * around <= limits.size, "places and their neighbours are too many")
        m = len(array(self.marks, "marks", np.float64, None, None))
        array(self.weights, "weights", np.float64, m, 2 + self._near.places.shape[1])
        for name in ("constant", "centre"):
            array(getattr(self, name), name, np.float64, len(grid.live))
        must(isinstance(self.bound, float) and self.bound > 0, "bound is not a length")
        must(isinstance(self.damping, float) and self.damping >= 0, "damping is negative")
        for name in ("shift", "spread"):
            array(getattr(self, name), name, np.float64, grid.channels)
        must(self.device is None or isinstance(self.device, str), "device is not a name")

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
        """Return the fields that obey the law, one row each."""
        given, A = A, self.moved(A)
        marks, weights = like(self.marks, A), like(self.weights, A)
        step = max(1, (DEVICE_ROWS if is_foreign(A) else ROWS) // len(self.constant))
        found = []
        for rows in blocks(count(A), step):
            K = self.kernel._gram(self.windows(A[rows, ...]), marks)
            found.append(self.solved(self.law(K, weights, like(self.constant, A))))
        return namespace(A).concat(found) if is_foreign(given) else host(namespace(A).concat(found))

    def moved(self, A: Array) -> Array:
        """Return an array on the device, where there is one."""
        if self.device is None or is_foreign(A):
            return A
        import torch

        return torch.asarray(A, device=self.device)

    def law(self, K: Array, weights: Array, constant: Array) -> Array:
        """Those of the law at every place, (n, places, 2 + neighbours), of kernel values."""
        C = namespace(K).reshape(K @ weights, (-1, constant.shape[0], weights.shape[1]))
        C[:, :, 0] += constant
        return C

    def equation(self, C: Array) -> tuple[Array, Array]:
        """Return the weights of the neighbours of each place, and the constant, of a law."""
        xp, deviations, mean = namespace(C), C[:, :, 1:-1], C[:, :, -1:]
        own = deviations - xp.mean(deviations, axis=2)[:, :, None]
        return own + (1.0 + mean) / own.shape[2], C[:, :, 0]

    def violations(self, C: Array, Y: Array) -> np.ndarray:
        """By how much fields (n, size) violate a law, relative to their lengths."""
        xp, (own, right) = namespace(C), self.equation(C)
        live = xp.take(Y, like_index(self._grid.live, Y), axis=1)
        near = self._near.on(Y[:, :, None])[:, :, :, 0]
        rest = host(live - xp.sum(own * near, axis=2) - right)
        lengths = np.maximum(np.linalg.norm(host(live), axis=1), np.finfo(float).tiny)
        return np.linalg.norm(rest, axis=1) / lengths

    def solved(self, C: Array, damping: Any = None) -> Array:
        """Return the fields of coefficients, flat; zero at masked places."""
        own, right = self.equation(C)
        damping = np.broadcast_to(self.damping if damping is None else damping, len(C))
        solve = self._by_tables if is_foreign(C) else self._by_rows
        Y = solve(own, right, damping)
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

    def _by_rows(self, own: np.ndarray, right: np.ndarray, damping: np.ndarray) -> np.ndarray:
        """One sparse system after the other."""
        right, centre = right / self.bound, self.centre / self.bound
        systems = zip(own, right, damping, strict=True)
        found = [damped_solution(self._system(a), b, centre, d) for a, b, d in systems]
        return np.stack(found) * self.bound

    def _system(self, own: np.ndarray) -> csc_array:
        """Return the matrix of the law of one field."""
        inside, P = self._near.inside, own.shape[0]
        rows = np.append(np.nonzero(inside)[0], np.arange(P))
        columns = np.append(self._columns[inside], np.arange(P))
        values = np.append(-own[inside], np.ones(P))
        return csr_array((values, (rows, columns)), shape=(P, P)).tocsc()

    def _within_bound(self, Y: Array, own: Array, right: Array, damping: np.ndarray) -> Array:
        """Solutions of dense systems; those beyond the bound are solved again, damped."""
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm((host(Y) - self.centre) / self.bound, axis=1)
        for i in np.flatnonzero(~(lengths <= 1.0)):
            one = slice(i, i + 1)
            again = self._by_rows(host(own[one, ...]), host(right[one, ...]), damping[one])
            Y[one, ...] = like(again, Y)
        return Y

    def _by_tables(self, own: Array, right: Array, damping: np.ndarray) -> Array:
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
        return self._within_bound(xp.concat(found), own, right, damping)


def damped_solution(
    A: csc_array, right: np.ndarray, centre: np.ndarray, damping: float
) -> np.ndarray:
    """Solve A y = right, damped where the solution is farther than 1 from the centre.

    Such a system is nearly singular, or the field is unlike any before. The damped solution
    minimises ‖A y - right‖² + damping ‖y - centre‖², so that
    ‖y - centre‖ ≤ ‖A centre - right‖ / (2 √damping).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csc_array
    >>> from mercer.solvers.local_law import damped_solution
    >>> nearly_singular = csc_array(np.diag([4.0, 1e-9]))
    >>> damped_solution(nearly_singular, np.ones(2), np.zeros(2), 1e-6).round(3)
    array([0.25 , 0.001])
    """
    with warnings.catch_warnings(), np.errstate(over="ignore"):
        warnings.simplefilter("ignore", MatrixRankWarning)
        y = spsolve(A, right)
        if not np.isfinite(A.data).all() or np.linalg.norm(y - centre) <= 1.0:
            return y
    N = (A.T @ A).tocsc()
    shift = max(damping, ROUNDING * float(abs(N).sum(axis=0).max()))
    N = (N + shift * eye_array(len(right), format="csc")).tocsc()
    return centre + spsolve(N, A.T @ (right - A @ centre), permc_spec="MMD_AT_PLUS_A")
