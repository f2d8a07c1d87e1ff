"""Fields by the law that they obey place by place, learnt from pairs."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._base.arrays import Array, Items, count, host, like, namespace, take
from .._base.parameters import boolean, parameters, positive, whole
from ..decoders import natural
from ..embedding import OrthonormalFrame, PointMap
from ..features import Explicit
from ..kernels import Kernel, Linear, Matern, as_kernel
from ..kernels.fields import FieldL2
from ..operators.windows import like_index
from ..solvers.law_moments import LawFit, LawMoments, binary_unit, damping_of
from ..solvers.local_law import LocalLawMap
from ..solvers.weights import LeastWeights
from ..spaces import Fields
from .base import StructuredEstimator, on_fresh_state, warn_if_constant
from .choice import ridges_of
from .pairs import group_labels

RIDGES = tuple(np.logspace(-10, -3, 8))
"""The ridges to choose from, over the number of windows."""
SCORED, CHECKED = 40, 200
"""Left-out fields that ridges are chosen on, and that errors are reported of."""
BEYOND = 2.0
"""Solutions are damped from this many times the distance of the farthest training field on."""
LOST, FAR = 1.0, 0.5
"""The most that one field counts in a choice, and the error from which a field is far off."""
SCALE = 3.0
"""The default length scale of windows over their median distance."""


@parameters
class LocalLaw(StructuredEstimator):
    """Learn y_p = Σ_o c_o(x around p) y_(p+o) + c(x around p), and solve it for whole fields.

    A pressure, a temperature or a potential depends on all of its input field, but obeys an
    equation that ties each place to its neighbours. The coefficients c_o and c are functions of the
    window of the input around a place, the same at all places, in the space of a kernel on windows:
    ridge regression finds them. A new field is the solution of one sparse linear system.

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
    >>> from mercer.estimators import LocalLaw
    >>> from mercer.metrics import relative_error
    >>> X = np.random.default_rng(0).uniform(1, 2, size=(60, 12))  # springs in a row, fixed ends
    >>> springs = [np.diag(2 + x) - np.eye(12, k=1) - np.eye(12, k=-1) for x in X]
    >>> Y = np.linalg.solve(np.array(springs), np.ones((60, 12, 1)))[:, :, 0]
    >>> model = LocalLaw(rank=40).fit(X[:50], Y[:50])
    >>> bool(relative_error(Y[50:], model.predict(X[50:])) < 1e-3)
    True
    """

    kernel: Any = None
    radius: float | None = None
    reach: float | None = None
    rank: int = 200
    alphas: Any = "auto"
    fields: Fields | None = None
    fit_intercept: bool = False
    n_windows: int = 100_000
    cv: int = 5
    device: str | None = None
    random_state: Any = 0

    dropped: ClassVar[dict[str, str]] = {"outputs_": "the training outputs"}

    @on_fresh_state
    def fit(self, X: Items, y: Items, groups: Items | None = None) -> LocalLaw:
        """Learn the law.

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
        map, Y = self._map(X), self._flat(X, y)
        used = self._used(labels, map, random)
        labels = np.unique(labels[used], return_inverse=True)[1].reshape(-1)
        A, B = map.moved(take(X, used)), map.moved(Y[used])
        self._fit_inputs(map, A, random)
        live = B[:, like_index(map._grid.live, B)]
        unit = binary_unit(live)
        self._limit(map, host(live) / unit)
        self._choose(LawFit(map, A, B / unit), labels, random)
        map.weights[:, 0] *= unit
        map.constant *= unit
        map.centre, map.bound = map.centre * unit, map.bound * unit
        map.marks, map.weights, map.constant = (
            np.ascontiguousarray(host(A)) for A in (map.marks, map.weights, map.constant)
        )
        explicit = Explicit().fit(self.output_kernel_, y)
        frame = OrthonormalFrame(explicit)
        self.points_ = PointMap(map, None, frame, LeastWeights(frame, y))
        self.outputs_, self.decoder_ = y, natural(output).fit(output, y)
        return self

    def _check_parameters(self) -> None:
        """Refuse what would fail later without a name."""
        ridges_of(self)
        if not isinstance(self.fields, Fields | None):
            raise ValueError(
                f"fields must be Fields(...), or None for a grid of spacing one, got "
                f"{self.fields!r}."
            )
        boolean(self.fit_intercept, "fit_intercept")

    def _flat(self, X: Array, y: Array) -> Array:
        grid = (self.fields or Fields()).grid(tuple(X.shape[1:]))
        if tuple(y.shape[1:]) != grid.shape or grid.points is not None:
            raise ValueError(
                f"LocalLaw ties neighbours on the grid of the inputs, {grid.shape}: outputs of "
                f"shape {tuple(y.shape[1:])} are not on it. Use KernelDependency with `Local` or "
                "`Shared`."
            )
        return namespace(y).reshape(y, (y.shape[0], -1))

    def _map(self, X: Array) -> LocalLawMap:
        """Return the map before anything is learnt."""
        fields, shape = self.fields or Fields(), tuple(int(s) for s in X.shape[1:])
        step = float(max(fields.grid(shape).spacing))
        radius = 1.5 * step if self.radius is None else positive(self.radius, "radius")
        reach = step if self.reach is None else positive(self.reach, "reach")
        kernel = Matern(nu=3.5) if self.kernel is None else as_kernel(self.kernel)
        return LocalLawMap(clone(kernel), fields, shape, radius, reach, self.device)

    def _used(self, labels: np.ndarray, map: LocalLawMap, random: Any) -> np.ndarray:
        """Return the fields to learn from, of at least two groups."""
        n, most = len(labels), whole(self.n_windows, "n_windows") // len(map._grid.live)
        most = max(2, most)
        if n <= most:
            return np.arange(n)
        order = random.permutation(n)
        drawn, other = order[:most], order[labels[order] != labels[order[0]]]
        if other[0] not in drawn:  # all are of one group, which cannot be left out
            drawn[-1] = other[0]
        return np.sort(drawn)

    def _fit_inputs(self, map: LocalLawMap, X: Array, random: Any) -> None:
        """Determine how inputs are standardised, landmarks, and the length scale."""
        xp, live = namespace(X), map._grid.split(X)
        if map._grid.mask is not None:
            live = live[:, map._grid.mask, :]
        units = np.array([binary_unit(live[:, :, c]) for c in range(live.shape[2])])
        live = live / like(units, live)
        map.shift = units * [float(v) for v in xp.mean(live, axis=(0, 1))]
        map.spread = units * [float(v) for v in xp.std(live, axis=(0, 1))]
        map.spread[map.spread == 0.0] = 1.0
        places, rank = len(map._grid.live), whole(self.rank, "rank")
        drawn = random.choice(count(X) * places, min(rank, count(X) * places), replace=False)
        rows, at = np.unique(drawn // places, return_inverse=True)
        map.marks = take(map.windows(take(X, rows)), at.reshape(-1) * places + drawn % places)
        map.kernel.fit(map.marks)
        if self.kernel is None:
            map.kernel = Matern(SCALE * map.kernel.length_scale_, nu=3.5).fit(map.marks)

    def _limit(self, map: LocalLawMap, Y: np.ndarray) -> None:
        """Damp solutions that are much farther from the mean than every training field."""
        map.centre = Y.mean(axis=0)
        farthest = float(np.linalg.norm(Y - map.centre, axis=1).max())
        map.bound = BEYOND * (farthest or float(np.linalg.norm(map.centre)) or 1.0)

    def _choose(self, fit: LawFit, labels: np.ndarray, random: Any) -> None:
        """Take the ridge of the smallest left-out error, and learn from all fields."""
        n, alphas = len(labels), list(ridges_of(self))
        if isinstance(self.alphas, str):
            alphas = [float(a) * n * len(fit.map._grid.live) for a in RIDGES]
        order = random.permutation(int(labels.max()) + 1)
        number = min(whole(self.cv, "cv", 2), len(order))
        fold = (np.argsort(order) % number)[labels]
        drawn = random.permutation(n)
        parts = [fit.moments(np.flatnonzero(fold == f)) for f in range(number)]
        moments = sum(parts[1:], start=parts[0])

        def left_out(fields: np.ndarray, ridges: list[float]) -> list[np.ndarray]:
            """Return errors and violations of left-out fields (rows) at some ridges (columns)."""
            folds = [(own, fields[fold[fields] == f]) for f, own in enumerate(parts)]
            found = [
                fit.judged(out, (moments - own).path(ridges, self.fit_intercept))
                for own, out in folds
                if len(out)
            ]
            return [np.concatenate(both) for both in zip(*found, strict=True)]

        errors, _ = left_out(np.sort(drawn[:SCORED]), alphas)
        self.errors_ = np.minimum(errors, LOST).mean(axis=0)
        self._refuse_unless(bool(np.isfinite(errors).all(axis=0).any()))
        self.alpha_ = alphas[int(np.argmin(self.errors_))]
        errors, violated = left_out(np.sort(drawn[:CHECKED]), [self.alpha_])
        self.left_out_errors_ = errors[:, 0]
        self.far_off_ = float(np.mean(self.left_out_errors_ > FAR))
        fit.map.damping = float(damping_of(violated)[0])
        self._learn(fit, moments)

    def _learn(self, fit: LawFit, moments: LawMoments) -> None:
        """Fit the law at the chosen ridge, and check that it has a field for the first input."""
        xp = namespace(fit.X)
        coef, constant = next(moments.path([self.alpha_], self.fit_intercept))
        self._refuse_unless(bool(xp.all(xp.isfinite(coef))))
        errors, _ = fit.judged(np.arange(1), [(coef, constant)])
        self._refuse_unless(bool(np.isfinite(errors).all()))
        fit.map.weights, fit.map.constant = fit.weights(coef), constant * fit.scale

    def _refuse_unless(self, finite: bool) -> None:
        if not finite:
            raise ValueError(
                f"no law has finite fields with alphas={self.alphas!r}: rounding takes small "
                'ridges away. Take larger alphas, or "auto".'
            )

    def _scalar_kernels(self) -> list[Kernel]:
        return [FieldL2(self.fields)]
