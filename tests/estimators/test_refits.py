"""Choices by K-fold refits, against refits written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import mercer
from mercer import KernelDependency, KernelDependencyCV
from mercer._base.folds import fold_numbers
from mercer.decoders import Threshold
from mercer.features import IncompleteCholesky
from mercer.kernels import RBF, Labels, Linear
from mercer.operators import Blocks, Covariance, LearnedOperator

N, Q = 24, 3
TIGHT = LearnedOperator(tol=1e-8, max_iter=5000)
GROUPS = np.repeat(np.arange(8), 3)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, 2))
    Y = np.sin(X @ rng.normal(size=(2, 1))) @ rng.normal(size=(1, Q)) + 0.2 * rng.normal(
        size=(N, Q)
    )
    return X, Y


def refitted(model, X, Y, folds):
    """What models fitted without each fold predict for it."""
    points = np.empty_like(Y)
    for fold in np.unique(folds):
        out = folds == fold
        points[out] = clone(model).fit(X[~out], Y[~out]).predict(X[out])
    return points


@pytest.mark.parametrize("kernel", [RBF(1.0), RBF(1.0) * Covariance(), RBF(1.0) * TIGHT], ids=str)
@pytest.mark.parametrize(
    ("groups", "intercept"), [(None, False), (GROUPS, True)], ids=["examples", "groups"]
)
def test_left_out_predictions_are_those_of_refits(groups, intercept, kernel, data):
    X, Y = data
    params = {"fit_intercept": intercept}
    choice = KernelDependencyCV([kernel, RBF(0.01) * TIGHT], alphas=[0.1], cv=4, **params)
    choice.fit(X, Y, groups=groups)  # the second makes refits of all, and is not chosen
    labels = np.arange(N) if groups is None else groups
    single = KernelDependency(kernel, alpha=0.1, **params)
    wanted = refitted(single, X, Y, fold_numbers(labels, 4))
    risk = ((wanted - Y) ** 2).sum(axis=1)
    assert choice.cv_results_["risk"][0] == pytest.approx(risk.mean(), rel=1e-4)
    assert_allclose(choice.loo_predict(), wanted, rtol=0, atol=1e-4)
    assert_allclose(choice.predict(X), single.fit(X, Y).predict(X), rtol=0, atol=1e-6)


def test_what_is_learnt_is_kept(data):
    X, Y = data
    model = KernelDependencyCV(RBF(1.0) * LearnedOperator(), alphas=[0.1, 1.0]).fit(X, Y)
    assert model.kernel_.operator.B_.shape == (Q, Q)
    assert model.kernel_.operator.objective_[0] >= model.kernel_.operator.objective_[-1]
    again = clone(model).fit(X, Y)
    assert_allclose(again.predict(X), model.predict(X), rtol=0, atol=0)


def test_low_rank_is_refitted_in_its_coordinates(data):
    X, Y = data
    model = KernelDependencyCV(
        [RBF(1.0) * LearnedOperator(), RBF(1.0)], alphas=[0.1], features=IncompleteCholesky(6)
    ).fit(X, Y)
    assert np.isfinite(model.cv_results_["risk"]).all()


def test_a_calibrated_decoder_sees_refits(rng):
    X = rng.normal(size=(40, 3))
    Y = (X @ rng.normal(size=(3, 4)) > 0).astype(float)
    model = KernelDependency(RBF(2.0) * LearnedOperator(), Labels(), 0.1, Threshold()).fit(X, Y)
    chosen = KernelDependencyCV(
        RBF(2.0) * LearnedOperator(), Labels(), [0.1], decoder=Threshold()
    ).fit(X, Y)
    assert_allclose(model.predict(X), chosen.predict(X))


def test_nested_names_reach_the_parts(data):
    search = GridSearchCV(
        KernelDependency(Linear() * LearnedOperator()),
        {"kernel__operator__power": [0.5, 1.0], "alpha": [0.1, 1.0]},
        cv=2,
    ).fit(*data)
    assert set(search.best_params_) == {"kernel__operator__power", "alpha"}


def test_they_are_saved_and_have_sets_by_splitting(data, tmp_path):
    X, Y = data
    model = KernelDependency(RBF(1.0) * LearnedOperator(), alpha=0.1)
    saved = mercer.load(mercer.save(model.fit(X, Y), tmp_path / "model"))
    assert_allclose(saved.predict(X), model.predict(X), rtol=0, atol=0)
    assert saved.kernel_.operator.learnt == model.kernel_.operator.learnt
    mercer.ConformalSets(model, calibration="split", coverage=0.8).fit(X, Y)
    with pytest.raises(ValueError, match="has no closed form"):
        mercer.ConformalSets(model, calibration="jackknife+").fit(X, Y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"criterion": "gcv", "kernel": RBF(1.0) * LearnedOperator()}, "gcv"),
        ({"kernel": []}, r"kernel=\[\] leaves nothing"),
        ({"kernel": RBF(1.0) * LearnedOperator(), "cv": 0}, "cv must be an integer ≥ 2, got 0"),
        ({"kernel": RBF(1.0) * LearnedOperator(), "cv": 1}, "cv must be an integer ≥ 2, got 1"),
    ],
)
def test_what_cannot_be_chosen(params, message, data):
    with pytest.raises(ValueError, match=message):
        KernelDependencyCV(**params).fit(*data)


def test_kernels_that_do_not_separate_have_no_refits(data):
    def blocks(A, B):
        return RBF(1.0)(A, B)[:, :, None, None] * np.eye(Q)

    model = KernelDependencyCV([Blocks(blocks), RBF(1.0) * LearnedOperator()])
    with pytest.raises(ValueError, match="scalar kernel times an operator"):
        model.fit(*data)


def test_streams_have_no_choice_of_learnt_operators(data):
    model = KernelDependencyCV(RBF(1.0) * LearnedOperator(), features=IncompleteCholesky(5))
    with pytest.raises(ValueError, match="streams have no .* choice between learnt operators"):
        model.fit(iter([data]))
