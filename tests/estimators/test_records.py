"""One model of several outputs of different kinds."""

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import Candidates, PerField, Threshold
from mercer.estimators import Blend, ForestDependency
from mercer.features import IncompleteCholesky
from mercer.kernels import RBF, Delta, Gaussian, Kendall, Labels, Linear, On, Spectrum
from mercer.operators import Covariance, Identity

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3))
Y = pd.DataFrame(
    {
        "count": 100.0 * X[:, 0] + 10.0 * RNG.normal(size=50),
        "weather": np.where(X[:, 1] + 0.2 * RNG.normal(size=50) > 0, "sun", "rain"),
        "tags": [["a"] * int(a > 0) + ["b"] * int(b > 0) for a, b in X[:, :2]],
        "order": [np.argsort(np.argsort(x)).tolist() for x in X],
        "word": ["ab" * (1 + int(2 * abs(x))) for x in X[:, 2]],
    }
)
KERNELS = {
    "count": Linear(), "weather": Delta(), "tags": Labels(), "order": Kendall(),
    "word": Spectrum(2),
}  # fmt: skip


def summed(*names):
    return sum(On(name, KERNELS[name]) for name in names)


def alone(name, **params):
    """A model of one field."""
    column = Y[name].to_numpy() if name == "count" else list(Y[name])
    return KernelDependency(RBF(2.0), KERNELS[name], **params).fit(X, column)


@pytest.mark.parametrize("wide", [False, True])
def test_every_field_is_predicted_as_by_a_model_of_its_own(wide):
    names = list(KERNELS) if wide else ["count", "weather", "tags", "order"]
    model = KernelDependency(RBF(2.0), summed(*names), alpha=0.1).fit(X, Y)
    predicted, left_out = model.predict(X), model.loo_predict()
    assert list(predicted.columns) == names
    for name in names:
        single = alone(name, alpha=0.1)
        for found, wanted in ((predicted, single.predict(X)), (left_out, single.loo_predict())):
            if name == "count":
                np.testing.assert_allclose(found[name], wanted, rtol=1e-8)
            else:
                assert [list(a) for a in found[name]] == [list(a) for a in wanted]


def test_fields_without_finite_features_are_decoded_by_weights_on_the_outputs():
    kernel = On("count", Linear()) + On("word", Gaussian(Spectrum(2)))
    model = KernelDependency(RBF(2.0), kernel, alpha=0.1).fit(X, Y)
    np.testing.assert_allclose(model.predict(X)["count"], alone("count", alpha=0.1).predict(X))
    assert set(model.predict(X)["word"]) <= set(Y["word"])


def test_units_change_neither_the_choice_nor_the_predictions():
    models = [
        KernelDependencyCV([RBF(1.0), RBF(4.0) * Covariance()], summed("count", "weather")).fit(
            X, Y.assign(count=unit * Y["count"])
        )
        for unit in (1.0, 1e4)
    ]
    first, second = models
    assert str(first.kernel_) == str(second.kernel_)
    np.testing.assert_allclose(first.alpha_, second.alpha_)
    np.testing.assert_allclose(1e4 * first.predict(X)["count"], second.predict(X)["count"])
    assert list(first.predict(X)["weather"]) == list(second.predict(X)["weather"])


def test_fields_help_each_other_under_a_covariance():
    operators = [RBF(2.0) * Identity(), RBF(2.0) * Covariance()]
    model = KernelDependencyCV(operators, summed("count", "tags")).fit(X, Y)
    assert model.cv_results_["risk"].shape == (42,)
    assert model.score(X, Y) > 0.5


def test_the_best_records_are_the_best_combinations():
    model = KernelDependency(RBF(2.0), summed("count", "weather", "tags"), alpha=0.1).fit(X, Y)
    (best,) = model.predict_top(X[:1], 4)
    first = model.predict(X[:1]).iloc[0]
    assert best[0][0]["weather"] == first["weather"] and best[0][0]["tags"] == first["tags"]
    scores = [score for _, score in best]
    assert scores == sorted(scores, reverse=True)
    assert len({(r["weather"], tuple(r["tags"])) for r, _ in best}) == 4


def test_decoders_may_be_named_by_field():
    decoder = PerField({"tags": Threshold(0.9, at_least_one=False)})
    model = KernelDependency(RBF(2.0), summed("weather", "tags"), decoder=decoder).fit(X, Y)
    assert model.decoder_.decoders_["tags"].threshold_ == 0.9
    wrong = PerField({"rain": Candidates()})
    with pytest.raises(ValueError, match="'rain', which is not a field"):
        KernelDependency(RBF(2.0), summed("weather"), decoder=wrong).fit(X, Y)
    with pytest.raises(ValueError, match="PerField needs an output kernel"):
        KernelDependency(RBF(2.0), decoder=PerField()).fit(X, X)


def test_forests_and_blends_learn_records():
    kernel = summed("count", "weather")
    models = [KernelDependency(RBF(2.0), kernel), ForestDependency(None, kernel, 10, cv=2)]
    blend = Blend(models).fit(X, Y)
    assert list(blend.predict(X[:2]).columns) == ["count", "weather"]
    assert blend.loo_predict().shape == (50, 2)


@pytest.mark.parametrize("names", [["count", "weather", "tags"], list(KERNELS)])
def test_saved_models_predict_the_same(names, tmp_path):
    model = KernelDependencyCV(
        RBF(2.0), summed(*names), features=IncompleteCholesky(20), alphas=[0.1]
    ).fit(X, Y)
    again = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
    pd.testing.assert_frame_equal(again.predict(X), model.predict(X))


def test_a_product_of_fields_is_decoded_among_candidates():
    kernel = On("count", RBF(10.0)) * On("weather", Delta())
    model = KernelDependency(RBF(2.0), kernel, alpha=0.1).fit(X, Y)
    assert isinstance(model.decoder_, Candidates)
    assert set(model.predict(X)["count"]) <= set(Y["count"])
