"""Fields that obey an equation between each grid point and its neighbours, learnt from pairs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

import numpy as np
from numpy.random import RandomState
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._base.arrays import (
    Array,
    Items,
    count,
    host,
    is_foreign,
    like,
    namespace,
    take,
    take_columns,
)
from .._base.folds import fold_numbers
from .._base.parameters import boolean, integer, parameters, positive
from ..decoders import natural
from ..embedding import OrthonormalFrame, PointMap
from ..estimators import (
    StructuredEstimator,
    group_labels,
    on_fresh_state,
    warn_if_constant,
)
from ..features import Explicit, FeatureMap, Nystroem
from ..kernels import FieldL2, Kernel, Linear, Matern, as_kernel
from ..problem import positive_alpha
from ..solvers import LeastWeights
from ..spaces import Fields, Grid
from .law_moments import Law, LawRegression, damping_of
from .stencil import LocalLawMap, Stencil

WINDOW_RIDGES = tuple(np.logspace(-10, -3, 8))
"""The ridges to choose from, divided by the number of windows."""
FIELDS_SCORED, FIELDS_CHECKED = 40, 200
"""The numbers of left-out fields for the choice of a ridge, and for the reported errors."""
BEYOND = 2.0
"""Solutions farther from the mean than BEYOND times the farthest training field are damped."""
LARGEST_ERROR, WRONG_ERROR = 1.0, 0.5
"""The largest error of a field that counts in a choice, and the error of a field that is wrong."""
SCALE = 3.0
"""The default length scale of windows, in units of their median distance."""


@parameters
class LocalLaw(StructuredEstimator):
    r"""Model of fields that obey an equation between each grid point and its neighbours.

    Learns :math:`y_p = \sum_o c_o(x \text{ around } p)\, y_{p+o} + c(x \text{ around } p)`, and
    solves it for whole fields. A pressure, a temperature or a potential depends on all of its input
    field, but obeys an equation that relates each grid point to its neighbours. The coefficients
    :math:`c_o` and :math:`c` are functions of the window of the input around a grid point, the same
    at all grid points: ridge regression with a kernel on windows finds them. A new field is the
    solution of one sparse linear system.

    Parameters
    ----------
    kernel : Kernel, default=None
        The kernel on windows, whose values are in standard deviations; None for ``Matern(nu=3.5)``
        with three times the median distance.
    radius : float, default=None
        The radius of the input window, in the units of the fields; None for 1.5 steps.
    reach : float, default=None
        The radius of the output neighbourhood of a grid point; None for one step.
    rank : int, default=200
        The number of landmark windows, drawn at random.
    alphas : float, sequence of float or "auto", default="auto"
        Ridges to choose from by `cv` folds of left-out fields; "auto" for a grid that grows with
        the number of windows.
    fields : Fields, default=None
        The grid of inputs and outputs; None for a grid of spacing one.
    fit_intercept : bool, default=False
        Whether every grid point has its own constant, such as a permanent source; this needs
        hundreds of pairs.
    n_windows : int, default=100000
        The largest number of windows to learn from; with more, some of the fields are drawn.
    cv : int, default=5
        The number of folds.
    device : str, default=None
        A device of PyTorch, such as "cuda"; None for numpy.
    random_state : int, RandomState or None, default=0
        The seed of the windows and the folds.

    Attributes
    ----------
    alpha_
        The ridge.
    errors_
        The mean relative error of left-out fields at every ridge. A field counts at most 1, so that
        the choice does not depend on how far off a few fields are.
    left_out_errors_
        The relative errors of up to 200 left-out fields at the chosen ridge.
    far_off_
        The fraction of those that are more than 50 % off. Compare it with the mean: near a
        resonance, where the system is nearly singular, a few fields are wrong by far.

    Notes
    -----
    Use it where the output at equilibrium obeys a differential equation, on the grid of the input.
    A law that is not local (a wave of which the real part alone is seen, a state at a later time)
    shows in `errors_`: compare them with those of `KernelDependencyCV`. Outputs are zero outside
    the grid, and errors are relative to whole outputs: subtract a large background (a pressure of
    1e6 all over) from outputs first, as it hides a law that fails.

    References
    ----------
    Long, Mrvaljević, Zhe, Hosseini (2022): A kernel approach for PDE discovery and operator
    learning.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.fields import LocalLaw
    >>> from mercer.metrics import relative_error
    >>> X = np.random.default_rng(0).uniform(1, 2, size=(60, 12))  # springs in a row, fixed ends
    >>> springs = [np.diag(2 + x) - np.eye(12, k=1) - np.eye(12, k=-1) for x in X]
    >>> Y = np.linalg.solve(np.array(springs), np.ones((60, 12, 1)))[:, :, 0]
    >>> model = LocalLaw(rank=40).fit(X[:50], Y[:50])
    >>> bool(relative_error(Y[50:], model.predict(X[50:])) < 1e-3)
    True
    """

    kernel: Kernel | str | None = None
    radius: float | None = None
    reach: float | None = None
    rank: int = 200
    alphas: float | Sequence[float] | Array | str = "auto"
    fields: Fields | None = None
    fit_intercept: bool = False
    n_windows: int = 100_000
    cv: int = 5
    device: str | None = None
    random_state: int | np.random.RandomState | None = 0

    @on_fresh_state
    def fit(self, X: Items, y: Items, groups: Items | None = None) -> LocalLaw:
        """Fit the law to input fields X and output fields y on one grid.

        Parameters
        ----------
        X, y
            Fields on the same grid, inputs with any number of channels.
        groups
            A label for each pair: pairs of one label are left out together.
        """
        self._check_parameters()
        inputs, output = FieldL2(self.fields), Linear()
        X, y = self._check_pairs(inputs, output, X, y)
        self.input_kernel_, self.output_kernel_ = inputs.fit(X), output.fit(y)
        warn_if_constant(self.output_kernel_, y)
        labels, random = group_labels(groups, count(y)), check_random_state(self.random_state)
        grid, Y = self._grid(X), self._output_rows(X, y)
        used = self._draw_fields(labels, len(grid.live), random)
        X, Y = self._on_device(take(X, used)), self._on_device(take(Y, used))
        labels = np.unique(labels[used], return_inverse=True)[1].reshape(-1)
        unit = _binary_unit(take_columns(Y, grid.live))
        stencil = self._stencil(X, grid, host(take_columns(Y / unit, grid.live)))
        features = self._features(stencil, X, random)
        folds = fold_numbers(labels, self.cv, random)
        regression = LawRegression(stencil, features, X, Y / unit, folds, self.fit_intercept)
        law, damping = self._choose_ridge(regression, random)
        constants = np.ascontiguousarray(host(law.constants))
        map = LocalLawMap(stencil, features.compose(law.weights), constants, damping, unit)
        frame = OrthonormalFrame(Explicit().fit(self.output_kernel_, y))
        self.points_ = PointMap(map, None, frame, LeastWeights(frame, y))
        self.outputs_, self.decoder_ = y, natural(output).fit(output, y)
        return self

    def _check_parameters(self) -> None:
        """Raise an error for invalid `alphas`, `fields` or `fit_intercept`."""
        self._given_ridges()
        if not isinstance(self.fields, Fields | None):
            raise ValueError(
                f"fields must be Fields(...), or None for a grid of spacing one, got "
                f"{self.fields!r}."
            )
        boolean(self.fit_intercept, "fit_intercept")

    def _grid(self, X: Array) -> Grid:
        """Return the grid of the input fields X."""
        return (self.fields or Fields()).grid(tuple(X.shape[1:]))

    def _output_rows(self, X: Array, y: Array) -> Array:
        """Return the output fields as rows; refuse fields on another grid than the inputs."""
        grid = self._grid(X)
        if tuple(y.shape[1:]) != grid.shape or grid.points is not None:
            raise ValueError(
                f"LocalLaw ties neighbours on the grid of the inputs, {grid.shape}: outputs of "
                f"shape {tuple(y.shape[1:])} are not on it. Use KernelDependency with `Local` or "
                "`Shared`."
            )
        return namespace(y).reshape(y, (y.shape[0], -1))

    def _draw_fields(self, labels: np.ndarray, points: int, random: RandomState) -> np.ndarray:
        """Draw fields of `points` grid points each, of two groups or more; return their indices."""
        n, most = len(labels), max(2, integer(self.n_windows, "n_windows") // points)
        if n <= most:
            return np.arange(n)
        order = random.permutation(n)
        drawn, other = order[:most], order[labels[order] != labels[order[0]]]
        if other[0] not in drawn:  # all are of one group, which cannot be left out
            drawn[-1] = other[0]
        return np.sort(drawn)

    def _on_device(self, A: Array) -> Array:
        """Copy an array to the model's device, if one is given."""
        if self.device is None or is_foreign(A):
            return A
        import torch

        return torch.asarray(A, device=self.device)

    def _stencil(self, X: Array, grid: Grid, Y: np.ndarray) -> Stencil:
        """Return the stencil of a grid, with the mean and standard deviation of each channel of X.

        The standard deviation of a constant channel is replaced by 1. Predicted fields are
        damped if they are much farther from the mean than all outputs Y (at unmasked points).
        """
        step = float(max(grid.spacing))
        radius = 1.5 * step if self.radius is None else positive(self.radius, "radius")
        reach = step if self.reach is None else positive(self.reach, "reach")
        values = take_columns(grid.split(X), grid.live)
        units = np.array([_binary_unit(values[:, :, c]) for c in range(values.shape[2])])
        values = values / like(units, values)
        shift, spread = (
            units * [float(v) for v in made(values, axis=(0, 1))]
            for made in (namespace(X).mean, namespace(X).std)
        )
        spread[spread == 0.0] = 1.0
        shape = tuple(int(s) for s in X.shape[1:])
        centre = Y.mean(axis=0)
        farthest = float(np.linalg.norm(Y - centre, axis=1).max())
        bound = BEYOND * (farthest or float(np.linalg.norm(centre)) or 1.0)
        return Stencil(self.fields or Fields(), shape, radius, reach, shift, spread, centre, bound)

    def _features(self, stencil: Stencil, X: Array, random: RandomState) -> FeatureMap:
        """Draw landmark windows, and return a fitted Nystroem map of windows."""
        points, rank = stencil.points, integer(self.rank, "rank")
        drawn = random.choice(count(X) * points, min(rank, count(X) * points), replace=False)
        fields, number = np.unique(drawn // points, return_inverse=True)
        windows = stencil.windows(take(X, fields))
        landmarks = take(windows, number.reshape(-1) * points + drawn % points)
        return Nystroem(landmarks=landmarks).fit(self._kernel(landmarks), landmarks)

    def _kernel(self, windows: Array) -> Kernel:
        """Return the kernel that compares windows, fitted on the given ones."""
        if self.kernel is not None:
            return clone(as_kernel(self.kernel)).fit(windows)
        median = Matern(nu=3.5).fit(windows).length_scale_
        return Matern(SCALE * median, nu=3.5).fit(windows)

    def _choose_ridge(self, regression: LawRegression, random: RandomState) -> tuple[Law, float]:
        """Choose the ridge by left-out errors; return the law of all fields and its damping."""
        drawn = random.permutation(count(regression.X))
        alphas = self._ridges(len(drawn) * regression.stencil.points)
        errors, _ = regression.left_out_errors(np.sort(drawn[:FIELDS_SCORED]), alphas)
        self.errors_ = np.minimum(errors, LARGEST_ERROR).mean(axis=0)
        self._require_finite(bool(np.isfinite(errors).all(axis=0).any()))
        self.alpha_ = alphas[int(np.argmin(self.errors_))]
        errors, violations = regression.left_out_errors(
            np.sort(drawn[:FIELDS_CHECKED]), [self.alpha_]
        )
        self.left_out_errors_ = errors[:, 0]
        self.far_off_ = float(np.mean(self.left_out_errors_ > WRONG_ERROR))
        law = regression.fit_law(reduce(add, regression.fold_moments), self.alpha_)
        self._require_finite(bool(np.isfinite(host(law.weights)).all()))
        errors, _ = regression.evaluate(np.arange(1), [law])
        self._require_finite(bool(np.isfinite(errors).all()))
        return law, float(damping_of(violations)[0])

    def _ridges(self, windows: int) -> list[float]:
        """Return the ridges to choose from, given the number of windows."""
        given = self._given_ridges()
        return [float(alpha) * windows for alpha in WINDOW_RIDGES] if given is None else given

    def _given_ridges(self) -> list[float] | None:
        """Return the ridges `alphas` as numbers; None for "auto"."""
        if isinstance(self.alphas, str):
            if self.alphas != "auto":
                raise ValueError(f'alphas must be numbers or "auto", got {self.alphas!r}.')
            return None
        if np.size(self.alphas) == 0:
            raise ValueError("alphas is empty: give at least one ridge.")
        return [positive_alpha(alpha) for alpha in np.ravel(self.alphas)]

    def _require_finite(self, finite: bool) -> None:
        """Raise an error unless `finite`, whether predicted fields are finite, is True."""
        if not finite:
            raise ValueError(
                f"no law has finite fields with alphas={self.alphas!r}: small ridges are lost in "
                'rounding. Use larger alphas, or "auto".'
            )

    def _scalar_kernels(self) -> list[Kernel]:
        """Return the unfitted scalar input kernel, as a list of one."""
        return [FieldL2(self.fields)]


def _binary_unit(A: Array) -> float:
    """Return the largest power of two that is at most max |A|; 1 if A is zero."""
    top = float(namespace(A).max(abs(A)))
    return float(np.ldexp(1.0, int(np.frexp(top)[1]) - 1)) if top else 1.0
