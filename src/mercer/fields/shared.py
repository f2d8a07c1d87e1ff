"""Operators between fields whose weights are shared by all grid points."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

import numpy as np
from sklearn.base import clone

from .._base.arrays import Array, Items, count, namespace, take, take_columns
from .._base.checks import Limits, bounded, must
from .._base.parameters import parameters
from .._base.statistics import repeat_by_weight
from ..kernels import FieldL2, Kernel, as_kernel
from ..operators import (
    BlockGram,
    CoupledKernel,
    DenseGram,
    Slots,
    field_grids,
    proximity,
)
from ..problem import Problem, Want
from ..solvers import Cache, Factorization, OutputRows
from ..spaces import Fields, Grid
from .own_solver import require_own_solver
from .shared_on_grids import SharedOnGrids, stack_grid_points
from .shared_solver import factor_shared
from .windows import window_offsets

SINGLE = 2**31
"""Fits of more multiplications than this compute the distances of windows in float32.

Kernel values then have errors of about 1e-6 of the largest; moments are always sums in float64.
"""
SAMPLED_WINDOWS = 1000
"""The number of windows that length scales are determined on."""
OPEN = "auto"


@parameters
class Shared(CoupledKernel):
    r"""Kernel of fields in which all grid points share one learnt map of the windows around them.

    :math:`K((x, p), (x', q)) = k_{\text{window}}(x \text{ around } p, x' \text{ around } q) \cdot
    k_{\text{position}}(p, q)` at grid points :math:`p` and :math:`q`.

    Every grid point of every output field is an example, and its input is the window of the input
    field around it. Offsets in a window have the weights
    :math:`\omega = \exp(-d^2 / 2\,\text{width}^2) + \text{floor}` at the distance :math:`d`. The
    fit is of low rank, with randomly drawn windows as landmarks, and windows are never all in
    memory.

    Parameters
    ----------
    window : Kernel or str, default="auto"
        The kernel on windows; "auto" is a `Matern` kernel of chosen length scale.
    position : Kernel, str or None, default="auto"
        The kernel on the coordinates of grid points; None for a map that is the same at all grid
        points; "auto" as above.
    width : float, str or None, default="auto"
        The standard deviation of the weights of offsets, in the units of the fields; None for
        equal weights; "auto" for a choice by left-out fields.
    floor : float or str, default="auto"
        A number that is added to the weights of all offsets; "auto" as above.
    radius : float or None, default=None
        The farthest offset of a window, in the units of the fields; None for the whole field.
    rank : int, default=4000
        The number of landmarks.
    fields, output_fields : Fields or None, default=None
        The grids of inputs and outputs; None for grids of spacing one. Axes match by name.
        Windows are interpolated where output grid points lie between input grid points.
    output_shape : sequence of int or None, default=None
        The shape of an output array; None for that of the training outputs.
    random_state : int, RandomState or None, default=0
        Seeds the landmarks.
    operator : array, float or None, default=None
        B over the channels of outputs, a symmetric positive semidefinite matrix that multiplies the
        kernel, or a positive number that does, as in ``2.0 * Shared()``; None for the identity.

    Attributes
    ----------
    window_, position_
        The kernels, fitted.
    offsets_, roots_
        The offsets of a window, and the roots of their weights.

    Notes
    -----
    The mean of the inputs is subtracted from windows. Outside the field, and at masked grid points,
    a window is zero, and has an indicator as large as a typical deviation. Coordinates along
    periodic axes are those of points on a circle.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> from mercer.fields import Shared
    >>> from mercer.spaces import Fields
    >>> X = np.random.default_rng(0).normal(size=(40, 8))
    >>> Y = np.roll(X, 1, axis=1) ** 2  # a local law, the same everywhere
    >>> ring = Fields(periodic=("x",))
    >>> kernel = Shared(RBF(2.0), None, 1.0, 0.0, radius=1, fields=ring, output_fields=ring)
    >>> model = KernelDependency(kernel, alpha=1e-3).fit(X[:30], Y[:30])
    >>> bool(np.abs(model.predict(X[30:]) - Y[30:]).mean() < 0.1)
    True
    """

    window: Kernel | str = OPEN
    position: Kernel | str | None = OPEN
    width: float | str | None = OPEN
    floor: float | str = OPEN
    radius: float | None = None
    rank: int = 4000
    fields: Fields | None = None
    output_fields: Fields | None = None
    output_shape: Sequence[int] | None = None
    random_state: int | np.random.RandomState | None = 0
    operator: Array | float | None = None

    offsets_ = np.empty((0, 0))
    output_shape_ = tuple[int, ...]()

    def _input_kernel(self) -> Kernel:
        """Return a `FieldL2` kernel, whose `check` validates input fields."""
        return FieldL2(self.fields)

    @property
    def open_parameters(self) -> list[str]:
        """The names of the parameters that are "auto", which an estimator has to choose."""
        given = self.get_params(deep=False)
        names = ("window", "position", "width", "floor")
        return [name for name in names if isinstance(given[name], str)]

    # -- grids --------------------------------------------------------------------------------

    @property
    def input_grid(self) -> Grid:
        """The grid of the training inputs."""
        return (self.fields or Fields()).grid(self.input_shape_)

    @property
    def output_grid(self) -> Grid:
        """The grid of the training outputs."""
        return (self.output_fields or Fields()).grid(self.output_shape_)

    def on_grids(self, inputs: Grid | None = None, outputs: Grid | None = None) -> SharedOnGrids:
        """Return the fitted kernel on two grids, by default those of the training fields."""
        return SharedOnGrids(self, inputs or self.input_grid, outputs or self.output_grid)

    # -- fit ----------------------------------------------------------------------------------

    def fit(self, X: Items, V: Array, weights: Array | None = None) -> Shared:
        """Determine the offsets in a window, and fit both kernels on a sample of windows."""
        super().fit(X, V, weights)
        if names := self.open_parameters:
            raise ValueError(f"{names[0]}='auto' is chosen in the fit of an estimator.")
        inputs, outputs = field_grids(self, X.shape[1:], self.width_)
        self.input_shape_, self.output_shape_ = inputs.array_shape, outputs.array_shape
        self.offsets_, self.relative_ = window_offsets(inputs, outputs, self.radius)
        squares = (self.offsets_[:, self.relative_] ** 2).sum(axis=1)
        self.roots_ = np.sqrt(proximity(squares, self.width, self.floor))
        counted = X if weights is None else take(X, repeat_by_weight(weights))
        self._standardize(inputs.split(counted), inputs)
        self.single_ = False
        on_grids = self.on_grids(inputs, outputs)
        sample = on_grids.draw_windows(X, SAMPLED_WINDOWS, seed_offset=1)
        self.window_ = clone(as_kernel(self.window)).fit(sample.rows)
        self.position_ = None
        if self.position is not None:
            self.position_ = clone(as_kernel(self.position)).fit(on_grids.positions)
        return self

    def fitted_on(self, problem: Problem, output_rows: OutputRows) -> Shared:
        """Return a copy fitted on all inputs; large problems use float32 distances."""
        fitted = clone(self).fit(problem.inputs.items, output_rows.rows, problem.weights)
        size = float(problem.n) * fitted.output_grid.size * fitted.rank * len(fitted.roots_)
        fitted.single_ = size > SINGLE and fitted.window_.radial is not None
        return fitted

    def factor(self, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Factor a problem with this kernel: windows of fields are its rows, at low rank."""
        require_own_solver(problem, want)
        return factor_shared(problem, cache)

    def _standardize(self, X: Array, inputs: Grid) -> None:
        """Store the mean of each input channel, and one standard deviation for all channels."""
        xp = namespace(X)
        live = X if inputs.mask is None else take_columns(X, inputs.live)
        mean = xp.mean(live, axis=(0, 1))
        self.shift_ = np.asarray([float(m) for m in mean])
        self.gauge_ = float(xp.sqrt(xp.mean((live - mean) ** 2))) or 1.0

    def scaled(self, factor: float) -> Shared:
        """Return a copy whose operator over channels is multiplied by `factor`."""
        given = 1.0 if self.operator is None else self.operator
        return clone(self).set_params(operator=factor * given)

    @property
    def scale(self) -> float:
        """The number that multiplies the kernel: the operator if that is a number, else 1."""
        if not isinstance(self.operator, Real):
            return 1.0
        scale = float(self.operator)
        if not 0 < scale < float("inf"):
            raise ValueError(f"a kernel is scaled by a positive number, got {scale!r}.")
        return scale

    def channel_operator(self) -> np.ndarray | None:
        """Return the checked operator matrix over output channels; None if it is a number."""
        if self.operator is None or isinstance(self.operator, Real):
            return None
        B, channels = np.asarray(self.operator, dtype=float), self.output_grid.channels
        if B.shape != (channels, channels) or not np.allclose(B, B.T):
            raise ValueError(f"operator must be a symmetric matrix of {channels} channels.")
        if np.linalg.eigvalsh(B)[0] < -1e-10 * np.abs(B).max():
            raise ValueError("operator must be positive semidefinite: it has negative eigenvalues.")
        return B

    def check_loaded(self, limits: Limits) -> None:
        """Check a loaded kernel: its shapes are valid, and its windows are not too large."""
        if not len(self.offsets_):
            return
        shapes = {"input_shape_": self.input_shape_, "output_shape_": self.output_shape_}
        for name, shape in shapes.items():
            must(isinstance(shape, tuple) and 1 <= len(shape) <= 4, f"{name} is not a shape")
            for size in shape:
                bounded(size, name, 1, limits.size)
            must(float(np.prod([float(s) for s in shape])) <= limits.size, f"{name} is too large")
        pairs = float(len(self.roots_)) * self.output_grid.size
        must(pairs <= limits.size, "windows and grid points together are too many")

    # -- values -------------------------------------------------------------------------------

    def gram(self, A: Items, B: Items | None = None) -> BlockGram:
        """Return the dense Gram matrix over all grid points of all fields."""
        if self.channel_operator() is not None:
            raise ValueError("Shared(operator=…) stands alone: sums take it without an operator.")
        on_grids, B = self.on_grids(), A if B is None else B
        m, P = count(B), len(on_grids.positions)
        every = on_grids.landmark_windows(B, np.repeat(np.arange(m), P), np.tile(np.arange(P), m))
        G = stack_grid_points(on_grids.values(A, every))
        G = namespace(G).reshape(G, (count(A) * P, m * P))
        return DenseGram(self.scale * G, self.slots(count(A)), self.slots(m))

    def slots(self, n: int) -> Slots:
        """Return the slots of n fields: the output channels at each unmasked grid point."""
        grid = self.output_grid
        live = None
        if grid.mask is not None:
            live = (np.arange(n)[:, None] * grid.size + grid.live).reshape(-1)
        return Slots(n, grid.size, grid.channels, live)
