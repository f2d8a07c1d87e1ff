"""The importance of each input column: the fall of the left-out score when it is shuffled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from .._base.folds import fold_numbers
from ..estimators import Blend
from ..estimators.pairs import group_labels
from ..estimators.probabilities import has_classes
from .inputs import Inputs
from .pairs import Pairs
from .tables.table import Name

IMPORTANCE_FOLDS, ONE_FOLD_ROWS = 3, 1000
"""The number of folds; with more than ONE_FOLD_ROWS rows only the first fold is left out."""
IMPORTANCE_ROWS = 3000
"""The largest number of rows that are used."""
REPEATS, REPEATED_ROWS = 5, 100_000
"""A column is shuffled REPEATS times, or once if more than REPEATED_ROWS rows are predicted."""


def importances(
    model: Any, inputs: Inputs, pairs: Pairs, score: Callable[..., float], seed: int = 0
) -> dict[Name, float]:
    """Return, for each input column, the fall of the left-out score when it is shuffled.

    Parameters
    ----------
    model
        The model that was chosen; it is fitted again without the rows that are left out.
    inputs : Inputs
        How columns are read.
    pairs : Pairs
        The training data.
    score : callable
        The score of truth, predictions and a function that returns probabilities.
    seed : int, default=0
        The seed of samples and orders.
    """
    random = np.random.RandomState(seed)
    if pairs.n > IMPORTANCE_ROWS:
        pairs = pairs.rows(np.sort(random.permutation(pairs.n)[:IMPORTANCE_ROWS]))
    folds = fold_numbers(group_labels(pairs.groups, pairs.n), IMPORTANCE_FOLDS)
    names = [name for name, kind in inputs.kinds_.items() if kind != "nothing"]
    found: dict[Name, list[float]] = {name: [] for name in names}
    for fold in range(1 if pairs.n > ONE_FOLD_ROWS else int(folds.max()) + 1):
        fitted = pairs.rows(np.flatnonzero(folds != fold)).fit_model(_unfitted(model))
        out = pairs.rows(np.flatnonzero(folds == fold))
        best = _score(fitted, out.X, out.y, score)
        repeats = REPEATS if REPEATS * out.n * len(names) <= REPEATED_ROWS else 1
        for name in names * repeats:
            shuffled = inputs.shuffled(out.X, name, random.permutation(out.n))
            found[name].append(best - _score(fitted, shuffled, out.y, score))
    falls = {name: float(np.mean(values)) for name, values in found.items()}
    return dict(sorted(falls.items(), key=lambda item: -item[1]))


def _unfitted(model: Any) -> Any:
    """Return an unfitted copy of a model; a blend keeps only its models with positive weight."""
    if not isinstance(model, Blend):
        return clone(model)
    used = [one for one, weight in zip(model.models_, model.weights_, strict=True) if weight > 0]
    return Blend([clone(one) for one in used or model.models_], model.decoder)


def _score(model: Any, X: Any, y: Any, score: Callable[..., float]) -> float:
    """Return the score of a fitted model on the rows X with the true outputs y."""

    def probabilities() -> tuple[np.ndarray, np.ndarray]:
        """Return the classes and the predicted class probabilities."""
        return model.classes_, model.predict_proba(X)

    return score(y, model.predict(X), probabilities if has_classes(model) else None)
