"""Integer weights equal repeated rows, and a weight of zero a row that is not there."""

from contextlib import suppress

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from laws.cases import PROBLEMS, off, posed, vectors
from mercer import KernelDependency, KernelDependencyCV
from mercer._base.errors import NotSupported
from mercer.estimators.posterior import require_value
from mercer.features import KernelPCA, Nystroem
from mercer.kernels import RBF, Linear
from mercer.operators import ConditionalCovariance, Covariance, Identity, Mixture, ReducedRank

AGREE = 1e-9
COUNTS = np.arange(18) % 4  # some are zero
ALPHA = 0.05


def repeated(A, counts=COUNTS):
    return np.repeat(A, counts[: len(A)], axis=0)


def points(model, problem):
    return model.embed(problem.X_new).inner(problem.Y[COUNTS[: len(problem.Y)] > 0])


WAYS = [name for name in PROBLEMS if not name.startswith("line")]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", WAYS)
def test_one_fit(name, intercept):
    problem = posed(name, "intercept" if intercept else "plain", n=18)
    model = KernelDependency(alpha=ALPHA, **problem.params)
    wanted = points(model.fit(repeated(problem.X), repeated(problem.Y)), problem)
    model.fit(problem.X, problem.Y, sample_weight=COUNTS)
    assert off(points(model, problem), wanted) <= AGREE


@pytest.mark.parametrize(("grouped", "intercept"), [(False, False), (True, True)])
@pytest.mark.parametrize("name", WAYS)
def test_a_choice_leaves_repeats_out_as_one_group(name, grouped, intercept):
    problem = posed(name, "intercept" if intercept else "plain", n=18)
    labels = np.arange(18) * 5 % 6 if grouped else np.arange(18)
    model = KernelDependencyCV(alphas=[0.01, 0.1, 1.0], **problem.params)
    model.fit(repeated(problem.X), repeated(problem.Y), groups=repeated(labels))
    risks, alpha, wanted = model.cv_results_["risk"], model.alpha_, points(model, problem)
    given = {"groups": labels} if grouped else {}
    model.fit(problem.X, problem.Y, sample_weight=COUNTS, **given)
    assert off(model.cv_results_["risk"], risks) <= AGREE
    assert model.alpha_ == alpha
    assert off(points(model, problem), wanted) <= AGREE


OTHERS = {
    "mixture": {"kernel": RBF(1.0) * Mixture([Identity(), Covariance()], [0.5, 0.5])},
    "median": {"kernel": RBF("median"), "output_kernel": RBF("median")},
    "median, landmarks": {"kernel": RBF("median"), "features": Nystroem(landmarks=np.eye(3))},
    "components": {"output_kernel": RBF(1.0), "output_features": KernelPCA(2)},
    "centred components": {"output_kernel": RBF(1.0), "output_features": KernelPCA(2, center=True)},
    "mixture of covariances": {
        "kernel": RBF(1.0) * Mixture([Covariance(), ConditionalCovariance()], [0.5, 0.5]),
    },
    "reduced rank": {"kernel": RBF(1.0) * ReducedRank(1)},
    "conjugate gradients": {"kernel": RBF(1.0) * Covariance() + RBF(2.0), "solver": "cg"},
}


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", OTHERS)
def test_other_parts(name, intercept):
    X, Y = vectors()
    X_new, _ = vectors(4, seed=1)
    model = KernelDependency(alpha=ALPHA, fit_intercept=intercept, **OTHERS[name])
    wanted = model.fit(repeated(X), repeated(Y)).embed(X_new).inner(Y)
    found = model.fit(X, Y, sample_weight=COUNTS).embed(X_new).inner(Y)
    assert off(found, wanted) <= (1e-4 if name == "conjugate gradients" else 1e-7)


def test_the_median_counts_pairs_by_weight():
    X, Y = vectors()
    model = KernelDependency(RBF("median"), alpha=ALPHA, fit_intercept=True)
    length = model.fit(repeated(X), repeated(Y)).kernel_.scalar.length_scale_
    weighted = model.fit(X, Y, sample_weight=COUNTS).kernel_.scalar.length_scale_
    assert weighted == pytest.approx(length, rel=1e-12)


@pytest.mark.parametrize("operator", [Identity(), ConditionalCovariance(0.1)], ids=str)
def test_equal_weights_of_two_are_a_ridge_of_half(operator):
    """Σ 2‖·‖² + α‖g‖² has the minimiser of Σ‖·‖² + α/2 ‖g‖²; means over n do not change."""
    X, Y = vectors()
    model = KernelDependency(RBF(1.0) * operator, alpha=2 * ALPHA, fit_intercept=True)
    double = model.fit(X, Y, sample_weight=np.full(len(X), 2.0)).predict(X)
    if isinstance(operator, ConditionalCovariance):  # ε is relative to Σw
        double = model.fit(X, Y, sample_weight=np.full(len(X), 2)).predict(X)
    model.set_params(alpha=ALPHA)
    assert off(double, model.fit(X, Y).predict(X)) <= AGREE


def test_score_and_grid_search_take_weights():
    X, Y = vectors(30)
    weights = 0.5 + np.arange(30) % 3
    with config_context(enable_metadata_routing=True):
        model = KernelDependency(RBF(1.0), fit_intercept=True)
        model = model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"alpha": [0.01, 1.0]}, cv=3)
        search.fit(X, Y, sample_weight=weights)
    assert np.isfinite(search.best_score_)


@pytest.mark.parametrize("make", [KernelDependency, KernelDependencyCV])
@pytest.mark.parametrize(
    ("weights", "message"),
    [(-np.ones(18), "negative|≥ 0"), (np.zeros(18), "zero|positive"), (np.ones(17), "17|length")],
)
def test_weights_that_make_no_sense_are_refused(make, weights, message):
    X, Y = vectors()
    with pytest.raises(ValueError, match=message):
        make(Linear(), fit_intercept=True).fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", WAYS)
def test_likelihoods_variances_and_noise(name, intercept):
    """Left-out groups are those of the repeats."""
    problem = posed(name, "intercept" if intercept else "plain", n=18)
    model = KernelDependency(alpha=ALPHA, **problem.params)
    labels, found = np.arange(18), []
    for data, weights in (((problem.X, problem.Y, labels), COUNTS), (None, None)):
        X, Y, groups = data or map(repeated, (problem.X, problem.Y, labels))
        fitted = clone(model).fit(X, Y, groups, sample_weight=weights).fitted_
        found.append(likelihoods(fitted, problem.X_new))
    assert found[0].keys() == found[1].keys()
    for quantity, value in found[0].items():
        assert off(value, found[1][quantity]) <= 1e-8, quantity


def likelihoods(fitted, X_new):
    """Those quantities that the route offers, at new inputs where they depend on inputs."""
    made, posterior, alpha, found = fitted.factorization, fitted.posterior(), fitted.alpha, {}
    quantities = {
        "noise": lambda: posterior.noise,
        "left-out noise": lambda: require_value(posterior.noises).sum(),
        "variance": lambda: posterior.at(X_new).variance("directions").sum(axis=1),
        "evidence": lambda: made.evidence(alpha),
        "density": lambda: made.density(alpha),
        "gcv": lambda: next(iter(made.left_out([alpha], True))).risk(fitted.problem.weights),
    }
    for name, compute in quantities.items():
        with suppress(NotSupported):
            found[name] = np.atleast_1d(compute())
    return found
