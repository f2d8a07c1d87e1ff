"""Simple models that a user would have tried, scored on rows that they did not see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GroupKFold, KFold
from sklearn.neighbors import KNeighborsRegressor

from .._arrays import Items, host
from ..decoders import natural
from ..embedding import Embedding, OrthonormalFrame
from ..estimators.choice import calibrated
from ..features import Explicit
from .inputs import NUMBERS, Inputs
from .outputs import Outputs
from .search import Clock, Pairs

FOLDS = 5
MOST = 5000
"""Rows beyond which baselines are scored on a sample."""


def baselines(
    inputs: Inputs,
    outputs: Outputs,
    pairs: Pairs,
    score: Callable[[Items, Items], float],
    clock: Clock,
    seed: int,
) -> dict[str, float]:
    """Return the score of each in five folds; they learn coordinates of the outputs.

    What they predict is decoded as the predictions of other models are, thresholds calibrated.
    Empty for outputs without finite features, and for inputs without numbers.
    """
    if pairs.n > MOST:
        pairs = pairs.rows(np.sort(np.random.RandomState(seed).permutation(pairs.n)[:MOST]))
    kernel = outputs.kernel().fit(pairs.y)
    if kernel.features is None or not inputs.width_:
        return {}
    map = Explicit().fit(kernel, pairs.y)
    A = np.stack([row[NUMBERS] for row in pairs.X]) if inputs.texts else pairs.X
    V, scores = host(map.transform(pairs.y)), {}
    decoder = (outputs.decoder() or natural(kernel)).fit(kernel, pairs.y)
    for name, model in _models(seed).items():
        if not clock.allows("baseline"):
            break
        C = clock.timed("baseline", lambda: _left_out(model, A, V, pairs.groups, seed))  # noqa: B023
        points = Embedding(C, OrthonormalFrame(map), left_out=np.arange(pairs.n))
        scores[name] = score(pairs.y, calibrated(decoder, points, pairs.y).decode(points))
    return scores


def _models(seed: int) -> dict[str, Any]:
    return {
        "mean": DummyRegressor(),
        "ridge": RidgeCV(np.logspace(-4, 4, 9)),
        "nearest neighbours": KNeighborsRegressor(10, weights="distance"),
        "extra trees": ExtraTreesRegressor(50, random_state=seed),
    }


def _left_out(
    model: Any, A: np.ndarray, V: np.ndarray, groups: np.ndarray | None, seed: int
) -> np.ndarray:
    """Predictions of every row by a model that did not see its fold."""
    number = len(A) if groups is None else int(groups.max()) + 1
    folds = min(FOLDS, number)
    split = KFold(folds, shuffle=True, random_state=seed) if groups is None else GroupKFold(folds)
    C = np.empty_like(V)
    for train, test in split.split(A, groups=groups):
        if hasattr(model, "n_neighbors"):
            model.set_params(n_neighbors=min(10, len(train)))
        targets = V[train] if V.shape[1] > 1 else V[train, 0]  # scikit-learn warns of one column
        C[test] = model.fit(A[train], targets).predict(A[test]).reshape(len(test), -1)
    return C
