"""Default kernels of curves and fields: a learnt metric, and choices on held-out pairs."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import KernelDependencyCV, load, save
from mercer.estimators import kernel_dependency_cv, metric_learning
from mercer.kernels import Mahalanobis, Standardized
from mercer.metrics import relative_error

RNG = np.random.default_rng(0)
POINTS = np.linspace(0, 1, 24)
WAVES = np.array([np.cos(k * np.pi * POINTS) for k in range(6)])
DRAWS = RNG.normal(size=(300, 6)) / np.arange(1, 7)
CURVES = DRAWS @ WAVES
OUTPUTS = np.sin(2 * DRAWS[:, 2:3] - 3 * DRAWS[:, 3:4]) * WAVES[1] + WAVES[2]
OUTPUTS += 0.01 * RNG.normal(size=OUTPUTS.shape)


def test_curves_get_a_learnt_metric():
    model = KernelDependencyCV().fit(CURVES[:240], OUTPUTS[:240])
    assert isinstance(model.kernel_.scalar, Mahalanobis)
    assert model.alpha_ == model.learnt_.alpha
    assert model.learnt_.risk < 0.3 * model.learnt_.risk_before
    default = KernelDependencyCV(["rbf", Standardized("rbf", "common")])
    errors = [
        relative_error(OUTPUTS[240:], fitted.predict(CURVES[240:]))
        for fitted in (model, default.fit(CURVES[:240], OUTPUTS[:240]))
    ]
    assert errors[0] < 0.5 * errors[1]
    # The left-out risk is that of the metric, held fixed.
    left_out = ((model.loo_predict() - OUTPUTS[:240]) ** 2).sum(axis=1).mean()
    assert model.loo_risk_ == pytest.approx(left_out)


def test_fields_keep_their_shape_and_are_saved(tmp_path):
    fields, outputs = CURVES.reshape(300, 4, 6), OUTPUTS.reshape(300, 6, 4)
    model = KernelDependencyCV().fit(fields, outputs)
    assert model.predict(fields[:3]).shape == (3, 6, 4)
    save(model, tmp_path / "fields.mercer")
    again = load(tmp_path / "fields.mercer")
    np.testing.assert_array_equal(again.predict(fields), model.predict(fields))
    np.testing.assert_array_equal(
        clone(model).fit(fields, outputs).predict(fields), model.predict(fields)
    )


def test_linear_maps_are_recognised():
    outputs = CURVES @ RNG.normal(size=(24, 5))
    model = KernelDependencyCV().fit(CURVES, outputs)
    assert "Linear" in str(model.kernel_) and model.learnt_.rounds == 0
    np.testing.assert_allclose(model.predict(CURVES), outputs, atol=1e-6)


def test_many_pairs_are_fitted_without_a_spectrum(monkeypatch):
    monkeypatch.setattr(kernel_dependency_cv, "CHOSEN_ON", 100)
    sizes = metric_learning.ChoiceSizes(80, 120, 60)
    monkeypatch.setattr(metric_learning.ChoiceSizes, "of", lambda X: sizes)
    model = KernelDependencyCV().fit(CURVES, OUTPUTS)
    assert model.loo_risk_ == model.learnt_.risk and np.isnan(model.loo_score_)
    assert model.cv_results_["alpha"].tolist() == [model.alpha_]
    left_out = ((model.loo_predict() - OUTPUTS) ** 2).sum(axis=1).mean()
    assert left_out < 2 * model.loo_risk_


def test_given_ridges_are_kept_and_groups_are_held_out_whole():
    groups = np.arange(300) // 3
    model = KernelDependencyCV(alphas=[1e-3, 1e-2]).fit(CURVES, OUTPUTS, groups=groups)
    assert model.alpha_ in (1e-3, 1e-2) and len(model.cv_results_["alpha"]) == 2
    assert "Mahalanobis" in str(model.kernel_)


def test_other_inputs_and_scores_are_chosen_from_lists():
    for X, parameters in (
        (CURVES[:150], {}),  # few
        (RNG.normal(size=(220, 5)), {}),  # no curves
        (CURVES, {"criterion": "gcv"}),
        (CURVES, {"scoring": "r2"}),
        (CURVES, {"kernel": "rbf"}),
    ):
        model = KernelDependencyCV(**parameters).fit(X, OUTPUTS[: len(X)])
        assert "learnt_" not in vars(model) and "Mahalanobis" not in str(model.kernel_)
