"""Laws of neighbours: learnt, solved, left out, on grids of all kinds."""

import numpy as np
import pytest

from mercer import KernelDependencyCV, LocalLaw, load, save
from mercer.estimators import Blend
from mercer.features import Nystroem
from mercer.fields.law_moments import LawRegression
from mercer.kernels import Matern
from mercer.metrics import relative_error
from mercer.spaces import Fields

RNG = np.random.default_rng(0)


def equilibrium(X, periodic=False, live=None):
    """Solve (2d + x) y_p - Σ y_o = 1 on a grid, zero around it or closed to a torus."""
    found = np.zeros(X.shape)
    live = np.ones(X.shape[1:], dtype=bool) if live is None else live
    number = np.full(X.shape[1:], -1)
    number[live] = np.arange(live.sum())
    for x, y in zip(X, found, strict=True):
        A = np.diag(2.0 * x.ndim + x[live])
        for axis in range(x.ndim):
            for step in (1, -1):
                other = np.roll(number, step, axis)
                if not periodic:
                    ends = [slice(None)] * x.ndim
                    ends[axis] = 0 if step == 1 else -1
                    other[tuple(ends)] = -1
                both = live & (other >= 0)
                A[number[both], other[both]] -= 1.0
        y[live] = np.linalg.solve(A, np.ones(live.sum()))
    return found


LINE = RNG.uniform(0.1, 1.0, size=(60, 14))
SQUARE = RNG.uniform(0.1, 1.0, size=(40, 6, 7))
TORUS = Fields(periodic=("x", "y"), spacing=0.5)
MASK = np.ones((6, 7), dtype=bool)
MASK[2:4, 3] = False


@pytest.mark.parametrize(
    ("X", "how", "fields"),
    [
        (LINE, {}, None),
        (SQUARE, {}, None),
        (SQUARE, {"periodic": True}, TORUS),
        (SQUARE, {"live": MASK}, Fields(mask=MASK)),
    ],
    ids=["line", "square", "torus", "mask"],
)
def test_a_law_is_learnt_and_solved(X, how, fields):
    Y = equilibrium(X, **how)
    cut = len(X) - 10
    model = LocalLaw(rank=60, fields=fields).fit(X[:cut], Y[:cut])
    error = relative_error(Y[cut:], model.predict(X[cut:]))
    whole = KernelDependencyCV([Matern(s) for s in (2.0, 6.0)]).fit(X[:cut], Y[:cut])
    assert error < 0.01
    assert error < 0.3 * relative_error(Y[cut:], whole.predict(X[cut:]))
    assert model.errors_.min() < 0.02


@pytest.mark.parametrize("intercept", [False, True])
def test_left_out_errors_are_those_of_refits_with_the_same_landmarks(intercept):
    Y = equilibrium(LINE)
    map = LocalLaw(rank=30).fit(LINE, Y).points_.map
    features = Nystroem(landmarks=map.law.landmarks).fit(map.law.kernel, map.law.landmarks)
    folds = np.arange(60) // 12
    fit = LawRegression(map.stencil, features, LINE, Y, folds, intercept)
    found, _ = fit.left_out_errors(np.arange(60), [1e-4])
    for fold in range(5):
        refit = fit.fit_law(fit.moments(np.flatnonzero(folds != fold)), 1e-4)
        wanted, _ = fit.evaluate(np.flatnonzero(folds == fold), [refit])
        assert np.allclose(found[folds == fold], wanted, rtol=1e-6, atol=1e-9)


def test_constants_of_grid_points_are_those_of_a_dense_regression():
    Y = equilibrium(LINE)
    map = LocalLaw(rank=5).fit(LINE, Y).points_.map
    stencil = map.stencil
    features = Nystroem(landmarks=map.law.landmarks).fit(map.law.kernel, map.law.landmarks)
    law = LawRegression(map.stencil, features, LINE, Y, np.arange(60) % 5, True)
    regressors, target = stencil.regressors_and_target(Y)
    U = features.transform(stencil.windows(LINE))
    D = (regressors[:, :, None] / law.scales[:, None] * U[:, None, :]).reshape(len(U), -1)
    mean, level = (A.reshape(60, 14, -1).mean(axis=0) for A in (D, target[:, None]))
    C, t = D - np.tile(mean, (60, 1)), target - np.tile(level[:, 0], 60)
    coef = np.linalg.solve(C.T @ C + 1e-3 * np.eye(C.shape[1]), C.T @ t)
    found = law.fit_law(law.moments(np.arange(60)), 1e-3)
    wanted = coef.reshape(len(law.scales), -1).T / np.asarray(law.scales)
    assert np.allclose(found.weights, wanted, atol=1e-8 * np.abs(wanted).max())
    assert np.allclose(found.constants, level[:, 0] - mean @ coef, atol=1e-8)


def waves(n, seed):
    """Solve (2 - x) y_p - Σ y_o = 1, which is nearly singular where x is near a resonance."""
    rng, steps = np.random.default_rng(seed), np.subtract.outer(np.arange(24), np.arange(24))
    smooth = np.linalg.cholesky(np.exp(-(steps**2) / 18.0) + 1e-8 * np.eye(24))
    X = 0.25 + 0.08 * rng.normal(size=(n, 24)) @ smooth.T
    laws = np.array([np.diag(2 - x) - np.eye(24, k=1) - np.eye(24, k=-1) for x in X])
    return X, np.linalg.solve(laws, np.ones((n, 24, 1)))[:, :, 0]


def test_solutions_of_nearly_singular_systems_are_damped():
    X, Y = waves(1030, seed=1)
    model = LocalLaw(rank=40, random_state=1).fit(X[:30], Y[:30])
    errors = relative_error(Y[30:], model.predict(X[30:]), average=False)
    assert errors.max() < 10.0  # 74 without
    assert np.median(errors) < 0.04
    assert np.mean(np.minimum(errors, 1.0)) < 0.09


def test_left_out_errors_are_reported_one_by_one():
    X, Y = waves(300, seed=2)
    model = LocalLaw(rank=40).fit(X, Y)
    assert model.left_out_errors_.shape == (200,)
    assert model.far_off_ == np.mean(model.left_out_errors_ > 0.5)
    assert model.errors_.max() <= 1.0
    one = LocalLaw(rank=40, alphas=model.alpha_).fit(X, Y)
    assert np.median(one.left_out_errors_) < 0.01


def test_channels_constants_of_places_and_groups():
    source = np.linspace(0.0, 1.0, 14)
    X = np.stack([LINE, RNG.normal(size=LINE.shape)], axis=-1)
    Y = np.stack([
        np.linalg.solve(np.diag(2 + a) - np.eye(14, k=1) - np.eye(14, k=-1), source + b)
        for a, b in zip(X[..., 0], X[..., 1], strict=True)
    ])  # fmt: skip
    model = LocalLaw(rank=150, fit_intercept=True, radius=0.5, fields=Fields(channels=2))
    model.fit(X[:50], Y[:50], groups=np.arange(50) // 2)
    assert relative_error(Y[50:], model.predict(X[50:])) < 0.05


def test_few_fields_do_where_there_are_many():
    Y = equilibrium(LINE)
    few = LocalLaw(rank=40, n_windows=14 * 20).fit(LINE, Y)
    assert relative_error(Y, few.predict(LINE)) < 0.02


def test_few_fields_are_never_of_one_group():
    groups = np.arange(60) > 0
    for seed in range(5):
        few = LocalLaw(rank=20, n_windows=14 * 3, random_state=seed)
        assert np.isfinite(few.fit(LINE, equilibrium(LINE), groups=groups).errors_).any()


@pytest.mark.parametrize("unit", [1e-300, 1e-170, 1e200, 1e300])
def test_units_change_nothing(unit):
    Y = equilibrium(LINE)
    expected = LocalLaw(rank=30).fit(LINE, Y).predict(LINE)
    assert np.allclose(LocalLaw(rank=30).fit(LINE, Y * unit).predict(LINE) / unit, expected)
    assert np.allclose(LocalLaw(rank=30).fit(LINE * unit, Y).predict(LINE * unit), expected)


@pytest.mark.parametrize("alphas", [1e-300, [1e-300, 1e-290]])
def test_ridges_that_rounding_takes_away_are_refused(alphas):
    with pytest.raises(ValueError, match="Use larger alphas"):
        LocalLaw(rank=40, alphas=alphas).fit(LINE, equilibrium(LINE))


def test_equal_outputs_are_told():
    with pytest.warns(UserWarning, match="all outputs in y are equal"):
        model = LocalLaw(rank=20).fit(LINE, np.zeros_like(LINE))
    assert not model.predict(LINE).any()


def test_a_blend_refuses_a_model_without_left_out_points():
    with pytest.raises(ValueError, match="LocalLaw has no left-out points"):
        Blend([LocalLaw(rank=40), KernelDependencyCV()]).fit(LINE, equilibrium(LINE))


def test_it_is_saved(tmp_path):
    Y = equilibrium(LINE)
    model = LocalLaw(Matern(9.0), rank=30, alphas=1e-6).fit(LINE, Y)
    again = load(save(model, tmp_path / "model.mercer"))
    assert np.array_equal(again.predict(LINE), model.predict(LINE))


def test_a_device_gives_the_same():
    pytest.importorskip("torch")
    Y = equilibrium(SQUARE)
    fields = [LocalLaw(rank=30, alphas=1e-5, device=d).fit(SQUARE, Y) for d in (None, "cpu")]
    assert np.allclose(*[model.predict(SQUARE) for model in fields], atol=1e-8)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"radius": -1.0}, "radius must be a positive number"),
        ({"reach": 0.5}, "no grid point has a neighbour"),
        ({"alphas": "some"}, "alphas must be numbers"),
        ({"alphas": []}, "alphas is empty"),
        ({"alphas": None}, "alpha must be a positive number, got None"),
        ({"fields": 3}, "fields must be Fields"),
        ({"fit_intercept": "yes"}, "fit_intercept must be True or False"),
    ],
)
def test_what_makes_no_sense_is_refused(change, reason):
    with pytest.raises(ValueError, match=reason):
        LocalLaw(**change).fit(LINE, LINE)


def test_outputs_on_another_grid_are_refused():
    with pytest.raises(ValueError, match="are not on it"):
        LocalLaw().fit(LINE, LINE[:, :5])
