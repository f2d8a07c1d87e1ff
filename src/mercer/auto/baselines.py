"""Simple models that a user would have tried, scored on rows that they did not see."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils.validation import has_fit_parameter

from .._base.arrays import Items, host
from .._base.folds import FOLDS, fold_numbers
from ..embedding import Embedding
from ..estimators import RegressorDependency, group_labels
from ..estimators.choices import calibrated
from ..estimators.known_targets import known_coordinates
from ..features import Explicit
from ..kernels import Kernel
from .inputs import Inputs
from .kinds.base import Kind
from .measures import left_out_probabilities
from .pairs import Pairs

MANY_COLUMNS = 200
"""From this many columns on, baselines are scored on a smaller sample of rows."""
WORDS = 1000
"""The number of words of a text column that baselines use."""
BASELINE_ROWS = 5000
"""The largest number of rows on which baselines are scored; a quarter of it for many columns."""


def baseline_scores(
    inputs: Inputs,
    outputs: Kind,
    kernel: Kernel,
    pairs: Pairs,
    score: Callable[..., float],
    board: Sequence[dict[str, Any]],
) -> dict[str, float]:
    """Return the five-fold cross-validated score of each baseline regressor, by name.

    The baselines predict the coordinates of the outputs under the output kernel. Their predictions
    are decoded like those of other models, with calibrated thresholds. Texts are represented by
    TF-IDF features of their words. The result is empty for outputs without finite features.
    Sample weights count in all scores, and in the fits of regressors that take them.

    The tree model of the leaderboard `board` is a baseline too.
    """
    most = (
        BASELINE_ROWS // 4 if inputs.non_numeric or inputs.width_ >= MANY_COLUMNS else BASELINE_ROWS
    )
    if pairs.n > most:
        pairs = pairs.rows(np.sort(np.random.RandomState(0).permutation(pairs.n)[:most]))
    scores: dict[str, float] = {}
    y = pairs.complete
    A = _feature_matrix(inputs, pairs.X) if clone(kernel).fit(y).features is not None else None
    if A is None or not A.shape[1]:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # as of the other models
        head = RegressorDependency(None, kernel, Explicit(), outputs.decoder()).fit_outputs(y)
    V, labels = host(head.targets(y)), group_labels(pairs.groups, pairs.n)
    if pairs.known is not None:
        V = _fill_with_column_means(
            V, known_coordinates(head.output_kernel_, head.outputs_, pairs.known)
        )
    V = V[:, 0] if V.shape[1] == 1 else V  # scikit-learn warns of one column
    split = PredefinedSplit(fold_numbers(labels, FOLDS))
    fewest = min(len(train) for train, _ in split.split())
    for name, regressor in _baseline_models(fewest).items():
        weighted = pairs.weights is not None and has_fit_parameter(regressor, "sample_weight")
        params = {"sample_weight": pairs.weights} if weighted else None
        C = cross_val_predict(regressor, A, V, cv=split, params=params)
        points = Embedding(C.reshape(pairs.n, -1), head.frame_, labels, sample_weight=pairs.weights)
        class_probabilities = partial(left_out_probabilities, head.output_kernel_, points, pairs.y)
        decoder = calibrated(head.decoder_, points, head.outputs_)
        decoded = decoder.decode(points)
        scores[name] = score(pairs.y, decoded, class_probabilities, pairs.weights)
    return scores | _tree_baseline(board)


def _tree_baseline(board: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the left-out score of boosted trees, or else of extra trees, by name."""
    found = {row["family"]: row["score"] for row in board}
    names = [name for name in ("boosted trees", "extra trees") if name in found]
    return {name: found[name] for name in names[:1]}


def _fill_with_column_means(V: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return V with the entries that are not `known` replaced by the mean of their column."""
    return np.where(known, V, (V * known).sum(axis=0) / known.sum(axis=0))


def _feature_matrix(inputs: Inputs, X: Items) -> np.ndarray:
    """Return the rows X as a matrix: numeric columns, and TF-IDF features of text columns."""
    if not inputs.non_numeric:
        return X
    from sklearn.feature_extraction.text import TfidfVectorizer  # slow to import

    parts = [inputs.scaled_numbers(X)]
    for name in inputs.non_numeric:
        cells = [row[str(name)] for row in X]
        if inputs.kinds_[name] == "graph":
            continue
        labels = inputs.kinds_[name] == "labels"  # of any types, which cannot be sorted
        arguments: dict[str, Any] = (
            {"analyzer": lambda cell: list(map(str, cell))} if labels else {}
        )
        if inputs.kinds_[name] == "smiles" or not any(" " in str(cell) for cell in cells):
            arguments = arguments or {"analyzer": "char", "ngram_range": (1, 3)}
        try:
            parts.append(
                TfidfVectorizer(max_features=WORDS, **arguments).fit_transform(cells).toarray()
            )
        except ValueError:  # no words at all
            continue
    return np.hstack(parts)


def _baseline_models(rows: int) -> dict[str, Any]:
    """Return the unfitted baseline regressors by name, for the given number of training rows."""
    return {
        "mean": DummyRegressor(),
        "ridge": RidgeCV(np.logspace(-4, 4, 9)),
        "nearest neighbours": KNeighborsRegressor(min(10, rows), weights="distance"),
    }
