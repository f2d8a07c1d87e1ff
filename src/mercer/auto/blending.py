"""The blend of the candidates of a search, in several variants, and the choice among them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from math import sqrt

import numpy as np

from .._base.arrays import Items
from .._base.statistics import exceeds_standard_error
from ..decoders.natural import fitted_decoder
from ..defaults import evaluate
from ..estimators import Blend
from ..estimators.choices import calibrated
from ..estimators.squares import Squares
from .kinds.base import Kind
from .measures import left_out_probabilities

BLEND_MARGIN = 0.3
"""A single model replaces the blend if its score is better by BLEND_MARGIN / √rows.

This is about one standard error. On few rows, the best of several models is often the best by
chance.
"""
SHARPNESS = 50.0
"""A model whose score is lower by 1 / SHARPNESS has a weight that is smaller by a factor of e."""
STEEP = 3.0
"""A model with a relative excess loss of 1 / STEEP has a weight smaller by a factor of e."""
BLEND_RIDGES, SHRUNK = (0.03, 0.3, 3.0), 1000
"""The ridges that shrink weights towards an average, and the largest number of rows for that."""


def scores_of_single_models(blend: Blend, score: Callable[..., float], y: Items) -> np.ndarray:
    """Return the score of the left-out predictions of each model of a blend."""
    scores = []
    for model, points in zip(blend.models_, blend.left_out_models_, strict=True):
        decoder = calibrated(copy.copy(model.decoder_), points, model.outputs_)
        class_probabilities = partial(left_out_probabilities, model.output_kernel_, points, y)
        predicted, weights = model._restored(decoder.decode(points)), points.sample_weight
        scores.append(score(y, predicted, class_probabilities, weights))
    return np.array(scores)


def weighted_variants(
    blend: Blend, scores: np.ndarray, outputs: Kind
) -> Iterator[tuple[str, Blend]]:
    """Yield (name, blend) with weights by least squares, by score, and by the mean of both.

    Numbers, curves and images have one variant, with robust least-squares weights. `scores` are the
    left-out scores of the single models. Least squares favours models with accurate points, weights
    by score those with good decodings.
    """
    if outputs.is_array:
        yield _robust_blend(blend)
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


def _robust_blend(blend: Blend) -> tuple[str, Blend]:
    """Return a name and the blend with weights that are robust to outliers and to chance.

    If the best linear model is within one standard error of the blend, the weights are the mean of
    both, because the other models may be noise. They are shrunk towards zero, which predicts the
    mean of the outputs, as far as the gain over that is not certain.
    """
    squares, name = blend.squares_, "robust least squares"
    weights, left_out = averaged_weights(squares)
    linear = _linear_model_indices(blend)
    if linear:
        best = min(linear, key=lambda k: blend.models_[k].loo_risk_)
        alone = np.eye(len(weights))[best]
        gains = squares.losses(alone) - squares.losses(left_out)
        if not exceeds_standard_error(gains, squares.w):
            weights, left_out, name = (
                (weights + alone) / 2.0,
                (left_out + alone) / 2.0,
                f"{name} and linear",
            )
    fraction = squares.safe_fraction(left_out)
    return name, blend.reweighted(fraction * weights, fraction * left_out)


def averaged_weights(squares: Squares) -> tuple[np.ndarray, np.ndarray]:
    """Return blend weights, averaged over ridges, and for each row those fitted without it.

    They are fitted by least squares. With few rows, such weights depend on chance. They are
    averaged with weights that are shrunk, more and more strongly, towards a mean of all models in
    which better ones have larger weights. The mean over all strengths is more accurate than the
    strength with the smallest error, which depends on chance too.
    """
    fitted = [_shrunk_weights(squares, None, 0.0)]
    if len(squares.v) <= SHRUNK:
        prior = _weights_by_risk(squares)
        fitted += [_shrunk_weights(squares, prior, ridge) for ridge in BLEND_RIDGES]
    return np.mean([c for c, _ in fitted], axis=0), np.mean([C for _, C in fitted], axis=0)


def _shrunk_weights(
    squares: Squares, prior: np.ndarray | None, ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return blend weights shrunk towards `prior`, and for each row those fitted without it."""
    return squares.weights(True, prior, ridge), squares.left_out_weights(True, prior, ridge)


def _weights_by_risk(squares: Squares) -> np.ndarray:
    """Return one weight per model, smaller for a larger left-out loss, with sum one."""
    w, total = squares.w, float(squares.w @ squares.v)
    risks = total - 2.0 * (w @ squares.r) + np.einsum("n,nkk->k", w, squares.Q)
    risks = np.maximum(risks, 1e-9 * total + 1e-300)  # none is below rounding
    weights = np.exp(-STEEP * np.minimum(risks / risks.min() - 1.0, 10.0))
    return weights / weights.sum()


def average_with_linear(blend: Blend, scores: np.ndarray) -> Blend | None:
    """Return the mean of a blend and its best linear model; None if the blend is clearly better.

    It is clearly better if its left-out scores are higher by more than one standard error. The
    result is also None if no model of the blend is linear. `scores` are those of the models.
    """
    linear = _linear_model_indices(blend)
    if not linear:
        return None
    best = max(linear, key=lambda k: scores[k])
    space, truth = blend.output_kernel_.space, blend.outputs_
    ours, theirs = (
        np.asarray(evaluate(space, truth, blend.decoder_.decode(points), average=False))
        for points in (blend.left_out_, blend.left_out_models_[best])
    )
    if exceeds_standard_error(ours - theirs, blend.squares_.w):
        return None
    return blend.reweighted((blend.weights_ + np.eye(len(scores))[best]) / 2.0)


def _linear_model_indices(blend: Blend) -> list[int]:
    """Return the indices of the ridge models whose kernel has an explicit feature map."""
    return [
        k
        for k, model in enumerate(blend.models_)
        if "fitted_" in vars(model) and model.input_kernel_.features is not None
    ]


def with_other_decoder(blend: Blend, outputs: Kind) -> tuple[str, Blend] | None:
    """Return the name of another decoder and the blend with it; None if none suits."""
    found = outputs.other_decoder(*blend.left_out_.coordinates.shape)
    if found is None:
        return None
    how, decoder = found
    other = copy.copy(blend)
    counts = blend.left_out_.sample_weight
    other.decoder_ = fitted_decoder(decoder, blend.output_kernel_, blend.outputs_, counts)
    return how, other


def single_is_clearly_better(
    best: int, single: float, blended: float, blend: Blend, outputs: Kind
) -> bool:
    """Return whether a single model beats the blend by more than one standard error.

    `best` is the index of the model in the blend; `single` and `blended` are the left-out scores.
    Numbers are also compared row by row, because a few outliers may dominate a score.
    """
    squares = blend.squares_
    if single - blended <= BLEND_MARGIN / sqrt(squares.w.sum()):
        return False
    alone = np.eye(len(blend.weights_))[best]
    gains = squares.losses(blend.left_out_weights_) - squares.losses(alone)
    return not outputs.is_array or exceeds_standard_error(gains, squares.w)
