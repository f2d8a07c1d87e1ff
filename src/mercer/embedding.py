"""Predicted points in the feature space of the output kernel, and their coordinates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ._base.arrays import Array, Items, blocks, count, is_array, like, namespace, take
from ._base.memory import ROWS
from ._base.reducible import Reducible
from .features import Explicit, FeatureMap
from .features.base import weighted_features
from .kernels import Kernel

__all__ = [
    "Embedding", "Frame", "MovedFrame", "OrthonormalFrame", "PointMap", "SpanFrame",
    "feature_variance",
]  # fmt: skip


class Frame:
    """Base class of frames: vectors e_j of the output feature space that express points.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> X = np.linspace(0, 1, 9)[:, None]
    >>> model = KernelDependency(RBF(0.5), alpha=0.01).fit(X, X**2)
    >>> model.embed(X[:2]).frame.evaluate(X[:3] ** 2).shape
    (3, 1)
    """

    kernel: Kernel
    compact: ClassVar[bool] = False
    """Whether the vectors are orthonormal coordinates rather than the training outputs."""
    euclidean = False
    """Whether outputs are vectors and distances those of their coordinates."""
    explicit = False
    """Whether the coordinates are the explicit features of the output kernel."""

    def evaluate(self, Y: Items) -> Array:
        """Return ⟨e_j, Φ(y)⟩ for every output y (row) and frame vector e_j (column)."""
        raise NotImplementedError

    def sqnorms(self, Y: Items) -> Array:
        """Return the squared norm ‖Φ(y)‖² of every output y."""
        return self.points_sqnorm(self.evaluate(Y))

    def points_sqnorm(self, C: Array) -> Array:
        """Return the squared norm of each point, given its coordinates, a row of C."""
        return namespace(C).sum(C * C, axis=1)

    def points_inner(self, C: Array, D: Array) -> Array:
        """Return the inner products of points with coordinates C (rows) and D (columns)."""
        return C @ D.T

    def expansion(self, C: Array) -> tuple[Array, Items]:
        """Return weights W and outputs y_i: the point with coordinates C[t] is Σ_i W_ti Φ(y_i)."""
        raise NotImplementedError

    def kernel_features(self, C: Array) -> Array:
        """Convert points with coordinates C to finite features of the output kernel."""
        raise NotImplementedError


@dataclass(frozen=True)
class OrthonormalFrame(Frame):
    """Frame of orthonormal coordinates, which a fitted feature map of the outputs computes.

    Examples
    --------
    >>> from mercer.embedding import OrthonormalFrame
    >>> from mercer.features import Explicit
    >>> from mercer.kernels import Linear
    >>> Y = [[1.0, 2.0], [3.0, 4.0]]
    >>> OrthonormalFrame(Explicit().fit(Linear().fit(Y), Y)).evaluate(Y)
    array([[1., 2.],
           [3., 4.]])
    """

    map: FeatureMap
    compact: ClassVar[bool] = True

    @property
    def kernel(self) -> Kernel:  # type: ignore[override]
        """The output kernel."""
        return self.map.kernel_

    @property
    def euclidean(self) -> bool:  # type: ignore[override]
        """Whether outputs are vectors, and distances in feature space those of coordinates."""
        return self.map.projects and self.kernel.on_vectors

    @property
    def explicit(self) -> bool:  # type: ignore[override]
        """Whether the coordinates are the explicit features of the output kernel."""
        return isinstance(self.map, Explicit)

    def evaluate(self, Y: Items) -> Array:
        """Return the coordinates of the outputs Y, one row each."""
        return self.map.transform(Y)

    def sqnorms(self, Y: Items) -> Array:
        """Return the squared norm ‖Φ(y)‖² of every output, computed by the feature map."""
        return self.map.sqnorms(Y)

    def expansion(self, C: Array) -> tuple[Array, Items]:
        """Express points with coordinates C by outputs; return (weights, outputs)."""
        return self.map.expansion(C)

    def kernel_features(self, C: Array) -> Array:
        """Convert points with coordinates C to finite features of the output kernel."""
        return self.map.kernel_features(C)


@dataclass(frozen=True)
class MovedFrame(Frame):
    """Another frame with a new origin, which is subtracted from the coordinates."""

    frame: Frame
    origin: Array = field(compare=False)
    compact: ClassVar[bool] = True

    @property
    def kernel(self) -> Kernel:  # type: ignore[override]
        """The output kernel."""
        return self.frame.kernel

    def evaluate(self, Y: Items) -> Array:
        """Return the coordinates of the outputs Y relative to the origin, one row each."""
        return self.frame.evaluate(Y) - self.origin


@dataclass(frozen=True)
class SpanFrame(Frame):
    """The training outputs as a frame; coordinates of a point are weights on them."""

    kernel: Kernel
    outputs: Items

    def evaluate(self, Y: Items) -> Array:
        """Return the output kernel of Y (rows) and the training outputs (columns)."""
        return self.kernel.finite_values(self.kernel(Y, self.outputs))

    def sqnorms(self, Y: Items) -> Array:
        """Return the squared norm ‖Φ(y)‖² = l(y, y) of every output y, with l the output kernel."""
        return self.kernel.diag(Y)

    def _times_gram(self, C: Array) -> Array:
        """Return C L with L the Gram matrix of the training outputs, computed in blocks."""
        total = 0.0
        for rows in blocks(count(self.outputs), ROWS):
            L = self.kernel(take(self.outputs, np.arange(rows.start, rows.stop)), self.outputs)
            total = total + C[:, rows] @ L
        return self.kernel.finite_values(total)

    def points_sqnorm(self, C: Array) -> Array:
        """Return squared norms of points C, diag(C L Cᵀ) with L the output Gram matrix."""
        return namespace(C).sum(self._times_gram(C) * C, axis=1)

    def points_inner(self, C: Array, D: Array) -> Array:
        """Return inner products C L Dᵀ of points C and D, with L the output Gram matrix."""
        return self._times_gram(C) @ D.T

    def expansion(self, C: Array) -> tuple[Array, Items]:
        """Return (C, training outputs), because coordinates are weights on training outputs."""
        return C, self.outputs

    def kernel_features(self, C: Array) -> Array:
        """Return C @ (features of the training outputs), the kernel features of points C."""
        return weighted_features(C, self.kernel, self.outputs)


@dataclass(frozen=True)
class Embedding:
    """A batch of predicted points g(x) of the output feature space.

    Attributes
    ----------
    coordinates
        One row a point, in `frame`.
    frame
        The vectors that the coordinates refer to.
    left_out
        For leave-one-out points, the group of each training example, else None: decoders that
        choose among training outputs then exclude the outputs of the point's group.
    inputs
        The inputs of these points, for decoders that use them.
    sample_weight
        For leave-one-out points, the sample weight of each training example, else None; None for
        ones. What is calibrated on the points counts each as often as its weight says.
    weigh
        A function that computes `weights`; None without the training data.
    posterior
        The posterior of g as a Gaussian process, if a fitted ridge model computed the points.
    groups
        The group of each training example, where `left_out` has those of some of them only.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> X = np.linspace(0, 1, 9)[:, None]
    >>> model = KernelDependency(RBF(0.5), alpha=0.01).fit(X, X**2)
    >>> points = model.embed(X[:2])
    >>> points.inner(X[:3] ** 2).shape, points.variance().shape
    ((2, 3), (2, 1))
    >>> model.decoder_.decode(points).shape
    (2, 1)
    """

    coordinates: Array
    frame: Frame = field(repr=False)
    left_out: np.ndarray | None = field(default=None, repr=False)
    inputs: Items | None = field(default=None, repr=False)
    sample_weight: np.ndarray | None = field(default=None, repr=False)
    weigh: Callable[[], Array] | None = field(default=None, repr=False)
    posterior: Any = field(default=None, repr=False)
    groups: np.ndarray | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return int(self.coordinates.shape[0])

    def __getitem__(self, rows: slice | np.ndarray) -> Embedding:
        """Return the points at a slice or at indices, without weights on training outputs."""
        left_out = None if self.left_out is None else self.left_out[rows]
        index = np.arange(len(self))[rows]
        inputs = None if self.inputs is None else take(self.inputs, index)
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        C, groups = take(self.coordinates, index), self.groups_of_training()
        return Embedding(C, self.frame, left_out, inputs, weights, groups=groups)

    @property
    def counts(self) -> np.ndarray:
        """How often each point counts: the sample weights, ones without."""
        return np.ones(len(self)) if self.sample_weight is None else self.sample_weight

    def groups_of_training(self) -> np.ndarray | None:
        """Return the group of each training example; None if these are not left-out points."""
        return self.left_out if self.groups is None else self.groups

    def inner(self, Y: Items) -> Array:
        r"""Return :math:`\langle g(x), \Phi(y) \rangle` for all points (rows) and outputs Y."""
        E = self.frame.evaluate(self.frame.kernel.as_outputs(Y))
        return self.coordinates @ E.T

    def inner_points(self, other: Embedding) -> Array:
        r"""Return :math:`\langle g(x), g(x') \rangle` for these points and those of `other`."""
        if other.frame is not self.frame:
            raise ValueError("these points are of two different models: they share no space.")
        return self.frame.points_inner(self.coordinates, other.coordinates)

    def sqnorm(self) -> Array:
        r"""Return :math:`\lVert g(x) \rVert^2` for every point."""
        return self.frame.points_sqnorm(self.coordinates)

    def distances(self, Y: Items) -> Array:
        r"""Return :math:`\lVert g(x) - \Phi(y) \rVert` for all points (rows) and outputs Y."""
        C, E, points, outputs = self._about_one_origin(Y)
        xp = namespace(E)
        D2 = points[:, None] - 2.0 * (C @ E.T) + outputs[None, :]
        return xp.sqrt(xp.where(D2 > 0, D2, xp.zeros_like(D2)))

    def sqdistances_to(self, Y: Items) -> Array:
        r"""Return :math:`\lVert g(x_t) - \Phi(y_t) \rVert^2` for each point t and output t of Y."""
        C, E, points, outputs = self._about_one_origin(Y)
        xp = namespace(E)
        D2 = points - 2.0 * xp.sum(C * E, axis=1) + outputs
        return xp.where(D2 > 0, D2, xp.zeros_like(D2))

    def _about_one_origin(self, Y: Items) -> tuple[Array, Array, Array, Array]:
        """Return coordinates and squared norms of points and outputs, about a common origin."""
        Y = self.frame.kernel.as_outputs(Y)
        points = self.about(Y)[0]
        C, frame = points.coordinates, points.frame
        return C, frame.evaluate(Y), frame.points_sqnorm(C), frame.sqnorms(Y)

    def about(self, Y: Items) -> tuple[Embedding, Array | float]:
        """Return the points relative to the first output of Y, and the offset of their scores.

        The scores of the original points are those of the result plus the offset. This avoids
        cancellation for outputs far from zero. If distances are not Euclidean distances of vectors,
        the points are returned unchanged, with offset 0.
        """
        if not self.frame.euclidean:
            return self, 0.0
        C, origin = self.coordinates, self.frame.evaluate(take(Y, [0]))[0, :]
        moved = MovedFrame(self.frame, origin)
        score_offset = 2.0 * (C @ origin) - origin @ origin
        return Embedding(C - origin, moved, self.left_out, self.inputs), score_offset

    def scores(self, Y: Items) -> Array:
        r"""Return the scores :math:`2 \langle g(x), \Phi(y) \rangle - \lVert \Phi(y) \rVert^2`."""
        Y = self.frame.kernel.as_outputs(Y)
        return 2.0 * self.inner(Y) - self.frame.sqnorms(Y)[None, :]

    @cached_property
    def weights(self) -> Array:
        r"""The weights of :math:`g(x) = \sum_i c_i(x) \Phi(y_i)` on training outputs, (points, n).

        For the identity operator :math:`c(x) = (K_x + \alpha I)^{-1} k_x`; otherwise the weights
        of smallest norm, which are unique if the output Gram matrix has full rank.
        """
        if self.weigh is None and isinstance(self.frame, SpanFrame):
            return self.coordinates
        if self.weigh is None:
            raise ValueError(
                "these points have lost the training data that weights refer to: models of low "
                "rank are saved without it, and a slice of points does not carry it."
            )
        return self.weigh()

    def expect(self, values: Array) -> Array:
        r"""Return an estimate of :math:`E[h(Y) \mid x]`, given values of h at training outputs.

        The estimate is :math:`\sum_i c_i(x) h(y_i)`, with c the `weights` of the points.

        Parameters
        ----------
        values
            h(y_i) for each training example: one value, or one row of values.

        Notes
        -----
        g is a conditional mean embedding (Grünewälder et al. 2012): for a function h in
        the output RKHS, :math:`\langle g(x), h \rangle` estimates :math:`E[h(Y) \mid x]`. The
        weights c(x) sum to one only with `fit_intercept=True`.
        """
        values = values if is_array(values) else np.asarray(values)
        if count(values) != self.weights.shape[1]:
            raise ValueError(
                f"expect needs one value for each of the {self.weights.shape[1]} training "
                f"examples, got {count(values)}."
            )
        return self.weights @ like(values, self.weights)

    # -- the Gaussian-process view ------------------------------------------------------------

    def variance(
        self, kind: str = "outputs", observed: bool = False, noise: str = "evidence"
    ) -> Array:
        """Return the posterior variance of g(x); the noise variance is estimated.

        Parameters
        ----------
        kind
            "outputs" for one value for each entry of an output (a pixel, a time point),
            "directions" for one along each direction of the operator, "total" for their sum, which
            is an error if it is infinite.
        observed
            Whether the noise is added: the variance of a new output rather than of g(x).
        noise
            "evidence" for the noise variance of the largest marginal likelihood; "left out" for one
            along each direction of the operator, estimated from left-out predictions.
        """
        return self._posterior_process().variance(kind, observed, noise)

    def sample(self, n: int = 1, random_state: int | np.random.RandomState | None = None) -> Array:
        """Draw functions g from the posterior, jointly at all inputs.

        Parameters
        ----------
        n
            The number of draws.
        random_state
            The seed, or a generator.

        Returns
        -------
        array or list of Embedding
            ``(n, points, *output)`` for vectors and curves; else a batch of points for each draw,
            which `model.decoder_.decode` converts to outputs.
        """
        return self._posterior_process().sample(n, random_state)

    def _posterior_process(self) -> Any:
        """Return the Gaussian process posterior of g; raise an error if there is none."""
        if self.posterior is None:
            raise ValueError(
                "these points have no posterior: ask model.embed(X) of a KernelDependency or "
                "KernelDependencyCV that was fitted here, or saved with variance=True."
            )
        return self.posterior


@dataclass(frozen=True)
class PointMap(Reducible):
    """The fitted map g from inputs to points of the output feature space.

    Attributes
    ----------
    map, offset
        The coordinates of g(x) are map.transform(x) + offset.
    frame
        The vectors that the coordinates refer to.
    training_weights
        An object whose method `weights` computes those of g(x) on the training outputs; None if the
        training data is not kept.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> X = np.linspace(0, 1, 9)[:, None]
    >>> model = KernelDependency(RBF(0.5), alpha=0.01).fit(X, X**2)
    >>> model.points_(X[:2]).coordinates.shape
    (2, 1)
    """

    map: FeatureMap
    offset: Array | None
    frame: Frame
    training_weights: Any

    def __call__(self, X: Items) -> Embedding:
        """Return the points g(x) of a batch of inputs as an `Embedding`."""
        C = self.map.transform(X)
        C = C if self.offset is None else C + self.offset
        if self.training_weights is None:
            return Embedding(C, self.frame)
        return Embedding(C, self.frame, weigh=lambda: self.training_weights.weights(X, C))

    def without_training_data(self) -> PointMap:
        """Return a copy without the training data that the map does not need."""
        return replace(
            self,
            training_weights=None
            if self.training_weights is None
            else self.training_weights.without_training_data(self.map),
        )


def feature_variance(kernel: Kernel, Y: Items, weights: np.ndarray) -> float:
    """Return Σ_i w_i ‖Φ(y_i) - m‖² for weights w, with m the weighted mean of Φ(y_i).

    It is Σ_i w_i l(y_i, y_i) - Σ_ij w_i w_j l(y_i, y_j) / Σ_i w_i, with l the output kernel.
    """
    total = float(weights.sum())
    features = kernel.features
    if features is not None and kernel.on_vectors:
        F = features(Y)
        w = like(weights, F)
        return float(w @ namespace(F).sum((F - w @ F / total) ** 2, axis=1))
    Y = kernel.check(Y, "y")
    diagonal = kernel.diag(Y)
    w = like(weights, diagonal)
    inner = SpanFrame(kernel, Y).points_sqnorm(w[None, :])
    return float(w @ diagonal) - float(inner[0]) / total
