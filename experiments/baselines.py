"""What a scikit-learn user would have tried, tuned on training data by cross-validation."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

ONE_VS_REST = "scikit-learn: one-vs-rest logistic regression"
EACH_LETTER = "scikit-learn: SVC on each letter"
WIDE = 100_000
"""Inputs times outputs from which trees look at some of the inputs only."""
COSTS = (0.03, 0.1, 0.3, 1.0, 3.0)


def regressors(
    X: np.ndarray, outputs: int, grouped: bool = False, quick: bool = False
) -> dict[str, GridSearchCV]:
    """Return scikit-learn's regressors of several outputs, tuned in five folds, by name.

    If `quick`, two folds and ten trees. A split of a tree costs inputs times outputs: of images it
    tries the square root of the inputs.
    """
    folds = 2 if quick else 5
    cv = GroupKFold(folds) if grouped else KFold(folds, shuffle=True, random_state=0)
    gamma = 1.0 / (X.shape[1] * X.var())  # scikit-learn's "scale"
    grids: dict[str, tuple[Any, dict]] = {
        "Ridge": (Ridge(), {"alpha": np.logspace(-4, 4, 9)}),
        "KernelRidge": (
            KernelRidge(kernel="rbf"),
            {"gamma": gamma * np.array([0.03, 0.1, 0.3, 1.0]), "alpha": np.logspace(-4, 1, 6)},
        ),
        "ExtraTreesRegressor": (
            ExtraTreesRegressor(
                10 if quick else 100,
                max_features="sqrt" if X.shape[1] * outputs > WIDE else 1.0,
                random_state=0,
            ),
            {"min_samples_leaf": [1, 3, 10]},
        ),
    }
    return {
        f"scikit-learn: {name}": GridSearchCV(
            model, grid, cv=cv, scoring="neg_mean_squared_error", n_jobs=1
        )
        for name, (model, grid) in grids.items()
    }


def fit_and_predict(
    X: np.ndarray,
    Y: np.ndarray,
    new: np.ndarray,
    groups: np.ndarray | None = None,
    quick: bool = False,
) -> Iterator[tuple[str, np.ndarray, float]]:
    """Yield the name of each regressor, its predictions for the rows `new`, and its seconds.

    Arrays of several axes are flattened, and predictions are given the shape of outputs.
    """
    X, new, flat = (A.reshape(len(A), -1) for A in (X, new, Y))
    for name, search in regressors(X, flat.shape[1], groups is not None, quick).items():
        start = time.perf_counter()
        predicted = search.fit(X, flat, groups=groups).predict(new)
        yield name, predicted.reshape(len(new), *Y.shape[1:]), time.perf_counter() - start


class OneVsRest:
    """One-vs-rest logistic regression, with C and a common threshold tuned for a metric.

    Both are chosen on predictions for held-out thirds of the training data.
    """

    def __init__(self, metric: Callable, costs: tuple[float, ...] = COSTS) -> None:
        self.metric, self.costs = metric, costs

    def fit(self, X: Any, Y: np.ndarray) -> OneVsRest:
        """Choose C and the threshold on held-out predictions, and fit to all training data."""
        with warnings.catch_warnings():  # a label may be absent from a fold, and is never predicted
            warnings.filterwarnings("ignore", "Label not .* is present", UserWarning)
            return self._fit(X, Y)

    def _fit(self, X: Any, Y: np.ndarray) -> OneVsRest:
        """Choose C and the threshold, and fit; `fit` silences the warnings of rare labels."""
        trials = []
        for cost in self.costs:
            model = OneVsRestClassifier(LogisticRegression(C=cost, solver="liblinear"))
            held_out = cross_val_predict(model, X, Y, cv=3, method="predict_proba")
            for threshold in np.arange(0.05, 0.6, 0.025):
                trials.append(
                    (
                        self.metric(Y, _threshold_probabilities(held_out, threshold)),
                        cost,
                        threshold,
                        model,
                    )
                )
        self.score, self.cost, self.threshold, model = max(trials, key=lambda trial: trial[0])
        self.model = model.fit(X, Y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels with a probability over the threshold, or the most probable one."""
        return _threshold_probabilities(self.model.predict_proba(X), self.threshold)


def _threshold_probabilities(probabilities: np.ndarray, threshold: float) -> np.ndarray:
    """Return 0/1 labels: those with a probability over the threshold, or else the best one."""
    sets = probabilities >= threshold
    rows = np.flatnonzero(~sets.any(axis=1))
    sets[rows, probabilities[rows].argmax(axis=1)] = True
    return sets.astype(int)


@dataclass(frozen=True)
class Letters:
    """A tuned classifier of images of letters, which reads words letter by letter."""

    search: GridSearchCV

    @property
    def chosen(self) -> str:
        """The parameters chosen on the training words, as text."""
        return str(self.search.best_params_)

    def read(self, X: np.ndarray, words: np.ndarray) -> dict[str, np.ndarray]:
        """Return each word as read letter by letter, and the word of `words` with the best score.

        Scores are scikit-learn's one-vs-rest decision values; words are as long as the input.
        """
        scores = self.search.decision_function(np.vstack(list(X)))
        classes, ends = self.search.classes_, np.cumsum([len(x) for x in X])
        number = {letter: i for i, letter in enumerate(classes)}
        letters, best_words = [], []
        for word_scores in np.split(scores, ends[:-1]):
            letters.append("".join(classes[word_scores.argmax(axis=1)]))
            candidates = [w for w in words if len(w) == len(word_scores)] or [letters[-1]]
            best_words.append(
                max(candidates, key=lambda word: _word_score(word_scores, word, number))
            )
        return {"letters": np.array(letters, object), "words": np.array(best_words, object)}


def _word_score(scores: np.ndarray, word: str, number: dict[str, int]) -> float:
    """Return the sum of the scores of the letters of a word; an unknown letter has the lowest."""
    return sum(
        row[number[letter]] if letter in number else row.min()
        for row, letter in zip(scores, word, strict=True)
    )


def each_letter(X: np.ndarray, y: np.ndarray, groups: np.ndarray | None) -> Letters:
    """Return an SVM fitted to single letters, with C chosen in folds that keep words together."""
    word = np.repeat(np.arange(len(y)), [len(x) for x in X])
    search = GridSearchCV(SVC(), {"C": [1.0, 10.0]}, cv=GroupKFold(3), n_jobs=1)
    return Letters(search.fit(np.vstack(list(X)), list("".join(y)), groups=word))
