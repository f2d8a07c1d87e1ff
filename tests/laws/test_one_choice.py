"""A choice of one ridge is the fit at that ridge."""

import numpy as np
import pytest

from laws.cases import PROBLEMS, crossed, off, posed, size, vectors
from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import Candidates, FixedPoint
from mercer.features import IncompleteCholesky, KernelPCA, Nystroem
from mercer.kernels import RBF, Kendall, Labels
from mercer.operators import Covariance, ReducedRank
from mercer.sources import Stream

AGREE = 1e-9


@pytest.mark.parametrize(
    ("name", "condition"),
    crossed(PROBLEMS, ["plain", "intercept, groups", "weights, intercept, groups"]),
)
def test_points_and_predictions_are_equal(name, condition):
    problem = posed(name, condition)
    alpha = 1e-3 * size(problem)
    one = KernelDependency(alpha=alpha, **problem.params)
    choice = KernelDependencyCV(alphas=[alpha], **problem.params)
    for model in (one, choice):
        model.fit(problem.X, problem.Y, **problem.fit)
    inner = (model.embed(problem.X_new).inner(problem.Y) for model in (choice, one))
    assert off(*inner) <= AGREE
    assert choice.alpha_ == alpha
    if problem.problem.output is None:
        assert off(choice.predict(problem.X_new), one.predict(problem.X_new)) <= AGREE


OTHERS = {
    "low rank, no operator": {"kernel": RBF(1.0), "features": IncompleteCholesky(6)},
    "low rank outputs": {
        "kernel": RBF(1.0) * Covariance(), "output_kernel": RBF(2.0),
        "output_features": KernelPCA(4), "decoder": Candidates(),
    },
    "fixed point": {"kernel": RBF(1.0), "output_kernel": RBF(2.0), "decoder": FixedPoint()},
    "drawn landmarks": {"kernel": RBF(1.0), "features": Nystroem(6, random_state=0)},
    "reduced rank": {"kernel": RBF(1.0) * ReducedRank(1)},
}  # fmt: skip


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", OTHERS)
def test_of_other_parts(name, intercept):
    X, Y = vectors()
    X_new, _ = vectors(4, seed=1)
    same(KernelDependency, KernelDependencyCV, (X, Y), X_new, OTHERS[name], intercept)


@pytest.mark.parametrize("intercept", [False, True])
def test_of_streams(intercept):
    X, Y = vectors()
    blocks = ([(X[:7], Y[:7]), (X[7:], Y[7:])],)
    parts = {"kernel": RBF(1.0) * Covariance(), "features": Nystroem(landmarks=X[:6])}
    same(KernelDependency, KernelDependencyCV, blocks, X[:4], parts, intercept)
    same(KernelDependency, KernelDependencyCV, (Stream(*blocks),), X[:4], parts, intercept)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_of_calibrated_decoders(grouped, intercept):
    """A threshold is calibrated on left-out points, of rows or of groups, in both."""
    X, Y = vectors()
    groups = {"groups": np.arange(len(X)) // 3} if grouped else {}
    tags = [{"a"} if x[0] > 0 else {"b", "c"} if x[1] > 0 else {"c"} for x in X]
    ranks = np.argsort(np.argsort(Y, axis=1), axis=1)
    for kernel, outputs in ((Labels(), tags), (Kendall(), ranks)):
        one = KernelDependency(RBF(1.0), kernel, 0.05, fit_intercept=intercept)
        choice = KernelDependencyCV(RBF(1.0), kernel, [0.05], fit_intercept=intercept)
        for model in (one, choice):
            model.fit(X, outputs, **groups)
        assert list(map(str, one.predict(X))) == list(map(str, choice.predict(X)))


def same(one, choice, pairs, X_new, parts, intercept):
    one = one(alpha=0.05, fit_intercept=intercept, **parts).fit(*pairs)
    choice = choice(alphas=[0.05], fit_intercept=intercept, **parts).fit(*pairs)
    assert off(choice.predict(X_new), one.predict(X_new)) <= AGREE
