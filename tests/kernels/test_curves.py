"""Curves: quadrature, derivatives, smoothing, and everything that is no curve."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import KernelDependency
from mercer.decoders import Direct
from mercer.kernels import L2, Gaussian, Sobolev
from mercer.kernels.curves import quadrature, roughness, smoother
from mercer.operators import Covariance
from mercer.testing import check_decoder, check_kernel, check_structured_estimator

T = np.linspace(0.0, 1.0, 30)
UNEVEN = np.sort(np.random.default_rng(1).random(25))

grids = st.lists(st.floats(0.01, 1.0), min_size=3, max_size=20).map(
    lambda steps: np.concatenate([[0.0], np.cumsum(steps)])
)


def waves(t, n=12, seed=0):
    rng = np.random.default_rng(seed)
    return np.sin(6 * t + rng.random((n, 1)) * 6) * (1 + rng.random((n, 1)))


KERNELS = [
    L2(),
    L2(UNEVEN),
    L2(UNEVEN, smoothing=1e-4),
    L2(rule="simpson"),
    Sobolev(),
    Sobolev(UNEVEN, order=2, weight=0.01),
    Sobolev(UNEVEN, weight=0.1, smoothing=1e-3),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_contract(kernel):
    t = T if kernel.grid is None else kernel.grid
    check_kernel(kernel, np.concatenate([waves(t), waves(t)[:1]]))
    check_kernel(Gaussian(kernel), waves(t))


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.features.inverse], ids=str)
def test_direct_recovers_the_curve(kernel):
    t = T if kernel.grid is None else kernel.grid
    check_decoder(Direct(), kernel, waves(t))
    fitted = kernel.fit(waves(t))
    np.testing.assert_allclose(
        fitted.features.inverse(fitted.features(waves(t))), waves(t), atol=1e-9
    )


@given(grid=grids, line=st.tuples(*[st.floats(-5, 5)] * 2))
@settings(deadline=None, max_examples=40)
def test_trapezia_are_exact_for_lines(grid, line):
    a, b = line
    exact = a * grid[-1] + b * grid[-1] ** 2 / 2
    assert quadrature(grid) @ (a + b * grid) == pytest.approx(exact, abs=1e-9)


@given(points=st.integers(1, 10), cubic=st.tuples(*[st.floats(-3, 3)] * 4))
@settings(deadline=None, max_examples=40)
def test_simpson_is_exact_for_cubics(points, cubic):
    t = np.linspace(0.0, 2.0, 2 * points + 1)
    antiderivative = np.polyint(np.array(cubic))
    integral = quadrature(t, "simpson") @ np.polyval(cubic, t)
    assert integral == pytest.approx(np.polyval(antiderivative, 2.0), abs=1e-9)


@given(grid=grids, slope=st.floats(-5, 5), bend=st.floats(-5, 5))
@settings(deadline=None, max_examples=40)
def test_derivatives_are_exact_for_lines_and_parabolas(grid, slope, bend):
    line, parabola = 1.0 + slope * grid, slope * grid + bend * grid**2
    length = grid[-1] - grid[0]
    assert line @ roughness(grid, 1) @ line == pytest.approx(slope**2 * length, abs=1e-6)
    assert parabola @ roughness(grid, 2) @ parabola == pytest.approx(4 * bend**2 * length, abs=1e-5)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("bend", [0.0, 0.5], ids=["even", "uneven"])
def test_sobolev_is_of_second_order(order, bend):
    def error(points):
        u = np.linspace(0, 1, points)
        t = (1 - bend) * u + bend * u**2
        value = Sobolev(t, order=order)([np.exp(t)])[0, 0]
        return abs(value - (np.e**2 - 1))  # every derivative of exp is exp

    assert error(201) < error(51) / 14


def test_sobolev_converges_to_the_integrals():
    t = np.linspace(0, 1, 501)
    f, g = np.sin(3 * t), np.exp(t)
    expected = _integral(lambda s: np.sin(3 * s) * np.exp(s)) + 0.5 * _integral(
        lambda s: 3 * np.cos(3 * s) * np.exp(s)
    )
    assert Sobolev(t, weight=0.5)([f], [g])[0, 0] == pytest.approx(expected, rel=1e-4)


def _integral(function):
    from scipy.integrate import quad

    return quad(function, 0, 1)[0]


def test_l2_of_functions_does_not_depend_on_the_grid():
    coarse, fine = np.linspace(0, 1, 200), np.sort(np.random.default_rng(0).random(1500))
    K = L2(coarse)(waves(coarse))
    np.testing.assert_allclose(L2(np.r_[0, fine, 1])(waves(np.r_[0, fine, 1])), K, atol=2e-3)


def test_the_smoother_solves_its_problem_and_keeps_lines():
    S, w, R = smoother(UNEVEN, 1e-3), quadrature(UNEVEN), roughness(UNEVEN, 2)
    f = waves(UNEVEN)[0]
    gradient = w * (S @ f - f) + 1e-3 * R @ S @ f
    np.testing.assert_allclose(gradient, 0.0, atol=1e-10)
    np.testing.assert_allclose(S @ (2 + 3 * UNEVEN), 2 + 3 * UNEVEN, atol=1e-9)


def test_smoothing_is_chosen_like_any_other_parameter():
    from mercer import KernelDependencyCV

    rng = np.random.default_rng(0)
    phase = rng.random((60, 1))
    X = np.sin(6 * T + 3 * phase) + 0.8 * rng.normal(size=(60, 30))
    kernels = [Gaussian(L2(smoothing=s), 0.5) for s in (0.0, 1e-4)]
    best = KernelDependencyCV(kernels, alphas=[0.1, 1.0], fit_intercept=True).fit(X, phase)
    assert best.kernel_.scalar.kernel.smoothing == 1e-4


# -- batches of all kinds ---------------------------------------------------------------------


def on_own_points(n=12, seed=0):
    rng = np.random.default_rng(seed)
    phases, heights = rng.random(n) * 6, 1 + rng.random(n)
    grids = [np.sort(rng.random(rng.integers(150, 200))) for _ in range(n)]
    return [(t, h * np.sin(6 * t + p)) for t, p, h in zip(grids, phases, heights, strict=True)]


def fdata(rows, t):
    """What scikit-fda's FDataGrid looks like from here."""
    return SimpleNamespace(
        data_matrix=rows.reshape(*rows.shape[:2], -1), grid_points=(t,), shape=(len(rows),)
    )


def test_curves_on_their_own_points_are_interpolated():
    rows = L2(T).check(on_own_points())
    assert rows.shape == (12, 30)
    again = L2(T).check(rows)
    np.testing.assert_array_equal(again, rows)
    dense = np.linspace(0, 1, 1000)
    pairs = [(dense, f) for f in waves(dense)]
    np.testing.assert_allclose(L2(T)(pairs), L2(T)(waves(T)), atol=1e-4)
    np.testing.assert_array_equal(L2(T).check(np.array(pairs)), L2(T).check(pairs))


def test_a_model_of_curves_on_their_own_points():
    X, Y = on_own_points(30), waves(T, 30)
    model = KernelDependency(Gaussian(L2(T)) * Covariance(), Sobolev(T), alpha=1e-3)
    check_structured_estimator(model, X, Y)
    assert model.fit(X, Y).predict(X).shape == (30, 30)
    assert model.n_features_in_ == 30
    outputs = KernelDependency(Gaussian(L2(T)), L2(T), alpha=1e-3).fit(Y, on_own_points(30))
    assert outputs.predict(Y).shape == (30, 30)


def test_grid_data_objects():
    np.testing.assert_array_equal(L2(T).check(fdata(waves(T), T)), waves(T))
    np.testing.assert_array_equal(L2(T).as_outputs(fdata(waves(T), T)), waves(T))
    other = np.linspace(0, 1, 400)
    np.testing.assert_allclose(L2(T).check(fdata(waves(other), other)), waves(T), atol=1e-3)


def test_scikit_fda_itself():
    skfda = pytest.importorskip("skfda", reason="scikit-fda is not installed")
    X, Y = skfda.FDataGrid(waves(T), T), skfda.FDataGrid(waves(T, seed=1), T)
    model = KernelDependency(Gaussian(L2(T)), L2(T), alpha=1e-3).fit(X, Y)
    plain = KernelDependency(Gaussian(L2(T)), L2(T), alpha=1e-3).fit(waves(T), waves(T, seed=1))
    np.testing.assert_array_equal(model.predict(X), plain.predict(waves(T)))


# -- what is refused --------------------------------------------------------------------------

HOLE = waves(T)
HOLE[3, 4:6] = np.nan


@pytest.mark.parametrize(
    ("kernel", "batch", "message"),
    [
        (L2(T), waves(T)[:, :7], "curve 0 of A has 7 values, the grid 30 points"),
        (L2(), [[1.0, 2.0], [1.0, 2.0, 3.0]], "curve 1 of A has 3 values, the grid 2 points"),
        (L2(T), [*waves(T), T[:4]], "curve 12 of A has 4 values"),
        (L2(T), HOLE, "curve 3 of A contains NaN, 2 missing values: fill them with"),
        (L2(), on_own_points(), "L2 has no grid on which to compare them. Use L2"),
        (L2(), fdata(waves(T), T), r"Use L2\(grid=A.grid_points\[0\]\)"),
        (L2(T), [(T, T), (T, T[:3])], "curve 1 of A must be two rows of one length"),
        (L2(T), [(T, T), 3.0], r"curve 1 of A must be a pair \(t, values\)"),
        (L2(T), [(T, T), (T, np.full(30, np.nan))], "curve 1 of A has 0 measured points"),
        (L2(T), [(T, T), (T, np.where(T > 0.5, np.inf, T))], "curve 1 of A has points or values"),
        (L2(T), waves(T)[:, :, None] * np.ones(2), "must hold curves"),
        (L2(), [[1.0], [2.0]], "at least 2 values each"),
        (L2(T), fdata(waves(T)[:, :, None] * np.ones(2), T), "A holds curves with 2 components"),
        (L2([0.0, 1.0, 1.0]), waves(T), "grid must increase: point 2"),
        (L2([0.0]), waves(T), "grid must hold at least 2 finite numbers"),
        (L2(rule="gauss"), waves(T), "rule must be one of"),
        (L2([0.0, 0.01, 1.0], rule="simpson"), waves(T)[:, :3], "weights ≤ 0"),
        (L2(smoothing=-1.0), waves(T), "smoothing must be a number ≥ 0"),
        (Sobolev(order=3), waves(T), "order must be 1 or 2"),
        (Sobolev(weight=-1.0), waves(T), "weight must be a number ≥ 0"),
        (Sobolev(order=2), waves(T)[:, :2], "needs more than 2 points"),
        (L2(T), ["abc"], "must hold"),
    ],
)
def test_refusals(kernel, batch, message):
    with pytest.raises(ValueError, match=message):
        kernel(batch)


def test_a_smoothed_output_kernel_has_no_direct_decoder():
    with pytest.raises(ValueError, match="Direct needs an output kernel whose features can be"):
        KernelDependency(output_kernel=L2(smoothing=1e-3), decoder=Direct()).fit(waves(T), waves(T))


def test_prediction_on_another_grid_is_refused():
    model = KernelDependency(Gaussian(L2()), L2()).fit(waves(T), waves(T))
    with pytest.raises(ValueError, match="curve 0 of X has 29 values, the grid 30 points"):
        model.predict(waves(T)[:, 1:])


@pytest.mark.parametrize("kernel", [L2(), Sobolev(weight=0.1), L2(smoothing=1e-4)], ids=str)
def test_arrays_of_other_libraries(kernel):
    xp = pytest.importorskip("array_api_strict")
    rows = waves(T)
    foreign = xp.asarray(rows)
    K = kernel.fit(rows)(rows)
    np.testing.assert_allclose(np.asarray(kernel(foreign)), K)
    if kernel.features.inverse:
        back = kernel.features.inverse(kernel.features(foreign))
        np.testing.assert_allclose(np.asarray(back), rows, atol=1e-10)
