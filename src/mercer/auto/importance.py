"""The importance of each input column: the fall of the left-out score when it is shuffled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import clone

from .._base.folds import fold_numbers
from ..estimators import Blend, group_labels
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
SHUFFLED_ROWS = 2000
"""The number of rows, of several shuffles, that are predicted in one call."""


def importances(
    model: Any, inputs: Inputs, pairs: Pairs, score: Callable[..., float]
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
    """
    random = np.random.RandomState(0)
    if pairs.n > IMPORTANCE_ROWS:
        pairs = pairs.rows(np.sort(random.permutation(pairs.n)[:IMPORTANCE_ROWS]))
    folds = fold_numbers(group_labels(pairs.groups, pairs.n), IMPORTANCE_FOLDS)
    names = [name for name, kind in inputs.kinds_.items() if kind != "nothing"]
    falls_by_column: dict[Name, list[float]] = {name: [] for name in names}
    for fold in range(1 if pairs.n > ONE_FOLD_ROWS else int(folds.max()) + 1):
        fitted = pairs.rows(np.flatnonzero(folds != fold)).fit_model(_unfitted(model))
        out = pairs.rows(np.flatnonzero(folds == fold))
        repeats = REPEATS if REPEATS * out.n * len(names) <= REPEATED_ROWS else 1
        best, *_ = _scores(fitted, [out.X], out, score)
        for shuffles in _batches(names * repeats, max(1, SHUFFLED_ROWS // out.n)):
            rows = [inputs.shuffled(out.X, name, random.permutation(out.n)) for name in shuffles]
            for name, worse in zip(shuffles, _scores(fitted, rows, out, score), strict=True):
                falls_by_column[name].append(best - worse)
    falls = {name: float(np.mean(values)) for name, values in falls_by_column.items()}
    return dict(sorted(falls.items(), key=lambda item: -item[1]))


def _unfitted(model: Any) -> Any:
    """Return an unfitted copy of a model; a blend keeps only its models with positive weight."""
    if not isinstance(model, Blend):
        return clone(model)
    used = [one for one, weight in zip(model.models_, model.weights_, strict=True) if weight > 0]
    return Blend([clone(one) for one in used or model.models_], model.decoder)


def _batches(names: list[Name], size: int) -> Iterator[list[Name]]:
    """Yield the names in lists of at most `size`."""
    return (names[start : start + size] for start in range(0, len(names), size))


def _scores(model: Any, batches: list[Any], out: Pairs, score: Callable[..., float]) -> list[float]:
    """Return the score of a fitted model on each batch of inputs; the outputs are those of `out`.

    All rows are predicted in one call, which costs much less than one call for each batch.
    """
    X, n = np.concatenate(batches), len(batches[0])
    predicted, named = model.predict(X), has_classes(model)

    @cache
    def probabilities() -> np.ndarray:
        """Return the predicted class probabilities of all rows."""
        return model.predict_proba(X)

    def score_rows(rows: slice) -> float:
        """Return the score of the predictions of some rows."""
        of_rows = (lambda: (model.classes_, probabilities()[rows])) if named else None
        return score(out.y, predicted[rows], of_rows, out.weights)

    return [score_rows(slice(start, start + n)) for start in range(0, len(X), n)]
