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
from ..estimators.choice import calibrated
from .measures import left_out_probabilities

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


def variants(blend: Blend, scores: np.ndarray, kind: str) -> Iterator[tuple[str, Blend]]:
    """The blend, and for outputs that squares do not judge the same by other weights.

    Least squares favours models whose points are shrunk right; by score those that decode right.
    """
    yield "least squares", blend
    if kind in ("number", "curve"):
        return
    scores = np.where(np.isfinite(scores), scores, -np.inf)  # those count for nothing
    if np.isneginf(scores).all():
        return
    by_score = np.exp(SHARPNESS * (scores - scores.max()))
    by_score /= by_score.sum()
    yield "by score", blend.reweighted(by_score)
    squares = blend.weights_ / (blend.weights_.sum() or 1.0)
    yield "mean of both", blend.reweighted((by_score + squares) / 2.0)


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
