"""A decoder that leaves something open gets the left-out points to choose it on."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import Direct
from mercer.kernels import RBF
from mercer.operators import Covariance, Identity
from tolerances import LEFT_OUT

GROUPS = np.arange(15) // 3


class Shifted(Direct):
    """Adds what the left-out predictions were off by, in the mean."""

    calibrates = True

    def calibrate(self, points, y):
        self.seen_ = super().decode(points)
        self.labels_ = points.left_out
        self.shift_ = (y - self.seen_).mean(axis=0)
        return self

    def decode(self, points):
        return super().decode(points) + self.shift_


@pytest.fixture
def pairs(rng):
    return rng.normal(size=(15, 2)), rng.normal(size=(15, 3)) + 2.0


@pytest.mark.parametrize("groups", [None, GROUPS], ids=["one", "group"])
@pytest.mark.parametrize("operator", [Identity(), Covariance()], ids=str)
@pytest.mark.parametrize("intercept", [False, True])
def test_left_out_points_are_what_it_gets(groups, operator, intercept, pairs):
    X, Y = pairs
    params = {"kernel": RBF(1.0) * operator, "fit_intercept": intercept}
    wanted = KernelDependencyCV(alphas=[0.1], **params).fit(X, Y, groups=groups).loo_predict()
    given = Shifted()
    plain = KernelDependency(alpha=0.1, **params).fit(X, Y).predict(X)
    for model in (
        KernelDependency(alpha=0.1, decoder=given, **params),
        KernelDependencyCV(alphas=[0.1], decoder=given, **params),
        KernelDependencyCV(alphas=[0.1], decoder=given, scoring="r2", **params),
    ):
        model.fit(X, Y, groups=groups)
        assert_allclose(model.decoder_.seen_, wanted, rtol=0, atol=LEFT_OUT)
        shift = (Y - wanted).mean(axis=0)
        assert_allclose(model.predict(X), plain + shift, rtol=0, atol=LEFT_OUT)
        labels = np.arange(15) if groups is None else groups
        assert (model.decoder_.labels_ == labels).all()
    assert not vars(given), "the decoder given is a parameter: it must stay as it was"


def test_each_trial_is_calibrated_on_its_own_points(pairs):
    X, Y = pairs
    model = KernelDependencyCV(
        RBF(1.0), alphas=[1e-3, 100.0], decoder=Shifted(), scoring="neg_mean_squared_error"
    ).fit(X, Y)
    for row, alpha in enumerate((1e-3, 100.0)):
        alone = KernelDependencyCV(RBF(1.0), alphas=[alpha], decoder=Shifted()).fit(X, Y)
        wanted = -((alone.loo_predict() - Y) ** 2).mean()
        assert model.cv_results_["score"][row] == pytest.approx(wanted, rel=1e-9)


def test_groups_of_the_wrong_number(pairs):
    X, Y = pairs
    with pytest.raises(ValueError, match="one label for each of the 15 pairs, got 2"):
        KernelDependency(RBF(1.0), decoder=Shifted()).fit(X, Y, groups=[0, 1])
