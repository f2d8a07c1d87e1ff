"""Local laws: linear equations between each grid point of a field and its neighbours.

The coefficients of the equations depend on a window of the input field. A prediction solves the
equations of all grid points.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.linalg import MatrixRankWarning, spsolve

from .._base.arrays import (
    Array,
    Items,
    blocks,
    count,
    host,
    is_foreign,
    like,
    namespace,
    take_columns,
)
from .._base.checks import Limits, array, bounded, must
from .._base.parameters import parameters
from ..features import FeatureMap
from ..spaces import Fields, Grid
from .windows import Windows, window_offsets

WINDOW_ROWS, DEVICE_ROWS = 2**14, 2**18
"""The number of windows to process at once, on a processor and on an accelerator."""
ROUNDING = 1e-15
"""The smallest damping of a singular linear system, relative to its norm."""
BORDER = 2.0
"""The value that marks grid points inside the field; points outside have 0."""


def neighbourhoods(grid: Grid, radius: float, centre: bool) -> Windows:
    """Return the grid points up to the distance `radius` from each unmasked grid point.

    `centre` includes the grid point itself.
    """
    offsets, relative = window_offsets(grid, grid, radius)
    offsets = offsets if centre else offsets[(offsets != 0).any(axis=1)]
    if not len(offsets):
        raise ValueError(f"no grid point has a neighbour up to a distance of {radius!r}.")
    return Windows.of(grid, grid, offsets, relative)


@dataclass(frozen=True)
class Stencil:
    """The input window and the output neighbours of each grid point, which a local law relates.

    It solves a local law for complete fields, and damps solutions far from the training outputs.

    Attributes
    ----------
    fields, shape
        The space of the input fields, and the shape of one input.
    radius, reach
        The radius of the input window, and that of the output neighbourhood.
    shift, spread
        The mean and the standard deviation of each channel of the inputs.
    centre, bound
        The mean of the training outputs at the unmasked grid points, and the distance from it
        beyond which solutions are damped.
    """

    fields: Fields
    shape: tuple[int, ...]
    radius: float
    reach: float
    shift: np.ndarray
    spread: np.ndarray
    centre: np.ndarray
    bound: float

    def check_loaded(self, limits: Limits) -> None:
        """Raise an error if the grid or the neighbourhoods of a loaded stencil are too large."""
        sizes = isinstance(self.shape, tuple) and 1 <= len(self.shape) <= 4
        must(sizes, "shape is not a tuple of sizes")
        for size in self.shape:
            bounded(size, "shape", 1, limits.size)
        must(isinstance(self.fields, Fields), "fields is not a space of fields")
        number = float(np.prod([float(s) for s in self.shape]))
        for radius in (self.radius, self.reach):
            must(isinstance(radius, float) and radius > 0, "radius and reach are not lengths")
            axes = zip(self.grid.shape, self.grid.spacing, strict=True)
            neighbours = np.prod([2.0 * min(radius / h, n) + 1.0 for n, h in axes])
            must(number * neighbours <= limits.size, "grid points and neighbours are too many")
        array(self.shift, "shift", np.float64, self.grid.channels)
        array(self.spread, "spread", np.float64, self.grid.channels)
        array(self.centre, "centre", np.float64, self.points)
        must(isinstance(self.bound, float) and self.bound > 0, "bound is not a length")

    @cached_property
    def grid(self) -> Grid:
        """The grid of the inputs."""
        return self.fields.grid(self.shape)

    @cached_property
    def window(self) -> Windows:
        """The input window of each grid point, with the grid point itself."""
        return neighbourhoods(self.grid, self.radius, centre=True)

    @cached_property
    def neighbours(self) -> Windows:
        """The output neighbours of each grid point, without the grid point itself."""
        return neighbourhoods(self.grid, self.reach, centre=False)

    @property
    def points(self) -> int:
        """The number of unmasked grid points."""
        return len(self.grid.live)

    def windows(self, A: Array) -> Array:
        """Return the standardised window of each grid point of fields A, with an inside indicator.

        There is one row for each grid point of each field.
        """
        xp = namespace(A)
        A = (self.grid.split(A) - like(self.shift, A)) / like(self.spread, A)
        values = self.window.values(A)
        inside = like(BORDER * self.window.inside[:, :, None], A)
        inside = xp.broadcast_to(inside, (*values.shape[:3], 1))
        width = values.shape[2] * (A.shape[2] + 1)
        return xp.reshape(xp.concat([values, inside], axis=3), (-1, width))

    def at_points(self, Y: Array) -> Array:
        """Return the values of output fields Y (n, size) at the unmasked grid points."""
        return take_columns(Y, self.grid.live)

    def neighbour_values(self, Y: Array) -> Array:
        """Return the values of output fields Y (n, size) at the neighbours of each grid point.

        The result has the shape (n, points, number of neighbours).
        """
        return self.neighbours.values(Y[:, :, None])[:, :, :, 0]

    def regressors_and_target(self, Y: Array) -> tuple[Array, Array]:
        """Return regressors and target of the law's linear regression, for output fields (n, size).

        The regressors are 1, the deviations of the neighbours from their mean, and that mean. The
        target is the output minus the mean of its neighbours. There is one row per grid point.
        """
        xp, values = namespace(Y), self.neighbour_values(Y)
        mean = xp.mean(values, axis=2)[:, :, None]
        regressors = xp.concat([xp.ones_like(mean), values - mean, mean], axis=2)
        target = self.at_points(Y) - mean[:, :, 0]
        return xp.reshape(regressors, (-1, regressors.shape[2])), xp.reshape(target, (-1,))

    def equation(self, C: Array) -> tuple[Array, Array]:
        """Convert regression coefficients C to neighbour weights and constants of the law."""
        xp, deviations, mean = namespace(C), C[:, :, 1:-1], C[:, :, -1:]
        weights = deviations - xp.mean(deviations, axis=2)[:, :, None]
        return weights + (1.0 + mean) / weights.shape[2], C[:, :, 0]

    def violations(self, C: Array, Y: Array) -> np.ndarray:
        """Return the relative residual of each field Y (n, size) in a law with coefficients C."""
        xp, (weights, constants) = namespace(C), self.equation(C)
        outputs = self.at_points(Y)
        rest = host(outputs - xp.sum(weights * self.neighbour_values(Y), axis=2) - constants)
        lengths = np.maximum(np.linalg.norm(host(outputs), axis=1), np.finfo(float).tiny)
        return np.linalg.norm(rest, axis=1) / lengths

    @cached_property
    def sparsity_pattern(self) -> tuple[np.ndarray, np.ndarray]:
        """The row and column indices of the nonzero entries of the linear system."""
        inside, points = self.neighbours.inside, np.arange(self.points)
        unknowns = np.searchsorted(self.grid.live, self.neighbours.index[inside, 0])
        return np.append(np.nonzero(inside)[0], points), np.append(unknowns, points)

    def equation_matrix(self, weights: np.ndarray) -> csc_array:
        """Return the sparse matrix of the equations of one field, given neighbour weights."""
        values = np.append(-weights[self.neighbours.inside], np.ones(self.points))
        return csr_array((values, self.sparsity_pattern), shape=(self.points,) * 2).tocsc()

    def solve(self, C: Array, damping: float | np.ndarray) -> np.ndarray:
        """Return the fields (n, size) that satisfy the laws with coefficients C, one per field.

        C has the shape (n, points, number of coefficients).
        """
        weights, constants = map(host, self.equation(C))
        centre = self.centre / self.bound
        Y = np.zeros((len(weights), self.grid.size))
        for i, level in enumerate(np.broadcast_to(damping, len(weights))):
            right = constants[i] / self.bound
            found = damped_solution(self.equation_matrix(weights[i]), right, centre, level)
            Y[i, self.grid.live] = found * self.bound
        return Y


@parameters
class LocalLawMap(FeatureMap):
    """The map from inputs x to fields y that satisfy a local law at every grid point.

    The law is y_p = Σ_o c_o(x around p) y_(p+o) + c(x around p) for every grid point p, with a sum
    over the offsets o of the neighbours.

    Parameters
    ----------
    stencil : Stencil
        The neighbourhoods, and the solver of the law for whole fields.
    law : FeatureMap
        The coefficients of the law as a function of a window.
    constant : array of shape (points,)
        The constant of each grid point that is added to c.
    damping : float
        The damping of solutions beyond the bound, as in `damped_solution`.
    unit : float
        The unit of the outputs that the solver returns.
    """

    stencil: Stencil
    law: FeatureMap
    constant: Any
    damping: float
    unit: float

    def check_loaded(self, limits: Limits) -> None:
        """Raise an error if coefficients or constants of a loaded map do not fit the stencil."""
        stencil = self.stencil
        number = 2 + stencil.neighbours.index.shape[1]
        array(self.law.coefficients, "law", np.float64, None, number)
        array(self.constant, "constant", np.float64, stencil.points)
        must(isinstance(self.damping, float) and self.damping >= 0, "damping is negative")
        must(isinstance(self.unit, float) and self.unit > 0, "unit is not a positive number")

    def transform(self, A: Items) -> Array:
        """Return the predicted fields, which satisfy the law, one row per input."""
        fields, stencil = like(A, self.law.coefficients), self.stencil
        predictions = []
        for rows in blocks(count(A), fields_at_once(stencil, fields)):
            values = self.law.transform(stencil.windows(fields[rows, ...]))
            C = law_coefficients(values, like(self.constant, fields))
            predictions.append(stencil.solve(C, self.damping))
        Y = self.unit * np.concatenate(predictions)
        return like(Y, A) if is_foreign(A) else Y


def fields_at_once(stencil: Stencil, A: Array) -> int:
    """Return the number of fields whose windows fit into memory at once."""
    return max(1, (DEVICE_ROWS if is_foreign(A) else WINDOW_ROWS) // stencil.points)


def law_coefficients(values: Array, constants: Array) -> Array:
    """Return regression coefficients (n, points, number) from one row of `values` per point.

    `constants` are added to the first coefficient, that of the regressor 1.
    """
    C = namespace(values).reshape(values, (-1, constants.shape[0], values.shape[1]))
    C[:, :, 0] += constants
    return C


def damped_solution(
    A: csc_array, right: np.ndarray, centre: np.ndarray, damping: float
) -> np.ndarray:
    """Solve A y = right, with damping if the solution is farther than 1 from `centre`.

    Such a system is nearly singular, or the field differs from all training fields. The solution
    minimises ‖A y - right‖² + damping ‖y - centre‖², so that
    ‖y - centre‖ ≤ ‖A centre - right‖ / (2 √damping).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csc_array
    >>> from mercer.fields.stencil import damped_solution
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
