"""The honest score of a choice: the whole procedure, choice and calibration included, on folds."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import Items, count, host
from .choice import AUTO, Told, judges
from .pairs import group_labels, rows_of


def nested_score(
    model: Any, X: Items, y: Items, groups: Items | None, weights: Any, folds: int
) -> tuple[float, float]:
    """Risk and score over folds of groups that neither chose nor fitted what predicts them.

    Parameters
    ----------
    model
        A `KernelDependencyCV`, cloned for every fold.
    X, y, groups, weights
        What it is fitted on.
    folds
        The number of folds; pairs of one group are in one fold.

    Returns
    -------
    risk, score
        The mean squared distance in feature space, and the mean of `scoring` over the folds,
        each fold by its size; NaN without scoring.
    """
    from sklearn.model_selection import GroupKFold

    labels = group_labels(groups, count(y))
    number = int(labels.max()) + 1
    if not isinstance(folds, int) or not 2 <= folds <= number:
        raise ValueError(f"nested must be a number of folds from 2 to {number}, got {folds!r}.")
    order = np.random.default_rng(0).permutation(number)[labels]  # data may come sorted
    w = None if weights is None else np.asarray(weights, dtype=float)
    risks, scores, sizes = [], [], []
    for rest, rows in GroupKFold(folds).split(labels, groups=order):
        inner = clone(model).set_params(nested=None, verbose=False)
        own = None if groups is None else labels[rest]
        inner.fit(
            rows_of(X, rest), rows_of(y, rest), groups=own,
            sample_weight=None if w is None else w[rest],
        )  # fmt: skip
        X_new, y_new = rows_of(X, rows), rows_of(y, rows)
        errors = host(inner.embed(X_new).sqdistances_to(y_new))
        risks.append(float(np.average(errors, weights=None if w is None else w[rows])))
        scores.append(_score(inner, X_new, y_new, None if w is None else w[rows]))
        sizes.append(len(rows) if w is None else w[rows].sum())
    return float(np.average(risks, weights=sizes)), float(np.average(scores, weights=sizes))


def _score(model: Any, X: Items, y: Items, weights: np.ndarray | None) -> float:
    """The model's scoring on decoded predictions."""
    from sklearn.metrics import check_scoring

    if not judges(model.scoring, model.output_kernel_):
        return float("nan")
    told = Told(model.predict(X))
    if model.scoring == AUTO:
        values = model.output_kernel_.space.metric(y, told.predictions, average=False)
        return float(np.average(values, weights=weights))
    scorer = check_scoring(told, scoring=model.scoring)
    more = {} if weights is None else {"sample_weight": weights}
    return float(scorer(told, X, y, **more))
