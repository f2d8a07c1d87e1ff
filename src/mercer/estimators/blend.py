from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._base.arrays import Array, Items, count, host
from .._base.folds import fold_numbers
from .._base.parameters import parameters
from ..decoders import Decoder
from ..decoders.natural import fitted_decoder
from ..embedding import Embedding, Frame, PointMap
from ..features import FeatureMap
from ..kernels import Kernel
from .base import on_fresh_state
from .choices import calibrated
from .common_frame import common_frame, coordinates_in, outputs_in, with_one_output_kernel
from .known_targets import fill_missing
from .left_out_points import LeftOutPoints
from .pairs import drop_zero_weights, group_labels
from .squares import Squares

BLEND_FOLDS = 10
"""The number of folds; left-out points of a fold have weights chosen on the other folds."""
FOLDED = 5000
"""With at most this many rows, ridge models are left out by the folds of other models."""


@parameters
class Blend(LeftOutPoints):
    r"""Weighted average of several models that share one output kernel, taken in feature space.

    :math:`g(x) = m + \sum_k w_k (g_k(x) - m)`, with :math:`m` the mean of :math:`\Phi` over the
    training outputs and weights :math:`w \ge 0` by least squares on the *left-out* points of the
    models. What the models cannot predict is shrunk towards the mean. No model is fitted a second
    time. Left-out points of the blend have weights that were chosen without the example's fold.

    Parameters
    ----------
    models : sequence of estimators, default=()
        Models with left-out points (`KernelDependency`, `KernelDependencyCV`,
        `ForestDependency`), all with the same output kernel.
    decoder : Decoder, default=None
        A decoder of the blended points; None for the default of the output kernel.
    prefit : bool, default=False
        Whether the models are already fitted, on the pairs that `fit` is given; else copies of
        them are fitted.

    Attributes
    ----------
    weights_
        The weight of each model.
    models_
        The fitted models.
    left_out_weights_
        The weights of models in each left-out point, chosen without its fold.
    left_out_models_
        Their left-out points on equal terms: by the same folds where one has folds.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependencyCV
    >>> from mercer.estimators import Blend, ForestDependency
    >>> from mercer.kernels import RBF
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(60, 2))
    >>> Y = np.column_stack([np.sin(3 * X[:, 0]), (X[:, 1] > 0) + 0.0])
    >>> blend = Blend([KernelDependencyCV(RBF()), ForestDependency(random_state=0)]).fit(X, Y)
    >>> bool((blend.weights_ > 0).all()), blend.score(X, Y) > 0.9
    (True, True)
    """

    models: Sequence[LeftOutPoints] = ()
    decoder: Decoder | None = None
    prefit: bool = False

    dropped = LeftOutPoints.dropped | {
        "left_out_models_": "left-out predictions",
        "models_": "the blended models",
        "means_": "left-out means",
        "means_of_others_": "left-out means",
        "squares_": "left-out predictions",
        "left_out_weights_": "left-out predictions",
    }

    @on_fresh_state
    def fit(
        self, X: Items, y: Items, groups: Items | None = None, sample_weight: Array | None = None
    ) -> Blend:
        """Fit the models, unless they are fitted, and choose their weights on left-out points.

        Parameters
        ----------
        X, y
            Inputs and their outputs.
        groups
            A label for each pair: pairs of one label are left out together.
        sample_weight
            How much each pair counts.
        """
        self._check_models()
        _, weights, groups, (X, y) = drop_zero_weights(sample_weight, groups, X, y)
        self._fit_models(X, y, groups, weights)
        labels = group_labels(groups, count(y))
        self._choose_weights(labels, weights)
        return self

    def _check_models(self) -> None:
        """Raise an error for an empty list of models, and for models without left-out points."""
        if not len(self.models):
            raise ValueError("models is empty: give at least one model to blend.")
        for model in self.models:
            if not isinstance(model, LeftOutPoints):
                raise ValueError(
                    f"{type(model).__name__} has no left-out points, which the weights of models "
                    "are chosen on: blend models such as KernelDependencyCV."
                )

    def _fit_models(self, X: Items, y: Items, groups: Any, weights: np.ndarray | None) -> None:
        """Fit the models unless they are fitted, and store their kernels and the outputs."""
        self.models_ = list(self.models)
        if not self.prefit:
            fresh = with_one_output_kernel(self.models, y, weights)
            self.models_ = [one.fit(X, y, groups=groups, sample_weight=weights) for one in fresh]
        first = self.models_[0]
        self.input_kernel_, self.output_kernel_ = first.input_kernel_, first.output_kernel_
        if first._known_coordinates() is not None:
            y = fill_missing(y, self.output_kernel_)[0]
        _, self.outputs_ = self._check_pairs(first.input_kernel_, first.output_kernel_, X, y)

    def _choose_weights(self, labels: np.ndarray, weights: np.ndarray | None) -> None:
        """Compute left-out points by common folds, and model weights; the pairs have `weights`."""
        self.means_of_others_ = MeansOfOthers(labels, weights)
        w = self.means_of_others_.weights
        drawn = (model._own_folds() for model in self.models_)
        folds = next((own for own in drawn if own is not None), None)
        self.left_out_models_ = [_left_out_points(model, folds) for model in self.models_]
        frame = common_frame([points.frame for points in self.left_out_models_], self.outputs_)
        V, known = outputs_in(frame, self.outputs_), self.models_[0]._known_coordinates()
        counts = np.ones((1, 1)) if known is None else known + 0.0
        self.mean_, self.means_ = self.means_of_others_.of_rows(V, counts)
        G = [coordinates_in(points, frame) - self.means_ for points in self.left_out_models_]
        folds = fold_numbers(labels, BLEND_FOLDS) if folds is None else folds
        residuals = counts * (V - self.means_)
        self.squares_ = Squares.of([counts * own for own in G], residuals, w, frame, folds)
        self._set_weights(self.squares_.weights(), self.squares_.left_out_weights(), frame)

    def _set_weights(self, weights: np.ndarray, left_out: np.ndarray, frame: Frame) -> None:
        """Store the model weights, and the blended points and the decoder that follow from them.

        Row i of `left_out` has the model weights for left-out point i.
        """
        self.weights_, self.left_out_weights_, C = weights, left_out, self.means_
        for k, points in enumerate(self.left_out_models_):
            C = C + left_out[:, [k]] * (coordinates_in(points, frame) - self.means_)
        others, first = self.means_of_others_, self.left_out_models_[0]
        weigh = LeftOutWeights(self.left_out_models_, left_out, others).weights
        w = others.sample_weight
        self.left_out_ = Embedding(C, frame, others.labels, first.inputs, w, weigh)
        map = BlendedMap([model.points_ for model in self.models_], weights, frame)
        rest = (1.0 - weights.sum()) * self.mean_
        self.points_ = PointMap(map, rest, frame, BlendedWeights(map, others.shares))
        fitted = fitted_decoder(self.decoder, self.output_kernel_, self.outputs_, w)
        self.decoder_ = calibrated(fitted, self.left_out_, self.outputs_)

    def reweighted(self, weights: Array, left_out: Array | None = None) -> Blend:
        """Return a copy with given model weights and a recalibrated decoder, without refitting.

        Parameters
        ----------
        weights
            One non-negative number for each model.
        left_out
            The model weights in each left-out point, as rows; None for `weights` in all of them.
        """
        check_is_fitted(self)
        given = np.asarray(weights, dtype=float)
        if given.shape != self.weights_.shape or not (given >= 0).all():
            raise ValueError(f"weights must be {len(self.weights_)} non-negative numbers.")
        other = copy.copy(self)
        each = np.tile(given, (len(self.means_), 1)) if left_out is None else left_out
        other._set_weights(given, each, self.left_out_.frame)
        return other

    def _known_coordinates(self) -> np.ndarray | None:
        """Return a mask of the known coordinates of training outputs; None if all are known."""
        return self.models_[0]._known_coordinates()

    def without_training_data(self) -> Any:
        """Return a copy that can predict but holds neither the models nor their training data."""
        bare = super().without_training_data()
        bare.models = [clone(model) for model in self.models]
        return bare

    def _scalar_kernels(self) -> list[Kernel]:
        """Return the unfitted scalar input kernels of all models."""
        return [kernel for model in self.models for kernel in model._scalar_kernels()]


class BlendedMap(FeatureMap):
    """Feature map from an input to the weighted sum of the points that several models predict.

    It maps x to Σ_k f_k g_k(x), with the point g_k(x) and the weight f_k of model k.

    Parameters
    ----------
    maps, factors
        The maps g_k of the models, and the model weights f.
    frame
        The vectors that coordinates refer to.
    """

    def __init__(self, maps: list[PointMap], factors: np.ndarray, frame: Frame):
        self.maps = maps
        self.factors = factors
        self.frame = frame

    def transform(self, A: Items) -> np.ndarray:
        """Return the coordinates of the blended points, one row for each input."""
        return self.weighted_sum(A, lambda points: coordinates_in(points, self.frame))

    def weighted_sum(self, A: Items, read: Callable[[Embedding], np.ndarray]) -> np.ndarray:
        """Return Σ_k f_k read(g_k(A)), with the points g_k(A) and weight f_k of model k."""
        parts = (f * read(map(A)) for f, map in zip(self.factors, self.maps, strict=True))
        return functools.reduce(np.add, parts)


@dataclass(frozen=True)
class BlendedWeights:
    """The weights of blended points on the training outputs.

    Attributes
    ----------
    map
        The map to blended points.
    shares
        The weights of the training outputs in their mean.
    """

    map: BlendedMap
    shares: np.ndarray

    def weights(self, X: Items, C: Array) -> np.ndarray:
        """Return the weights of the training outputs in the blended prediction of each input.

        Model weights that sum to less than one leave the rest to the mean; `C` is unused.
        """
        W = self.map.weighted_sum(X, lambda points: host(points.weights))
        return W + (1.0 - float(self.map.factors.sum())) * self.shares

    def without_training_data(self, map: FeatureMap) -> None:
        """Return None, because the weights refer to training data."""


@dataclass(frozen=True)
class MeansOfOthers:
    """Weighted means of training outputs, of all and without the group of each.

    Attributes
    ----------
    labels
        The number of the group of each output.
    sample_weight
        The sample weights; None for ones.
    """

    labels: np.ndarray
    sample_weight: np.ndarray | None

    @property
    def weights(self) -> np.ndarray:
        """The sample weights, ones where none were given."""
        return np.ones(len(self.labels)) if self.sample_weight is None else self.sample_weight

    @property
    def shares(self) -> np.ndarray:
        """The weight of each output in the mean of all."""
        return self.weights / self.weights.sum()

    def left_out_shares(self) -> np.ndarray:
        """Return the weight of each output (column) in the mean without the group of each row."""
        W = self.weights * (self.labels[:, None] != self.labels)
        totals = W.sum(axis=1, keepdims=True)
        return np.where(totals > 0, W / np.where(totals > 0, totals, 1.0), self.shares)

    def of_rows(self, V: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean of the rows of V, and for each row the mean without its group.

        `counts` is zero where an entry of V is not known, with a column for each column of V or one
        for all. A mean without any row is the mean of all.
        """
        W, n = self.weights[:, None] * counts, int(self.labels.max()) + 1
        mass, sums = np.zeros((n, W.shape[1])), np.zeros((n, V.shape[1]))
        np.add.at(mass, self.labels, W)
        np.add.at(sums, self.labels, W * V)
        mean = sums.sum(axis=0) / mass.sum(axis=0)
        rest = mass.sum(axis=0) - mass
        others = (sums.sum(axis=0) - sums) / np.where(rest > 0, rest, 1.0)
        return mean, np.where(rest > 0, others, mean)[self.labels]


@dataclass(frozen=True)
class LeftOutWeights:
    """The weights of left-out blended points on the training outputs.

    Attributes
    ----------
    points
        The left-out points of each model.
    factors
        The weight of each model (column) in each left-out point.
    others
        The means of the training outputs without each group.
    """

    points: list[Embedding]
    factors: np.ndarray
    others: MeansOfOthers

    def weights(self) -> np.ndarray:
        """Return the weights on the training outputs, (n, n)."""
        rest = (1.0 - self.factors.sum(axis=1))[:, None] * self.others.left_out_shares()
        parts = (
            f[:, None] * host(p.weights) for f, p in zip(self.factors.T, self.points, strict=True)
        )
        return functools.reduce(np.add, parts, rest)


def _left_out_points(model: LeftOutPoints, folds: np.ndarray | None) -> Embedding:
    """Return the left-out points of a model, by `folds` if they are given and there are few rows.

    A model that leaves out single examples has more training data than one that leaves out folds,
    and would get too much weight. With many rows the difference is small and slow to compute.
    """
    many = folds is not None and len(folds) > FOLDED
    return model.loo_embed() if folds is None or many else model._left_out_by(folds)
