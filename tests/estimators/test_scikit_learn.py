"""What a scikit-learn user expects: its checks, searches, pipelines, copies, odd outputs."""

import json
import os
import pickle
import subprocess
import sys

import joblib
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import Candidates, FixedPoint
from mercer.estimators.base import on_fresh_state
from mercer.features import IncompleteCholesky, KernelPCA
from mercer.kernels import RBF, Delta, Function, Linear
from mercer.operators import ConditionalCovariance, Covariance, Identity, Matrix
from tolerances import IDENTITY

CHECK = """
import json, sys, warnings
from sklearn.utils.estimator_checks import check_estimator
import mercer
warnings.simplefilter("error")
warnings.filterwarnings("ignore", module="sklearn")
warnings.filterwarnings("ignore", message="all outputs in y are equal")
warnings.filterwarnings("ignore", message="score is not defined")
# Repeated rows are left out one at a time, unless groups= says that they belong together.
known = {
    "KernelDependencyCV": {
        f"check_sample_weight_equivalence_on_{kind}_data": "leave-one-out needs groups of repeats"
        for kind in ("dense", "sparse")
    }
}
failed = {}
for case in sys.argv[1:]:
    name, *kernel = case.split()
    given = {"kernel": getattr(mercer.kernels, kernel[0])()} if kernel else {}
    model = getattr(mercer, name)(**given)
    failed[case] = [
        (result["check_name"], result["status"], str(result["exception"])[:300])
        for result in check_estimator(
            model, on_fail=None, expected_failed_checks=known.get(name)
        )
        if result["status"] not in ("passed", "xfail")
    ]
print(json.dumps(failed))
"""
CHECKED = ["KernelDependency", "KernelDependency Linear", "KernelDependencyCV"]


@pytest.fixture(scope="module")
def failed():
    """Failed checks by class; in a process of its own: the array-API check asks for a variable set
    before Python starts.
    """
    run = subprocess.run(
        [sys.executable, "-c", CHECK, *CHECKED],
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", CHECKED)
def test_check_estimator_in_full(name, failed):
    assert failed[name] == []


def test_a_choice_counts_repeats_of_a_group_like_weights():
    random = np.random.RandomState(42)
    X, y, weights = (
        random.rand(15, 30),
        random.randint(0, 3, size=15) + 0.0,
        random.randint(0, 5, 15),
    )
    rows = np.arange(15).repeat(weights)
    weighted = KernelDependencyCV().fit(X, y, sample_weight=weights)
    repeated = KernelDependencyCV().fit(X[rows], y[rows], groups=rows)
    assert str(weighted.kernel_) == str(repeated.kernel_)
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)


@pytest.fixture
def pairs(rng):
    X = rng.normal(size=(24, 2))
    return X, np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2, X.sum(axis=1)])


MODELS = {
    "plain": KernelDependency(),
    "identity": KernelDependency(RBF(1.0), RBF(2.0), alpha=0.1),
    "covariance": KernelDependency(RBF(1.0) * Covariance(), RBF(2.0), fit_intercept=True),
    "conditional": KernelDependency(RBF() * ConditionalCovariance(0.1), decoder=Candidates()),
    "matrix": KernelDependency(RBF(1.0) * Matrix(np.eye(3)), decoder=Candidates()),
    "low rank": KernelDependency(
        RBF(1.0) * Covariance(), RBF(2.0), features=IncompleteCholesky(5),
        output_features=KernelPCA(3), decoder=FixedPoint(),
    ),
    "chosen": KernelDependencyCV([RBF(1.0) * op for op in (Identity(), Covariance())], RBF(2.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_copies_predict_the_same(name, pairs, tmp_path):
    X, Y = pairs
    model = clone(MODELS[name]).fit(X, Y)
    wanted = model.predict(X)
    joblib.dump(model, tmp_path / "model")
    copies = [
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "model"),
        clone(model).fit(X, Y),
        pickle.loads(pickle.dumps(clone(model))).fit(X, Y),
    ]
    for copied in copies:
        assert_allclose(copied.predict(X), wanted, rtol=0, atol=1e-8)
        assert_allclose(copied.embed(X).inner(Y), model.embed(X).inner(Y), rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_left_as_given(name, pairs):
    model = clone(MODELS[name])
    before = {key: repr(value) for key, value in model.get_params().items()}
    hashes = joblib.hash(model)
    model.fit(*pairs)
    assert {key: repr(value) for key, value in model.get_params().items()} == before
    assert joblib.hash(clone(model)) == hashes


def test_weights_survive_pickling(pairs):
    X, Y = pairs
    model = KernelDependency(RBF(1.0), RBF(2.0)).fit(X, Y)
    wanted = model.embed(X).weights
    assert_allclose(pickle.loads(pickle.dumps(model)).embed(X).weights, wanted, rtol=0, atol=1e-12)


def test_grid_search_over_nested_names(pairs):
    X, Y = pairs
    model = KernelDependency(RBF(1.0) * ConditionalCovariance(0.1), RBF(1.0))
    grid = {
        "kernel__scalar__length_scale": [0.5, 2.0],
        "kernel__operator__epsilon": [0.01, 1.0],
        "output_kernel__length_scale": [2.0],
        "alpha": [1e-3, 1.0],
    }
    search = GridSearchCV(model, grid, cv=3).fit(X, Y)
    best = search.best_params_
    assert (
        search.best_estimator_.kernel_.scalar.length_scale == best["kernel__scalar__length_scale"]
    )
    folds = [
        clone(model).set_params(**best).fit(X[train], Y[train]).score(X[test], Y[test])
        for train, test in KFold(3).split(X)
    ]
    assert search.best_score_ == pytest.approx(np.mean(folds), abs=IDENTITY)


def test_grid_search_over_operators(pairs):
    X, Y = pairs
    kernels = [RBF(1.0) * op for op in (Identity(), Covariance(), Covariance(0.5))]
    search = GridSearchCV(KernelDependency(alpha=0.1), {"kernel": kernels}, cv=3).fit(X, Y)
    assert search.best_params_["kernel"] in kernels


def test_pipeline(pairs):
    X, Y = pairs
    scaled = StandardScaler().fit_transform(X)
    pipeline = make_pipeline(StandardScaler(), KernelDependency(RBF(1.0))).fit(X, Y)
    wanted = KernelDependency(RBF(1.0)).fit(scaled, Y)
    assert_allclose(pipeline.predict(X), wanted.predict(scaled), rtol=0, atol=IDENTITY)
    assert pipeline.score(X, Y) == pytest.approx(wanted.score(scaled, Y))


def test_data_frames(pairs):
    X, Y = pairs
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = KernelDependency(RBF(1.0)).fit(frame, pd.DataFrame(Y))
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert_allclose(model.predict(frame), KernelDependency(RBF(1.0)).fit(X, Y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"a": "z"}))


def test_cross_val_predict_of_images(pairs, rng):
    X, _ = pairs
    Y = rng.normal(size=(24, 2, 3))
    got = cross_val_predict(KernelDependency(RBF(1.0)), X, Y, cv=4)
    wanted = cross_val_predict(KernelDependency(RBF(1.0)), X, Y.reshape(24, 6), cv=4)
    assert_allclose(got.reshape(24, 6), wanted, rtol=0, atol=IDENTITY)


# -- outputs that are no vectors --------------------------------------------------------------


def overlap(a, b):
    return len(set(a) & set(b)) / max(1.0, (len(set(a)) * len(set(b))) ** 0.5)


def same_size(a, b):
    return float(np.exp(-abs(a.number_of_edges() - b.number_of_edges())))


SPACES = {
    "strings": (["ab", "abc", "xyz", "xy"], overlap),
    "ragged lists": ([["a"], ["a", "b"], ["x", "y", "z"], ["x"]], overlap),
    "lists of one length": ([["a", "b"], ["a", "c"], ["x", "y"], ["x", "z"]], overlap),
    "sets": ([{1}, {1, 2}, {7, 8}, {8}], overlap),
    "graphs": ([nx.path_graph(n) for n in (2, 5, 9)] + [nx.cycle_graph(12)], same_size),
}  # fmt: skip


def same(a, b):
    return nx.utils.graphs_equal(a, b) if isinstance(a, nx.Graph) else a == b


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("operator", [Identity(), Covariance()], ids=str)
def test_outputs_come_back_unharmed(name, operator, rng):
    """Each input sits at the place of its output: the prediction is that output, as it was."""
    things, function = SPACES[name]
    y = [things[i % 4] for i in range(16)]
    X = np.array([[10.0 * (i % 4)] for i in range(16)]) + 0.1 * rng.normal(size=(16, 1))
    l = Function(function, of_items=True)
    model = KernelDependency(RBF(1.0) * operator, l, alpha=1e-3)
    direct = model.fit(X, y).predict(X)
    crossed = cross_val_predict(model, X, y, cv=KFold(4))
    chosen = KernelDependencyCV(RBF(1.0) * operator, l).fit(X, y)
    for predicted in (direct, crossed, chosen.predict(X), chosen.loo_predict()):
        assert predicted.shape == (16,)
        assert all(type(a) is type(b) and same(a, b) for a, b in zip(predicted, y, strict=True))
    assert np.isfinite(model.score(X, y))


@pytest.mark.parametrize("name", SPACES)
def test_inputs_of_any_kind(name):
    things, function = SPACES[name]
    X = [things[i % 4] for i in range(16)]
    y = np.array([10.0 * (i % 4) for i in range(16)])
    model = KernelDependency(Function(function, of_items=True), alpha=1e-3)
    assert_allclose(cross_val_predict(model, X, y, cv=KFold(4)), y, atol=0.1)


def test_scoring_of_decoded_strings(rng):
    things, function = SPACES["strings"]
    y = [things[i % 4] for i in range(16)]
    X = np.array([[10.0 * (i % 4)] for i in range(16)]) + 0.1 * rng.normal(size=(16, 1))

    def accuracy(truth, guess):
        return float(np.mean([a == b for a, b in zip(truth, guess, strict=True)]))

    l = Function(function, of_items=True)
    model = KernelDependencyCV(RBF(1.0), l, scoring=make_scorer(accuracy)).fit(X, y)
    assert model.loo_score_ == 1.0
    scores = cross_val_score(KernelDependency(RBF(1.0), l), X, y, scoring=make_scorer(accuracy))
    assert scores.mean() == 1.0


# -- choosing ---------------------------------------------------------------------------------


def test_the_choice_is_the_least_left_out_risk(pairs):
    X, Y = pairs
    kernels = [RBF(s) * op for s in (0.5, 2.0) for op in (Identity(), Covariance())]
    model = KernelDependencyCV(kernels, alphas=[1e-3, 1e-1, 10.0]).fit(X, Y)
    results = model.cv_results_
    assert len(results["risk"]) == 12
    best = results["risk"].argmin()
    assert results["alpha"][best] == model.alpha_
    assert results["kernel"][best] == str(model.kernel_)
    assert model.loo_risk_ == results["risk"][best]
    alone = KernelDependency(model.kernel_, alpha=model.alpha_).fit(X, Y)
    assert_allclose(model.predict(X), alone.predict(X), rtol=0, atol=1e-8)
    for row in range(12):
        kernel = kernels[[str(k) for k in kernels].index(results["kernel"][row])]
        one = KernelDependencyCV(kernel, alphas=[results["alpha"][row]]).fit(X, Y)
        assert one.loo_risk_ == pytest.approx(results["risk"][row], rel=1e-9)


def test_output_kernels_are_chosen_by_score(pairs):
    X, Y = pairs
    with pytest.raises(ValueError, match="several output kernels cannot be compared by risk"):
        KernelDependencyCV(output_kernel=[RBF(1.0), RBF(2.0)]).fit(X, Y)
    model = KernelDependencyCV(
        None, [RBF(1.0), Linear()], [0.01, 0.1, 1.0], scoring="neg_mean_squared_error"
    ).fit(X, Y)
    assert model.loo_score_ == model.cv_results_["score"].max()
    assert str(model.output_kernel_) in {"RBF(length_scale=1.0)", "Linear()"}


def test_scores_by_group(pairs):
    X, Y = pairs
    groups = np.arange(24) // 3
    model = KernelDependencyCV(RBF(1.0), alphas=[0.1], scoring="neg_mean_squared_error")
    model.fit(X, Y, groups=groups)
    crossed = cross_val_predict(KernelDependency(RBF(1.0), alpha=0.1), X, Y, cv=KFold(8))
    assert_allclose(model.loo_predict(), crossed, rtol=0, atol=1e-9)
    assert model.loo_score_ == pytest.approx(-((crossed - Y) ** 2).mean(), rel=1e-9)


def test_a_scorer_of_probabilities_names_what_to_pass(pairs):
    classes = ["a", "b"] * (len(pairs[0]) // 2)
    model = KernelDependencyCV(RBF(1.0), Delta(), scoring="roc_auc")
    with pytest.raises(ValueError, match="scoring='roc_auc' needs .* use a scorer of predictions"):
        model.fit(pairs[0], classes)


def test_predictions_in_parts(pairs, monkeypatch):
    from mercer.estimators import base

    X, Y = pairs
    strings = [f"{i:02d}" for i in range(24)]
    numbers = KernelDependency(RBF(1.0), RBF(1.0)).fit(X, Y)
    words = KernelDependency(RBF(1.0), Function(overlap, of_items=True)).fit(X, strings)
    whole = numbers.predict(X), words.predict(X), numbers.score(X, Y), numbers.predict_top(X, k=2)
    lists = [[y] for y in strings]
    monkeypatch.setattr(base, "ROWS", 5)
    assert_allclose(numbers.predict(X), whole[0], rtol=0, atol=1e-9)
    assert_array_equal(words.predict(X), whole[1])
    assert numbers.score(X, Y) == pytest.approx(whole[2], abs=IDENTITY)
    assert_array_equal(words.predict(X, candidates=lists), np.array(strings, dtype=object))
    for row, other in zip(numbers.predict_top(X, k=2), whole[3], strict=True):
        assert_allclose([s for _, s in row], [s for _, s in other], atol=1e-9)


def test_coefficients_are_those_of_kernel_ridge(rng):
    from sklearn.kernel_ridge import KernelRidge

    X, Y = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    model = KernelDependency(RBF(1.0), alpha=0.1, fit_intercept=False).fit(X, Y)
    peer = KernelRidge(kernel="rbf", gamma=0.5, alpha=0.1).fit(X, Y)
    np.testing.assert_allclose(model.coef_, peer.dual_coef_, atol=1e-10)
    dual = KernelDependency(RBF(1.0), RBF(1.0), alpha=0.1, fit_intercept=False).fit(X, Y)
    np.testing.assert_allclose(dual.embed(X).weights, RBF(1.0)(X) @ dual.coef_, atol=1e-10)


@pytest.mark.parametrize("output_kernel", [Linear(), RBF(1.0)])
def test_score_with_weights_equals_score_with_repeated_rows(rng, output_kernel):
    X, Y = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    model = KernelDependency(RBF(1.0), output_kernel, alpha=0.1).fit(X, Y)
    times = rng.integers(1, 4, size=20)
    again = np.repeat(np.arange(20), times)
    weighted = model.score(X, Y, sample_weight=times)
    assert weighted == pytest.approx(model.score(X[again], Y[again]))


def test_a_fit_on_a_fresh_copy_may_call_the_one_below():
    class Counted(KernelDependency):
        @on_fresh_state
        def fit(self, X, y, **given):
            super().fit(X, y, **given)
            self.rows_ = len(X)
            return self

    X = np.random.default_rng(0).normal(size=(12, 2))
    assert Counted().fit(X, X).rows_ == 12
