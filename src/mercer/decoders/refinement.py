"""Decoders of vectors that start at the best candidate and increase its score."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize

from .._base.arrays import Array, Items, host, like, namespace, one, put, take
from .._base.checks import Limits, bounded
from .._base.parameters import parameters
from ..embedding import Embedding
from ..kernels import Kernel
from ..kernels.distances import squared_distances
from .base import Decoder, Ranked, restore, unsuited_kernel
from .candidates import Candidates


@parameters
class Refinement(Decoder):
    """A decoder that improves the best candidate by ascent on the pre-image objective.

    The objective is 2⟨g, Φ(y)⟩ - l(y, y), with g the predicted point.

    Attributes
    ----------
    supported
        A description of the output kernels that the decoder supports, for error messages.
    """

    has_ranked_lists = True

    supported: ClassVar[str]

    start: Candidates | None = None
    max_iter: int = 100
    tol: float = 1e-6

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` if there are more steps than the limits allow."""
        bounded(self.max_iter, "max_iter", 0, limits.steps)

    def fit(self, kernel: Kernel, y: Items) -> Refinement:
        """Fit the `Candidates` decoder that provides the starting outputs."""
        if not kernel.on_vectors or not self._suits(kernel):
            raise unsuited_kernel(self, kernel, self.supported)
        if self.max_iter < 0 or self.tol < 0:
            raise ValueError(f"max_iter and tol must not be negative, got {self}.")
        start = Candidates() if self.start is None else self.start
        self.start_ = type(start)(**start.get_params(deep=False)).fit(kernel, y)
        self.kernel_: Any = kernel
        self.sample_ = take(y, [0])
        return self

    def _suits(self, kernel: Kernel) -> bool:
        """Return whether this decoder can optimise outputs under the given kernel."""
        raise NotImplementedError

    def decode(self, points: Embedding) -> Array:
        """Return for each predicted point the best candidate after refinement."""
        starts = self.kernel_.check(self.start_.decode(points), "y")
        return restore(self._refine(points, starts), self.sample_)

    def decode_top(self, points: Embedding, k: int) -> list[Ranked]:
        """Return for each predicted point the best `k` candidates after refinement, with scores."""
        ranked = self.start_.decode_top(points, k)
        refined: list[Ranked] = [[] for _ in ranked]
        for place in range(max(map(len, ranked))):  # fewer than k where candidates are few
            rows = [t for t, row in enumerate(ranked) if place < len(row)]
            some = Embedding(take(points.coordinates, rows), points.frame)
            starts = namespace(self.sample_).stack([ranked[t][place][0] for t in rows])
            ends = self._refine(some, self.kernel_.check(starts, "y"))
            objective = PreimageObjective.of(self.kernel_, some)
            scores = objective.values(ends) - objective.least
            ends = restore(ends, self.sample_)
            for j, t in enumerate(rows):
                refined[t].append((one(ends, j), float(scores[j])))
        return [sorted(row, key=lambda pair: -pair[1]) for row in refined]

    def _refine(self, points: Embedding, starts: Array) -> Array:
        """Return the refined outputs, or the starts where refinement does not raise the score."""
        objective = PreimageObjective.of(self.kernel_, points)
        ends = self._climb(objective, starts)
        xp = namespace(ends)
        better = objective.values(ends) > objective.values(starts)
        return xp.where(better[:, None], ends, starts)

    def _climb(self, objective: PreimageObjective, Y: Array) -> Array:
        """Return outputs with a higher objective, starting from the rows of Y."""
        raise NotImplementedError


@dataclass(frozen=True)
class PreimageObjective:
    """The pre-image objective 2⟨g, Φ(y)⟩ - l(y, y) + constant, for a batch of points g.

    Each point has one output y. The constant is the smallest l(y_i, y_i) of the outputs y_i that
    the points are sums of: next to l(y, y) itself, small inner products would be rounded away.
    """

    kernel: Any
    weights: Array
    outputs: Array
    least: float

    @classmethod
    def of(cls, kernel: Any, points: Embedding) -> PreimageObjective:
        """Return the objective of points that are weighted sums of output features Φ(y_i)."""
        weights, outputs = points.frame.expansion(points.coordinates)
        outputs = kernel.check(outputs, "y")
        norms = kernel._diag(outputs)
        return cls(kernel, weights, outputs, float(namespace(norms).min(norms)))

    def rows(self, index: np.ndarray) -> PreimageObjective:
        """Return the objective restricted to the points at positions `index`."""
        return replace(self, weights=take(self.weights, index))

    def values(self, Y: Array) -> Array:
        """Return the objective of each predicted point at its output, a row of Y."""
        K = self.kernel._gram(Y, self.outputs)
        above = self.kernel._diag(Y) - self.least
        return 2.0 * namespace(K).sum(self.weights * K, axis=1) - above

    def gradient(self, Y: Array) -> Array:
        """Return the gradients of the objective at the outputs in the rows of Y, one per point."""
        ones = namespace(Y).ones_like(Y[:, 0])
        derivative = self.kernel.item_gradient
        inner = derivative.vjp(Y, self.outputs, self.weights)
        return 2.0 * inner - derivative.diag_vjp(Y, ones)


class FixedPoint(Refinement):
    r"""A decoder that refines candidates by fixed-point iteration, for radial output kernels.

    :math:`y = \sum_i c_i s(y, y_i) y_i / \sum_i c_i s(y, y_i)`. For the RBF, :math:`s` is the
    kernel itself (Schölkopf et al. 1999; Mika et al. 1999). Weights may be negative, so a step that
    lowers :math:`\langle g, \Phi(y) \rangle` is halved until it does not; where the denominator is
    negative the step is taken the other way, which is again uphill.

    Parameters
    ----------
    start : Candidates or None, default=None
        The `Candidates` to start from; None for the training outputs.
    max_iter : int, default=100
        The largest number of steps.
    tol : float, default=1e-6
        The iteration of a point stops when its objective gains less than `tol` times its value.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.decoders import FixedPoint
    >>> model = KernelDependency("rbf", output_kernel="rbf", alpha=0.1, decoder=FixedPoint())
    >>> _ = model.fit([[0.0], [1.0], [2.0]], [[0.0], [1.0], [2.0]])
    >>> model.predict([[0.5]]).round(1)
    array([[0.5]])
    """

    supported = "of the distance, such as RBF"
    HALVINGS = 12

    def _suits(self, kernel: Kernel) -> bool:
        """Return whether the kernel is a function of the Euclidean distance."""
        return kernel.radial is not None

    def _climb(self, objective: PreimageObjective, Y: Array) -> Array:
        """Return the outputs after fixed-point iterations from the rows of Y."""
        Y = Y + 0.0
        value = objective.values(Y)
        active = np.arange(Y.shape[0])
        for _ in range(self.max_iter):
            if not active.size:
                break
            before = take(value, active)
            ends, after = self._step(objective.rows(active), take(Y, active), before)
            Y, value = put(Y, active, ends), put(value, active, after)
            moving = host(after - before) > self.tol * np.abs(host(before))
            active = active[moving]
        return Y

    def _step(self, objective: PreimageObjective, Y: Array, before: Array) -> tuple[Array, Array]:
        """Return the outputs after one step from Y, halved until the objective rises.

        The second array is the objective there; the objective at Y is `before`.
        """
        xp = namespace(Y)
        M = objective.weights * self.kernel_.radial.slope(squared_distances(Y, objective.outputs))
        total = xp.sum(M, axis=1)[:, None]
        tiny = like(np.finfo(np.float64).tiny, Y)
        size = xp.where(xp.abs(total) > tiny, xp.abs(total), xp.ones_like(total))
        direction = (M @ objective.outputs - total * Y) / size
        best, after = Y + 0.0, before + 0.0
        waiting = np.arange(Y.shape[0])
        for halving in range(self.HALVINGS):
            trial = take(Y, waiting) + 0.5**halving * take(direction, waiting)
            value = objective.rows(waiting).values(trial)
            up = host(value > take(before, waiting))
            best = put(best, waiting[up], take(trial, np.flatnonzero(up)))
            after = put(after, waiting[up], take(value, np.flatnonzero(up)))
            waiting = waiting[~up]
            if not waiting.size:
                break
        return best, after


class Gradient(Refinement):
    """A decoder that refines candidates by L-BFGS, for differentiable output kernels on vectors.

    Parameters
    ----------
    start : Candidates or None, default=None
        The `Candidates` to start from; None for the training outputs.
    max_iter : int, default=100
        The largest number of iterations of `scipy.optimize.minimize(method="L-BFGS-B")`.
    tol : float, default=1e-6
        Its tolerance of the gradient.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.decoders import Gradient
    >>> from mercer.kernels import Polynomial
    >>> model = KernelDependency("rbf", output_kernel=Polynomial(2), alpha=1e-3, decoder=Gradient())
    >>> _ = model.fit([[0.0], [1.0], [2.0]], [[0.0], [1.0], [2.0]])
    >>> model.predict([[1.0]]).round(1)
    array([[1.]])
    """

    supported = "with a derivative"

    def _suits(self, kernel: Kernel) -> bool:
        """Return whether the kernel can be differentiated with respect to its items."""
        return kernel.item_gradient is not None

    def _climb(self, objective: PreimageObjective, Y: Array) -> Array:
        """Return the outputs that L-BFGS finds, each from a row of Y."""
        if self.max_iter == 0:
            return Y  # L-BFGS-B would take a step nevertheless
        # One point at a time: a shared line search would make answers depend on the batch.
        ends = [
            self._climb_one(objective.rows(np.array([t])), Y[t : t + 1, :])
            for t in range(Y.shape[0])
        ]
        return namespace(Y).concat(ends, axis=0)

    def _climb_one(self, objective: PreimageObjective, y: Array) -> Array:
        """Return the output that L-BFGS finds for one point from y, a matrix of one row."""
        scale = self.kernel_.multiple.scale  # a multiple of the kernel stops at the same output

        def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
            """Return minus the objective at an output, and minus its gradient."""
            at = like(flat[None, :], y)
            return -float(objective.values(at)[0]) / scale, -host(objective.gradient(at))[0] / scale

        options = {"maxiter": self.max_iter, "gtol": self.tol, "ftol": 1e-14}
        found = minimize(loss, host(y)[0], jac=True, method="L-BFGS-B", options=options)
        return like(found.x[None, :], y)
