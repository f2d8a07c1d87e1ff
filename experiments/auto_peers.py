"""What a scikit-learn user would have tried beside `AutoDependency`, tuned on training data."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from mercer.metrics import sample_f1

from .baselines import OneVsRest

TREES = 200
THRESHOLDS = np.arange(0.1, 0.61, 0.025)


def _searched(model: Any, grid: dict, folds: int = 5) -> GridSearchCV:
    cv = KFold(folds, shuffle=True, random_state=0)
    step = model.steps[-1][0]
    named = {f"{step}__{key}": values for key, values in grid.items()}
    return GridSearchCV(model, named, cv=cv, scoring="neg_mean_squared_error")


def regressors(n: int, d: int, quick: bool = False) -> dict[str, Any]:
    """Regressors of several standardised targets from raw inputs, for n rows of d columns."""
    trees = 20 if quick else TREES
    costs = {"estimator__C": [1.0, 10.0, 100.0], "estimator__gamma": [0.1 / d, 1.0 / d]}
    components = [c for c in (1, 2, 3, 5, 8, 12) if c <= min(d, int(0.7 * n))]
    return {
        "RidgeCV": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-4, 4, 17))),
        "PLS": _searched(
            make_pipeline(StandardScaler(), PLSRegression()), {"n_components": components}
        ),
        "ExtraTrees": ExtraTreesRegressor(trees, random_state=0),
        "random forest": RandomForestRegressor(trees, random_state=0),
        "SVM": _searched(make_pipeline(StandardScaler(), MultiOutputRegressor(SVR())), costs, 3),
        "kNN": _searched(
            make_pipeline(StandardScaler(), KNeighborsRegressor(weights="distance")),
            {"n_neighbors": [3, 5, 10, 20]},
        ),
    }


def predicted(model: Any, X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """What a regressor predicts; it learns targets in units of their spread."""
    scaler = StandardScaler().fit(Y)
    return scaler.inverse_transform(model.fit(X, scaler.transform(Y)).predict(new))


def label_sets(
    X: np.ndarray, Y: np.ndarray, new: np.ndarray, quick: bool = False
) -> dict[str, np.ndarray]:
    """Label sets that classifiers predict, each with a threshold that was tuned for F1."""
    scaler = StandardScaler().fit(X)
    A, B = scaler.transform(X), scaler.transform(new)
    costs = (0.01, 1.0) if quick else (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
    found = {"one-vs-rest logistic": OneVsRest(sample_f1, costs).fit(A, Y).predict(B)}
    models = regressors(len(X), X.shape[1], quick)
    for name in ("RidgeCV", "ExtraTrees", "random forest", "kNN"):
        found[name] = _thresholded(models[name], X, Y, new)
    return found


def _thresholded(model: Any, X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> np.ndarray:
    held_out = cross_val_predict(
        model, X, Y.astype(float), cv=KFold(3, shuffle=True, random_state=0)
    )
    best = max(THRESHOLDS, key=lambda t: sample_f1(Y, _sets(held_out, t)))
    return _sets(model.fit(X, Y.astype(float)).predict(new), best)


def _sets(scores: np.ndarray, threshold: float) -> np.ndarray:
    sets = scores >= threshold
    none = np.flatnonzero(~sets.any(axis=1))
    sets[none, scores[none].argmax(axis=1)] = True
    return sets.astype(int)
