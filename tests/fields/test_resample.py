"""Curves on any points brought to one grid."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from mercer import KernelDependency
from mercer.fields import Resample
from mercer.kernels import L2, Gaussian

T = np.linspace(0.0, 1.0, 50)


def test_rows_with_missing_values_are_filled():
    rows = np.vstack([T, T**2])
    rows[0, 10:20] = np.nan
    filled = Resample(T).fit_transform(rows)
    np.testing.assert_allclose(filled[0], T)
    np.testing.assert_array_equal(filled[1], rows[1])


def test_ends_are_held():
    out = Resample(T, penalty=1e-9).fit_transform([(T[10:40], np.exp(T[10:40]))])[0]
    np.testing.assert_allclose(out[:10], np.exp(T[10]), atol=1e-3)
    np.testing.assert_allclose(out[40:], np.exp(T[39]), atol=1e-3)


def test_points_in_any_order_and_twice():
    t, v = np.array([1.0, 0.0, 0.5, 0.5]), np.array([2.0, 0.0, 0.0, 2.0])
    np.testing.assert_allclose(Resample([0.0, 0.5, 1.0]).fit_transform([(t, v)]), [[0, 1, 2]])


def test_smoothing_takes_noise_away():
    rng = np.random.default_rng(0)
    truth = np.sin(6 * T)
    noisy = truth + 0.3 * rng.normal(size=(20, 50))
    for penalty in ("gcv", 1e-4):
        smooth = Resample(T, penalty).fit_transform(noisy)
        assert ((smooth - truth) ** 2).mean() < 0.4 * ((noisy - truth) ** 2).mean()


def test_few_points_are_interpolated():
    out = Resample([0.0, 0.5, 1.0], "gcv").fit_transform([([0.0, 1.0], [0.0, 2.0])])
    np.testing.assert_allclose(out, [[0.0, 1.0, 2.0]])


def test_in_a_pipeline():
    rng = np.random.default_rng(0)
    phases = rng.random(30)
    X = [(t := np.sort(rng.random(40)), np.sin(6 * t + p)) for p in phases]
    model = make_pipeline(Resample(T, 1e-4), KernelDependency(Gaussian(L2(T)), alpha=1e-3))
    assert clone(model).fit(X, phases).score(X, phases) > 0.95


@pytest.mark.parametrize("penalty", [-1.0, "best", np.nan, [1]])
def test_bad_penalties(penalty):
    with pytest.raises(ValueError, match="penalty must be None, a number ≥ 0"):
        Resample(T, penalty).fit([(T, T)])


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ([], "X is empty"),
        ([(T, T), (T[:1], T[:1])], "curve 1 of X has 1 measured points"),
        (np.zeros((3, 7)), "curve 0 of X has 7 values"),
        ([T, T[:5]], "curve 1 of X has 5 values"),
    ],
)
def test_bad_batches(batch, message):
    with pytest.raises(ValueError, match=message):
        Resample(T).fit_transform(batch)
