"""Intervals of conformalised quantile regression, by the leaves of a forest."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import QuantileRegressor

import mercer
from mercer import ConformalSets, KernelDependency
from mercer.kernels import RBF, Spectrum
from mercer.sets.quantiles import pinball, pinball_ridge, weighted_quantiles

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(900, 2))
SKEWED = RNG.exponential(size=900) * np.where(X[:, 0] > 0, 1.0, 0.05)
Y = np.column_stack([np.sin(3 * X[:, 0]) + SKEWED, X[:, 1] + 0.1 * RNG.normal(size=900)])
MODEL = KernelDependency(RBF(0.5), alpha=0.3)
TRAIN, TEST = slice(0, 600), slice(600, 900)


def fitted(y=Y, model=MODEL, scale="quantile", **named):
    sets = ConformalSets(model, 0.8, kind="intervals", scale=scale, **named)
    return sets.fit(X[TRAIN], y[TRAIN])


def test_weighted_quantiles_are_those_of_repeated_values():
    values, weights = RNG.normal(size=20), RNG.integers(0, 5, size=(4, 20))
    found = weighted_quantiles(values, weights, (0.1, 0.5, 0.9))
    for row, counts in zip(found, weights, strict=True):
        repeated = np.sort(np.repeat(values, counts))
        for quantile, level in zip(row, (0.1, 0.5, 0.9), strict=True):
            assert quantile == repeated[int(np.ceil(level * len(repeated) - 1e-9)) - 1]


@pytest.mark.parametrize("model", [MODEL, RandomForestRegressor(10, random_state=0)], ids=str)
def test_each_value_is_covered_as_often_as_requested(model):
    sets = fitted(model=model)
    found = sets.predict(X[TEST])
    inside = (found.lower <= Y[TEST]) & (Y[TEST] <= found.upper)
    np.testing.assert_allclose(inside.mean(axis=0), 0.8, atol=0.08)
    assert sets.proven_coverage_ == 0.8


def test_intervals_are_asymmetric_and_follow_the_noise():
    sets = fitted()
    at = np.array([[-0.5, 0.0], [0.5, 0.0]])
    found, middle = sets.predict(at), sets.model_.predict(at)
    above, below = (found.upper - middle)[:, 0], (middle - found.lower)[:, 0]
    assert above[1] > 1.15 * below[1]  # the noise is exponential
    assert above[1] + below[1] > 3 * (above[0] + below[0])
    flat = fitted(scale="flat")
    widths = [(one.upper - one.lower)[:, 0].mean() for one in (sets.predict(X), flat.predict(X))]
    assert widths[0] < 0.95 * widths[1]


def test_the_radius_is_the_quantile_of_held_out_scores():
    sets = fitted(Y[:, 0])
    held, _ = sets._held_out_rows(np.arange(600))
    low, high = sets.scale_.at(X[held])[:, 0].T
    residuals = Y[held, 0] - sets.model_.predict(X[held])
    scores = np.sort(np.maximum(low - residuals, residuals - high))
    assert sets.radii_.radius[0] == scores[int(np.ceil(0.8 * (len(held) + 1))) - 1]


def test_saved(tmp_path):
    sets = fitted()
    loaded = mercer.load(mercer.save(sets, tmp_path / "sets.mercer"))
    np.testing.assert_array_equal(loaded.predict(X[TEST]).lower, sets.predict(X[TEST]).lower)


def test_what_has_no_quantiles():
    with pytest.raises(ValueError, match='scale="quantile" needs kind="intervals"'):
        ConformalSets(MODEL, kind="band", scale="quantile").fit(X, Y)
    with pytest.raises(ValueError, match='scale="quantile" needs calibration="split"'):
        fitted(calibration="jackknife+")


# -- pinball loss on the kernel expansion ---------------------------------------------------------


@pytest.mark.parametrize("level", [0.1, 0.5, 0.8])
def test_the_pinball_loss_is_the_least(level):
    U = np.hstack([np.ones((200, 1)), RNG.normal(size=(200, 3))])
    t = U @ [1.0, 0.5, -1.0, 0.0] + RNG.exponential(size=200) * (1.0 + 0.5 * np.abs(U[:, 1]))
    beta = pinball_ridge(U, t[:, None], level, 1e-9)[:, 0]
    peer = QuantileRegressor(quantile=level, alpha=0.0).fit(U[:, 1:], t)
    least = pinball(t - peer.predict(U[:, 1:]), level)
    assert least - 1e-9 <= pinball(t - U @ beta, level) <= 1.001 * least


def test_a_large_penalty_leaves_the_quantile_of_all():
    U = np.hstack([np.ones((200, 1)), RNG.normal(size=(200, 3))])
    t = RNG.exponential(size=(200, 2))
    beta = pinball_ridge(U, t, 0.9, 1e9)
    np.testing.assert_allclose(beta[0], np.quantile(t, 0.9, axis=0), atol=0.1)
    np.testing.assert_allclose(beta[1:], 0.0, atol=1e-6)


def test_quantiles_of_inputs_that_are_strings(tmp_path):
    words = ["".join(RNG.choice(list("ab"), size=6)) for _ in range(500)]
    noise = np.array([0.1 + 0.3 * word.count("a") for word in words])
    y = np.array([word.count("ab") for word in words]) + noise * RNG.exponential(size=500)
    model = KernelDependency(Spectrum(2, blended=True), alpha=1.0)
    sets = ConformalSets(model, 0.8, kind="intervals", scale="quantile")
    sets.fit(words[:350], y[:350])
    assert sets.covers(words[350:], y[350:]).mean() == pytest.approx(0.8, abs=0.1)
    found = sets.predict(["bbbbbb", "aaaaaa"])
    widths = found.upper - found.lower
    assert widths[1] > 2 * widths[0]
    loaded = mercer.load(mercer.save(sets, tmp_path / "sets.mercer"))
    np.testing.assert_allclose(loaded.predict(words[:9]).lower, sets.predict(words[:9]).lower)


# -- what coverage is about -----------------------------------------------------------------------


@pytest.mark.parametrize("scale", ["quantile", "flat"])
def test_coverage_of_intervals_is_by_value_with_the_joint_figure_beside_it(scale):
    sets = fitted(scale=scale)
    inside = sets.covers(X[TEST], Y[TEST])
    found = sets.predict(X[TEST])
    np.testing.assert_array_equal(inside, (found.lower <= Y[TEST]) & (Y[TEST] <= found.upper))
    np.testing.assert_allclose(sets.losses(X[TEST], Y[TEST]), 1.0 - inside.mean(axis=1))
    assert sets.joint_coverage_ < 0.75 < sets.empirical_coverage_ < 0.85
    assert inside.all(axis=1).mean() == pytest.approx(sets.joint_coverage_, abs=0.1)
    assert fitted(Y[:, 0], scale=scale).covers(X[TEST], Y[TEST, 0]).shape == (300,)


def test_other_sets_have_one_coverage():
    for kind in ("ball", "band", "ellipsoid"):
        sets = ConformalSets(MODEL, 0.8, kind=kind).fit(X[TRAIN], Y[TRAIN])
        assert sets.joint_coverage_ == sets.empirical_coverage_
        assert sets.covers(X[TEST], Y[TEST]).shape == (300,)
