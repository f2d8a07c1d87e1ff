"""What a scikit-learn user would have tried instead of `AutoDependency`, tuned on training data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.cross_decomposition import PLSRegression
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

from mercer.metrics import sample_f1

TREES = 200
COSTS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
WIDE = 2_000_000
"""Cells of inputs beyond which machines are linear and forests see few columns at a split."""
REGRESSORS = ("mean", "RidgeCV", "PLS", "ExtraTrees", "random forest", "SVM", "kNN")
CLASSIFIERS = ("RidgeCV", "ExtraTrees", "random forest", "SVM", "kNN", "logistic", "chains")


def regressor(
    name: str, n: int, d: int, folds: list, quick: bool = False, tune: bool = True
) -> Any:
    """Return a pipeline that standardises d columns and fits a tuned regressor of targets.

    `folds` are the splits that it is tuned by, if `tune`.
    """
    trees = 20 if quick else TREES
    components = [c for c in (1, 2, 3, 5, 8, 12) if c <= min(d, int(0.6 * n))]
    grown = {"max_features": [1 / 3, 1.0], "min_samples_leaf": [1, 3]}
    costs = {"estimator__C": [1.0, 10.0, 100.0], "estimator__gamma": [0.1 / d, 1.0 / d]}
    near = {"n_neighbors": [3, 5, 10, 20]}
    choices: dict[str, tuple[Any, dict]] = {
        "mean": (DummyRegressor(), {}),
        "RidgeCV": (RidgeCV(np.logspace(-4, 4, 17)), {}),
        "PLS": (PLSRegression(), {"n_components": components}),
        "ExtraTrees": (ExtraTreesRegressor(trees, random_state=0), grown),
        "random forest": (RandomForestRegressor(trees, random_state=0), grown),
        "SVM": (MultiOutputRegressor(SVR()), costs),
        "kNN": (KNeighborsRegressor(weights="distance"), near),
        "kernel ridge": (KernelRidge(kernel="rbf"), _kernel_grid(d)),
        "boosting": (MultiOutputRegressor(HistGradientBoostingRegressor()), BOOSTING),
    }
    model, grid = choices[name]
    pipeline = make_pipeline(StandardScaler(), model)
    named = {f"{pipeline.steps[-1][0]}__{key}": values for key, values in grid.items()}
    if not named or not tune:
        return pipeline
    return GridSearchCV(pipeline, named, cv=folds, scoring="neg_mean_squared_error")


BOOSTING = {"estimator__max_leaf_nodes": [7, 31], "estimator__learning_rate": [0.05, 0.1]}


def _kernel_grid(d: int) -> dict[str, Any]:
    """Return the ridges and widths of kernel ridge regression on d standardised columns."""
    return {"alpha": np.logspace(-4, 1, 6), "gamma": [c / d for c in (0.03, 0.1, 0.3, 1.0)]}


def predict_by_regressor(
    name: str,
    X: np.ndarray,
    Y: np.ndarray,
    new: np.ndarray,
    groups: np.ndarray | None = None,
    quick: bool = False,
    tune: bool = True,
) -> np.ndarray:
    """Return the predictions of a regressor for the rows `new`, fitted to standardised targets."""
    scaler = StandardScaler().fit(Y)
    model = regressor(name, len(X), X.shape[1], tuning_folds(len(X), groups), quick, tune)
    with warnings.catch_warnings():  # PLS on targets that are explained already
        warnings.simplefilter("ignore")
        predicted = model.fit(X, scaler.transform(Y)).predict(new)
    return scaler.inverse_transform(predicted.reshape(len(new), -1))


def tuning_folds(n: int, groups: np.ndarray | None, folds: int = 5) -> list:
    """Return the splits of n rows by which peers are tuned; groups are not divided."""
    split: Any = KFold(folds, shuffle=True, random_state=0) if groups is None else GroupKFold(folds)
    return list(split.split(np.zeros((n, 1)), groups=groups))


def predict_text_tags(X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return tags of the texts `new` by ridge regression on TF-IDF, tuned on held-out texts."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(sublinear_tf=True).fit(X)
    A, B, n = words.transform(X), words.transform(new), len(X) * 4 // 5
    best: Any = (-1.0, 0.0, 0.0)
    for alpha in (0.3, 3.0):
        ridge = Ridge(alpha, solver="sparse_cg").fit(A[:n], Y[:n])
        scores = ridge.predict(A[n:])
        for threshold in np.linspace(0.1, 0.6, 26):
            score = sample_f1(Y[n:], threshold_scores(scores, threshold))
            best = max(best, (score, alpha, threshold))
    return threshold_scores(Ridge(best[1], solver="sparse_cg").fit(A, Y).predict(B), best[2])


def predict_label_sets(
    name: str, X: np.ndarray, Y: np.ndarray, new: np.ndarray, quick: bool = False
) -> np.ndarray:
    """Return label sets of the rows `new` by a classifier tuned for F1 in three folds."""
    scaler = StandardScaler().fit(X)
    A, B = scaler.transform(X), scaler.transform(new)
    if X.size > WIDE:  # words: as they are, sparse
        A, B = (csr_array(part) if name in SPARSE else part for part in (X, new))
    Y, folds = Y.astype(int), tuning_folds(len(X), None, 3)
    best: Any = (-1.0, 0.0, None)
    with warnings.catch_warnings():  # a label may be absent from a fold, and is never predicted
        warnings.simplefilter("ignore")
        for model, score in _classifiers_to_try(name, X.size, X.shape[1], quick):
            held_out = np.empty(Y.shape)
            for train, test in folds:
                held_out[test] = score(model.fit(A[train], Y[train]), A[test])
            for threshold in np.quantile(held_out, np.linspace(0.3, 1.0, 141)[:-1]):
                found = sample_f1(Y, threshold_scores(held_out, threshold))
                if found > best[0]:
                    best = found, threshold, (model, score)
        model, score = best[2]
        return threshold_scores(score(model.fit(A, Y), B), best[1])


SPARSE = ("logistic", "chains", "SVM")


def _classifiers_to_try(
    name: str, size: int, d: int, quick: bool
) -> Iterator[tuple[Any, Callable]]:
    """Yield classifiers with different parameters, each with the function for its scores."""
    costs = (0.01, 1.0) if quick else COSTS
    if name == "logistic":
        for cost in costs:
            yield OneVsRestClassifier(_logistic(cost)), _probabilities
    elif name == "chains":
        for cost in costs[1::2]:
            yield AveragedChains(cost, 1 if quick else 3), _probabilities
    elif name == "SVM" and size > WIDE:
        for cost in (0.01, 0.1, 1.0):
            yield OneVsRestClassifier(LinearSVC(C=cost)), _decisions
    elif name == "SVM":
        for cost in (1.0, 10.0):
            yield OneVsRestClassifier(SVC(C=cost, gamma=1.0 / d)), _decisions
    elif name == "RidgeCV":
        yield RidgeCV(np.logspace(-2, 6, 17)), _values
    elif name == "kernel ridge":
        for alpha in (0.1, 1.0, 10.0):
            for narrow in (0.1, 0.3, 1.0):
                yield KernelRidge(alpha=alpha, kernel="rbf", gamma=narrow / d), _values
    elif name == "boosting":
        for leaves in (7, 31):
            trees = HistGradientBoostingClassifier(max_leaf_nodes=leaves)
            yield OneVsRestClassifier(trees), _probabilities
    elif name == "kNN":
        for k in (5, 10, 20, 40):
            yield KNeighborsRegressor(k, weights="distance"), _values
    else:
        kind = ExtraTreesRegressor if name == "ExtraTrees" else RandomForestRegressor
        for width in ("sqrt",) if size > WIDE else ("sqrt", 1 / 3):
            yield kind(20 if quick else TREES, max_features=width, random_state=0), _values


def _logistic(cost: float) -> LogisticRegression:
    """Return an unfitted logistic regression with regularisation parameter C = `cost`."""
    return LogisticRegression(C=cost, solver="liblinear")


def _probabilities(model: Any, X: Any) -> np.ndarray:
    """Return the probability of each label by a fitted classifier."""
    return model.predict_proba(X)


def _decisions(model: Any, X: Any) -> np.ndarray:
    """Return the decision value of each label by a fitted classifier."""
    return model.decision_function(X)


def _values(model: Any, X: Any) -> np.ndarray:
    """Return the predictions of a fitted regressor of 0/1 labels."""
    return model.predict(X)


class AveragedChains:
    """Classifier chains in several random orders, whose probabilities are averaged."""

    def __init__(self, cost: float, number: int) -> None:
        self.cost, self.number = cost, number

    def fit(self, X: Any, Y: np.ndarray) -> AveragedChains:
        """Fit the chains to the labels that neither always nor never occur."""
        frequencies = Y.mean(axis=0)
        self.constant, self.known = (
            frequencies,
            np.flatnonzero((frequencies > 0) & (frequencies < 1)),
        )
        self.chains = [
            ClassifierChain(_logistic(self.cost), order="random", random_state=seed).fit(
                X, Y[:, self.known]
            )
            for seed in range(self.number)
        ]
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the mean probability of each label over the chains."""
        P = np.tile(self.constant, (X.shape[0], 1))
        P[:, self.known] = np.mean([chain.predict_proba(X) for chain in self.chains], axis=0)
        return P


def threshold_scores(scores: np.ndarray, threshold: float) -> np.ndarray:
    """Return 0/1 labels: those with a score over the threshold, or else the best one."""
    sets = scores >= threshold
    none = np.flatnonzero(~sets.any(axis=1))
    sets[none, scores[none].argmax(axis=1)] = True
    return sets.astype(int)
