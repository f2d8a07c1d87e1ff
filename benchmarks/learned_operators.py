"""Does learning the operator pay?

On tasks that share three directions, and on emotions, vehicle rankings and DTI curves: identity and
covariance, chosen by leave-one-out, and the learnt operator, whose ridge, power and kernel are
chosen by five-fold refits on the training data. Wanted on the made-up tasks: the learnt operator at
least 15 % below the identity, and at most 10 % above the covariance. Elsewhere the differences are
reported as they fall.

    python benchmarks/learned_operators.py [tasks] [emotions] [vehicle] [dti]
"""

import sys

import numpy as np
from _compare import compare, mean, show
from sklearn.model_selection import GroupKFold, KFold
from sklearn.preprocessing import StandardScaler

from experiments.report import Report
from mercer import KernelDependency, KernelDependencyCV
from mercer._base.folds import fold_numbers, fold_rows
from mercer.datasets import load_dti, load_emotions, load_label_ranking
from mercer.kernels import L2, RBF, Gaussian, Kendall, Labels, Linear
from mercer.operators import Covariance, Identity, learn_operator

POWERS = (1.0, 0.5)
OPERATORS = {"identity": Identity(), "covariance": Covariance()}


def tasks(seed, n=60, d=20, q=40, rank=3, noise=0.5, n_test=1000):
    """Linear tasks of rank three with unit variance; the test outputs have no noise."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(d, rank)) @ rng.normal(size=(rank, q)) / np.sqrt(d * rank)
    X = rng.normal(size=(n + n_test, d))
    Y = X[:n] @ W + noise * rng.normal(size=(n, q))
    return X[:n], Y, None, X[n:], X[n:] @ W


def folds(X, Y, groups=None, scale=False):
    splitter = KFold(5, shuffle=True, random_state=0)
    if groups is not None:
        splitter = GroupKFold(5, shuffle=True, random_state=0)
    for train, test in splitter.split(X, groups=groups):
        A, B = X[train], X[test]
        if scale:
            scaler = StandardScaler().fit(A)
            A, B = scaler.transform(A), scaler.transform(B)
        yield A, Y[train], None if groups is None else groups[train], B, Y[test]


def methods(kernels, output_kernel, alphas, intercept):
    """1 - score on the test outputs, by name of the operators to choose from."""

    def scored(operator):
        def score(X, Y, groups, X_test, Y_test):
            choices = [kernel * operator for kernel in kernels]
            model = KernelDependencyCV(
                choices, output_kernel, alphas=alphas, fit_intercept=intercept
            ).fit(X, Y, groups=groups)
            return 1.0 - model.score(X_test, Y_test)

        return score

    def fitted(kernel, alpha, power, X, Y):
        operator = learn_operator(
            kernel, X, Y, alpha, output_kernel=output_kernel, power=power, fit_intercept=intercept
        )
        model = KernelDependency(kernel * operator, output_kernel, alpha, fit_intercept=intercept)
        return model.fit(X, Y)

    def learnt(X, Y, groups, X_test, Y_test):
        parts = fold_rows(fold_numbers(np.arange(len(X)) if groups is None else groups, 5))
        parts = list(parts)
        settings = [(k, alpha, p) for k in kernels for alpha in alphas for p in POWERS]
        errors = [
            sum(len(out) * (1.0 - fitted(*s, X[rest], Y[rest]).score(X[out], Y[out]))
                for rest, out in parts)
            for s in settings
        ]  # fmt: skip
        return 1.0 - fitted(*settings[int(np.argmin(errors))], X, Y).score(X_test, Y_test)

    return {name: scored(operator) for name, operator in OPERATORS.items()} | {"learnt": learnt}


def emotions():
    data = load_emotions()
    X = np.vstack([data.X_train.toarray(), data.X_test.toarray()])
    Y = np.vstack([data.y_train.toarray(), data.y_test.toarray()]).astype(float)
    kernels = [RBF(s) for s in (5.0, 10.0, 20.0)]
    return folds(X, Y, scale=True), methods(kernels, Labels(), np.logspace(-3, 3, 13), True)


def vehicle():
    X, ranks = load_label_ranking("vehicle")
    kernels = [RBF(c * np.sqrt(X.shape[1])) for c in (0.3, 0.6, 1.0)]
    return folds(X, ranks, scale=True), methods(kernels, Kendall(), np.logspace(-5, 2, 15), True)


def dti():
    X, Y, subject = load_dti()
    kernels = [Gaussian(L2(), s) for s in (0.2, 0.4)]
    return folds(X, Y, subject), methods(kernels, L2(), np.logspace(-8, 1, 10), True)


SETTINGS = {
    "tasks": lambda: (
        [tasks(seed) for seed in range(5)],
        methods([Linear()], Linear(), np.logspace(-2, 6, 17), False),
    ),
    "emotions": emotions,
    "vehicle": vehicle,
    "dti": dti,
}


def wanted(report):
    if "tasks" in {row.setting for row in report.rows}:
        found = mean(report, "learnt", "tasks")
        for other, limit in (("identity", 0.85), ("covariance", 1.1)):
            ratio = found / mean(report, other, "tasks")
            yield f"tasks: learnt / {other} = {ratio:.3f} (at most {limit} is the target)"


if __name__ == "__main__":
    report = Report("learned operators", lower_is_better=["relative error"], wide=True)
    for name in sys.argv[1:] or SETTINGS:
        splits, contestants = SETTINGS[name]()
        compare(report, name, "relative error", splits, contestants)
    report.notes.append("Relative error: Σ‖g(x) - Φ(y)‖² over Σ‖Φ(y) - mean‖² of the test outputs.")
    show(report, wanted)
