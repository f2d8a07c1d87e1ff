"""How much harm do wrong outputs do with a linear and with an RBF output kernel?

USPS halves (500 to learn from, 1000 to test) and DTI curves (four fifths of the subjects to learn
from), five splits; a tenth of the training outputs is multiplied by ten, or none. Everything is
chosen on the training data, wrong outputs included, by leave-one-out. Next to them is
scikit-learn's Huber regression of each value. Wanted of the RBF output kernel with wrong outputs:
at most 0.6 times the error of the linear one on USPS, 0.1 times on DTI; with none wrong, at most
1.03 times.

    python benchmarks/wrong_outputs.py [usps] [dti]
"""

import sys

import numpy as np
from _compare import compare, mean, show
from sklearn.linear_model import HuberRegressor
from sklearn.model_selection import GridSearchCV, GroupKFold, GroupShuffleSplit, KFold
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.report import Report
from mercer import KernelDependencyCV
from mercer.datasets import load_dti, load_usps
from mercer.kernels import L2, RBF, Gaussian, Linear

SEEDS = range(5)
RIDGES = {"estimator__huberregressor__alpha": [1.0, 30.0, 1000.0]}
MEDIAN = "neg_median_absolute_error"
"""Right outputs decide, since nine tenths are right."""


def spoilt(Y, seed, share):
    wrong = np.random.default_rng(seed).choice(len(Y), int(share * len(Y)), replace=False)
    Y = Y.copy()
    Y[wrong] *= 10.0
    return Y


def usps(share):
    images = load_usps()[0]
    for seed in SEEDS:
        order = np.random.default_rng(seed).permutation(len(images))
        train, test = images[order[:500]], images[order[500:1500]]
        yield train[:, :8], spoilt(train[:, 8:], seed, share), None, test[:, :8], test[:, 8:]


def dti(share):
    X, Y, subject = load_dti()
    for seed in SEEDS:
        split = GroupShuffleSplit(1, test_size=0.2, random_state=seed).split(X, Y, subject)
        train, test = next(split)
        yield X[train], spoilt(Y[train], seed, share), subject[train], X[test], Y[test]


def methods(kernels, linear, radial, alphas, intercept):
    def scored(output_kernel):
        def score(X, Y, groups, X_test, Y_test):
            model = KernelDependencyCV(
                kernels, output_kernel, alphas=alphas, fit_intercept=intercept
            ).fit(X, Y, groups=groups)
            return float(((model.predict(X_test) - Y_test) ** 2).mean())

        return score

    def each_pixel(X, Y, groups, X_test, Y_test):
        """Huber regression of each value by itself; three folds of some choose the ridge of all."""
        X, X_test, flat = (A.reshape(len(A), -1) for A in (X, X_test, Y))
        pipeline = make_pipeline(StandardScaler(), HuberRegressor(max_iter=300))
        cv = KFold(3) if groups is None else GroupKFold(3)
        search = GridSearchCV(MultiOutputRegressor(pipeline), RIDGES, cv=cv, scoring=MEDIAN)
        search.fit(X, flat[:, :: flat.shape[1] // 6], groups=groups)
        found = search.best_estimator_.fit(X, flat).predict(X_test)
        return float(((found - Y_test.reshape(found.shape)) ** 2).mean())

    return {
        "scikit-learn: HuberRegressor": each_pixel,
        "linear outputs": scored(linear),
        "RBF outputs": scored(radial),
    }


SETTINGS = {
    "usps": (
        usps,
        methods([RBF(s) for s in (4.0, 6.0, 8.0)], Linear(), RBF(12.0),
                np.logspace(-2, 1, 7), False),
    ),
    "dti": (
        dti,
        methods([Gaussian(L2(), s) for s in (0.1, 0.2, 0.4, 0.8)], L2(), RBF(1.0),
                np.logspace(-4, 2, 7), True),
    ),
}  # fmt: skip
LIMITS = {"usps": 0.6, "dti": 0.1}


def wanted(report):
    for name in {row.setting.split(",")[0]: None for row in report.rows}:
        for kind, limit in (("a tenth wrong", LIMITS[name]), ("none wrong", 1.03)):
            setting = f"{name}, {kind}"
            ratio = mean(report, "RBF outputs", setting) / mean(report, "linear outputs", setting)
            yield f"{setting}: RBF / linear = {ratio:.3f} (at most {limit} is the target)"


if __name__ == "__main__":
    report = Report("wrong outputs", baseline="linear outputs", lower_is_better=["squared error"])
    report.wide = True
    for name in [name for name in sys.argv[1:] if name in SETTINGS] or SETTINGS:
        splits, contestants = SETTINGS[name]
        for kind, share in (("none wrong", 0.0), ("a tenth wrong", 0.1)):
            compare(report, f"{name}, {kind}", "squared error", splits(share), contestants)
    show(report, wanted)
