"""Metrics learnt from gradients: formulas by brute force, weights as repeats, and gains."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from mercer import KernelDependency, KernelDependencyCV, learn_metric, load, save
from mercer._base.errors import NotSupported
from mercer.estimators.held_out_trials import HeldOutSplit
from mercer.estimators.metric_learning import (
    FAMILIES,
    SCALES,
    ChoiceSizes,
    MetricPath,
    choose,
    identity,
    next_root,
    split_rows,
)
from mercer.features import KernelPCA
from mercer.kernels import RBF, Mahalanobis, Matern, Spectrum
from mercer.operators import Covariance

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 6))
Y = np.column_stack([np.sin(2 * X[:, 0] + X[:, 1]), X[:, 0] - X[:, 1]])


def split(weights=None, rows=None):
    rows = np.arange(100) if rows is None else rows
    return HeldOutSplit.of(X, Y, rows, np.arange(100, 160), weights)


def test_a_trial_is_ridge_regression_on_training_pairs():
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=160)
    own = split(weights)
    trial = own.best([Matern(1.0, nu=2.5)], (1.0, 2.0))
    model = KernelDependency(trial.kernel, alpha=trial.ridge, fit_intercept=False)
    mean = np.average(Y[:100], axis=0, weights=weights[:100])
    model.fit(X[:100], Y[:100] - mean, sample_weight=weights[:100])
    errors = ((model.predict(X[100:]) + mean - Y[100:]) ** 2).sum(axis=1)
    np.testing.assert_allclose(trial.errors, errors)
    assert trial.risk == pytest.approx(np.average(errors, weights=weights[100:]))


def test_integer_weights_are_repeated_rows():
    weights = np.random.default_rng(1).integers(1, 4, size=160)
    repeats = np.repeat(np.arange(160), weights)
    whole = choose(X[repeats], Y[repeats], repeats, None, ChoiceSizes())
    weighted = choose(X, Y, np.arange(160), weights.astype(float), ChoiceSizes())
    assert (whole.rounds, whole.power) == (weighted.rounds, weighted.power)
    assert whole.risk == pytest.approx(weighted.risk, rel=1e-4)
    assert whole.alpha == pytest.approx(weighted.alpha)
    one, other = (found.kernel.fit(X)(X) for found in (whole, weighted))
    np.testing.assert_allclose(one, other, atol=1e-4)


def test_gradient_moments_are_those_of_finite_differences():
    own, step = split(), 1e-5
    trial = own.best(FAMILIES[:1], (2.0,))
    coefficients = own._solve(trial.kernel(own.X), trial.ridge)
    jacobians = np.stack(
        [
            (trial.kernel(own.X + e, own.X) - trial.kernel(own.X - e, own.X)) @ coefficients
            for e in step * np.eye(6)
        ]
    ) / (2 * step)
    expected = np.einsum("ant,bnt->ab", jacobians, jacobians) / 100
    found = own.gradient_moments(trial)
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
    # In another metric, gradients with respect to the given inputs.
    R = np.random.default_rng(2).normal(size=(4, 6))
    root = next_root(own, R, own.mapped(R).best(FAMILIES[:1], (2.0,)), 1.0)
    np.testing.assert_allclose(np.trace(root.T @ root), 6.0)
    assert np.linalg.matrix_rank(root) == 4


def test_groups_are_held_out_whole():
    groups = np.repeat(np.arange(16), 10)
    training, held = split_rows(groups, None, ChoiceSizes())
    assert sorted([*training, *held]) == list(range(160)) and len(held) == 30
    assert not set(groups[training]) & set(groups[held])
    with pytest.raises(ValueError, match="one group"):
        split_rows(np.zeros(20, dtype=int), None, ChoiceSizes())


def test_no_round_is_chosen_without_a_gain():
    noise = np.random.default_rng(3).normal(size=(160, 2))
    own = HeldOutSplit.of(X, noise, np.arange(100), np.arange(100, 160), None)
    path = MetricPath.of(own, 0.5, own.best(FAMILIES[:1], SCALES))
    assert path.rounds == 0 and path.root is path.roots[0]
    np.testing.assert_array_equal(path.root, identity(own))


def test_a_learnt_metric_predicts_better_and_forgets_noise():
    model = learn_metric(KernelDependency(), X[:120], Y[:120])
    plain = KernelDependencyCV(RBF()).fit(X[:120], Y[:120])
    errors = [((m.predict(X[120:]) - Y[120:]) ** 2).mean() for m in (model, plain)]
    assert errors[0] < 0.2 * errors[1]
    R = model.kernel_.scalar.matrix
    metric = R.T @ R
    assert np.trace(metric[2:, 2:]) < 0.05 * np.trace(metric[:2, :2])
    assert model.learnt_.rounds > 0 and model.learnt_.risk < model.learnt_.risk_before
    assert "metric learnt in" in str(model.learnt_)


def test_the_operator_stays_and_the_model_is_saved(tmp_path):
    start = KernelDependency(RBF() * Covariance(), fit_intercept=False)
    model = learn_metric(start, X, Y, sample_weight=np.ones(160))
    assert start.kernel.scalar.length_scale == "median"
    assert isinstance(model.kernel_.operator, Covariance) and not model.fit_intercept
    save(model, tmp_path / "model.mercer")
    np.testing.assert_array_equal(load(tmp_path / "model.mercer").predict(X), model.predict(X))
    again = clone(model).fit(X, Y)
    np.testing.assert_allclose(again.predict(X), model.predict(X))


def test_units_and_rotations_of_inputs_change_no_choice():
    rotation = np.linalg.qr(np.random.default_rng(4).normal(size=(6, 6)))[0]
    groups = np.arange(160)
    one, other = (choose(A, Y, groups, None, ChoiceSizes()) for A in (X, 1e3 * X @ rotation + 5.0))
    assert one.risk == pytest.approx(other.risk, rel=1e-3)
    assert (one.rounds, one.alpha) == (other.rounds, other.alpha)


def test_fields_and_constant_outputs():
    fields = np.random.default_rng(5).normal(size=(40, 4, 5))
    with pytest.warns(UserWarning, match="all outputs in y are equal"):
        model = learn_metric(KernelDependency(), fields, np.ones((40, 3, 3)))
    np.testing.assert_allclose(model.predict(fields[:2]), 1.0)
    assert model.learnt_.rounds == 0


def test_what_cannot_be_learnt_is_refused():
    with pytest.raises(NotSupported, match="no finite features.*KernelPCA"):
        learn_metric(KernelDependency(output_kernel=RBF()), X, Y)
    found = learn_metric(
        KernelDependency(output_kernel=RBF(), output_features=KernelPCA(rank=20)), X, Y
    )
    assert found.predict(X[:2]).shape == (2, 2)
    with pytest.raises(TypeError, match="KernelDependencyCV"):
        learn_metric(KernelDependencyCV(), X, Y)
    with pytest.raises(ValueError, match="at least 20 pairs, got 9"):
        learn_metric(KernelDependency(), X[:9], Y[:9])
    with pytest.raises(NotSupported, match="kernel of vectors"):
        learn_metric(KernelDependency(Spectrum(2)), ["ab", "ba"] * 15, Y[:30])
    with pytest.raises(NotSupported, match="dense"):
        learn_metric(KernelDependency(), csr_array(X), Y)


def test_matrices_of_a_metric_are_checked():
    for matrix, message in (
        (np.ones(3), "two-dimensional"),
        (np.full((1, 6), np.nan), "finite"),
        (np.ones((2, 5)), "6 features.*5 columns"),
    ):
        with pytest.raises(ValueError, match=message):
            KernelDependency(Mahalanobis(RBF(1.0), matrix)).fit(X, Y)
