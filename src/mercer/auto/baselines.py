"""Simple models that a user would have tried, scored on rows that they did not see."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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
from .inputs import Inputs
from .measures import left_out_probabilities
from .outputs import Outputs
from .progress import Clock
from .search import Pairs

FOLDS, TREES = 5, 50
WIDE = 200
"""Columns from which on trees look at the root of their number at a split."""
WORDS = 1000
"""Words of a column of text that baselines look at."""
MOST = 5000
"""Rows beyond which baselines are scored on a sample; a quarter of it where columns are many."""


def baselines(
    inputs: Inputs,
    outputs: Outputs,
    pairs: Pairs,
    score: Callable[..., float],
    clock: Clock,
    seed: int,
) -> dict[str, float]:
    """Return the score of each in five folds; they learn coordinates of the outputs.

    What they predict is decoded as the predictions of other models are, thresholds calibrated.
    Texts are counted by their words (TF-IDF). Empty for outputs without finite features.
    """
    most = MOST // 4 if inputs.texts or inputs.width_ >= WIDE else MOST
    if pairs.n > most:
        pairs = pairs.rows(np.sort(np.random.RandomState(seed).permutation(pairs.n)[:most]))
    kernel = outputs.kernel().fit(pairs.y)
    A = _features(inputs, pairs.X) if kernel.features is not None else None
    if A is None or not A.shape[1]:
        return {}
    map = Explicit().fit(kernel, pairs.y)
    V, scores = host(map.transform(pairs.y)), {}
    decoder = (outputs.decoder() or natural(kernel)).fit(kernel, pairs.y)
    for name, model in _models(seed, A.shape[1]).items():
        if not clock.allows("baseline"):
            break
        C = clock.timed("baseline", lambda: _left_out(model, A, V, pairs.groups, seed))  # noqa: B023
        points = Embedding(C, OrthonormalFrame(map), left_out=np.arange(pairs.n))
        made = partial(left_out_probabilities, kernel, points, pairs.y)
        scores[name] = score(pairs.y, calibrated(decoder, points, pairs.y).decode(points), made)
    return scores


def _features(inputs: Inputs, X: Items) -> np.ndarray:
    """Numbers, and the words or labels of texts, as columns."""
    if not inputs.texts:
        return X
    from sklearn.feature_extraction.text import TfidfVectorizer  # slow to import

    parts = [inputs.scaled_numbers(X)]
    for name in inputs.texts:
        cells = [row[str(name)] for row in X]
        if inputs.kinds_[name] == "graph":
            continue
        how: dict[str, Any] = {"analyzer": list} if inputs.kinds_[name] == "labels" else {}
        if inputs.kinds_[name] == "smiles" or not any(" " in str(cell) for cell in cells):
            how = how or {"analyzer": "char", "ngram_range": (1, 3)}
        try:
            parts.append(TfidfVectorizer(max_features=WORDS, **how).fit_transform(cells).toarray())
        except ValueError:  # no words at all
            continue
    return np.hstack(parts)


def _models(seed: int, width: int) -> dict[str, Any]:
    share = 1.0 if width < WIDE else "sqrt"
    return {
        "mean": DummyRegressor(),
        "ridge": RidgeCV(np.logspace(-4, 4, 9)),
        "nearest neighbours": KNeighborsRegressor(10, weights="distance"),
        "extra trees": ExtraTreesRegressor(TREES, max_features=share, random_state=seed),
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
