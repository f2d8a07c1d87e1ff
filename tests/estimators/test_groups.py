"""Groups on their way through scikit-learn to the closed form."""

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelDependencyCV
from mercer.kernels import RBF
from mercer.operators import Covariance

RNG = np.random.default_rng(0)
GROUPS = np.repeat(np.arange(12), 3)
X = RNG.normal(size=(12, 4))[GROUPS] + 0.1 * RNG.normal(size=(36, 4))
Y = np.tanh(X @ RNG.normal(size=(4, 3)))


def model():
    return KernelDependencyCV(RBF(2.0) * Covariance(), alphas=[1e-3, 1e-1], fit_intercept=True)


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_a_search_hands_groups_to_splitter_and_model():
    search = GridSearchCV(
        model().set_fit_request(groups=True), {"fit_intercept": [True, False]}, cv=GroupKFold(4)
    ).fit(X, Y, groups=GROUPS)
    assert len(set(search.best_estimator_.loo_embed().left_out)) == 12
    with_groups = model().set_params(**search.best_params_).fit(X, Y, groups=GROUPS)
    assert search.best_estimator_.loo_risk_ == pytest.approx(with_groups.loo_risk_)
    without = model().set_params(**search.best_params_).fit(X, Y)
    assert without.loo_risk_ < with_groups.loo_risk_


def test_a_pipeline_hands_groups_on():
    pipeline = make_pipeline(StandardScaler(), model().set_fit_request(groups=True))
    assert len(set(pipeline.fit(X, Y, groups=GROUPS)[-1].loo_embed().left_out)) == 12


def test_groups_that_nobody_asked_for_are_an_error():
    with pytest.raises(UnsetMetadataPassedError, match="groups"):
        cross_val_score(model(), X, Y, cv=GroupKFold(4), params={"groups": GROUPS})
