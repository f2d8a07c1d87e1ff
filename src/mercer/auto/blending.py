"""The blend of what a search found, in several variants, and the choice of what is kept."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from math import sqrt

import numpy as np

from .._arrays import Items, count
from ..decoders import ExpectedF1
from ..estimators import Blend
from ..estimators.blend import in_frame, in_frame_outputs
from ..estimators.choice import beyond_luck, calibrated
from .measures import left_out_probabilities
from .outputs import ARRAYS

MARGIN = 0.3
"""A single model is taken instead of the blend where it is better by this over √rows, about a
standard error: on few rows the best of several is often so by luck."""
SHARPNESS = 50.0
"""Models whose score is less by this fraction of one weigh less by a factor of e."""
F1_STEPS = 4e9
"""Steps up to which sets are decoded by expected F1: rows times the cube of the labels."""


def single_scores(blend: Blend, score: Callable[..., float], y: Items) -> np.ndarray:
    """The score of each model of a blend on left-out points, by the same folds."""
    found = []
    for model, points in zip(blend.models_, blend.left_out_models_, strict=True):
        decoder = calibrated(copy.copy(model.decoder_), points, model.outputs_)
        made = partial(left_out_probabilities, model.output_kernel_, points, y)
        found.append(score(y, model._flattened(decoder.decode(points)), made))
    return np.array(found)


def variants(
    blend: Blend, scores: np.ndarray, kind: str, weights: np.ndarray | None
) -> Iterator[tuple[str, Blend]]:
    """The blend, and for outputs that squares do not judge the same by other weights.

    Least squares favours models whose points are shrunk right; by score those that decode right.
    Of numbers, where a linear model is as good but for luck, the mean of it and the blend: what
    else is blended in may be noise.
    """
    if kind in ARRAYS:
        plain = _plain_one(blend, weights)
        if plain is None:
            yield "least squares", blend
        else:
            yield "least squares and linear", blend.reweighted((blend.weights_ + plain) / 2.0)
        return
    yield "least squares", blend
    scores = np.where(np.isfinite(scores), scores, -np.inf)  # those count for nothing
    if np.isneginf(scores).all():
        return
    by_score = np.exp(SHARPNESS * (scores - scores.max()))
    by_score /= by_score.sum()
    yield "by score", blend.reweighted(by_score)
    squares = blend.weights_ / (blend.weights_.sum() or 1.0)
    yield "mean of both", blend.reweighted((by_score + squares) / 2.0)


def _plain_one(blend: Blend, weights: np.ndarray | None) -> np.ndarray | None:
    """The weights of the best linear model alone, if the blend is not better by more than luck."""
    linear = [
        k
        for k, model in enumerate(blend.models_)
        if "fitted_" in vars(model) and model.input_kernel_.features is not None
    ]
    if not linear:
        return None
    frame = blend.left_out_.frame
    V = in_frame_outputs(frame, blend.outputs_)
    best = min(linear, key=lambda k: blend.models_[k].loo_risk_)
    lost, blended = (
        ((in_frame(points, frame) - V) ** 2).sum(axis=1)
        for points in (blend.left_out_models_[best], blend.left_out_)
    )
    return None if beyond_luck(lost - blended, weights) else np.eye(len(blend.models_))[best]


def by_expected_f1(blend: Blend) -> Blend | None:
    """The blend with sets decoded by expected F1; None where that takes too long."""
    n, labels = blend.left_out_.coordinates.shape
    if n * float(labels) ** 3 > F1_STEPS:
        return None
    other = copy.copy(blend)
    other.decoder_ = ExpectedF1().fit(blend.output_kernel_, blend.outputs_)
    return other


def clearly_better(single: float, blended: float, y: Items) -> bool:
    """Whether a single model is better than the blend by more than luck."""
    return single - blended > MARGIN / sqrt(count(y))
