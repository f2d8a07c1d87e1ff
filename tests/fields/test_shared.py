"""Operators shared by all places: equal to the dense solution, and left-out equals refits."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from mercer import KernelDependency, KernelDependencyCV, load, save
from mercer.fields import Shared, predict_on
from mercer.fields.shared_solver import factor_windows
from mercer.kernels import RBF, Linear, Matern, Polynomial
from mercer.problem import Side
from mercer.solvers import Cache
from mercer.solvers.coupled import coupled as dense_route
from mercer.spaces import Fields

RNG = np.random.default_rng(0)
X = RNG.normal(size=(16, 4, 5))
Y = np.stack([np.roll(X, 1, axis=1) ** 2 + X, X + 1.0], axis=-1)
TWO = Fields(channels=2)
KERNEL = Shared(Matern(2.0), Matern(3.0), 1.5, 0.1, rank=30, output_fields=TWO)
WEIGHTS = RNG.uniform(0.5, 2.0, size=16)
GROUPS = np.arange(16) // 3


@pytest.mark.parametrize(
    "kernel",
    [
        Shared(Matern(2.0), Matern(3.0), 1.5, 0.1, output_fields=TWO),
        Shared(RBF(2.0), None, None, 0.0, radius=1.0, output_fields=TWO),
        Shared(Polynomial(2), RBF(2.0), 1.0, 0.1, radius=1.0, output_fields=TWO),
        Shared(RBF(3.0), RBF(2.0), 1.0, 0.0, fields=Fields(periodic=("x",)), output_fields=TWO),
    ],
    ids=["matern", "no position", "not radial", "periodic"],
)
def test_with_all_landmarks_it_is_the_dense_solution(kernel):
    model = KernelDependency(kernel, alpha=0.1).fit(X, Y)
    dense = dense_route(model.fitted_.problem, model.fitted_.want, Cache())
    expected = dense.solve(0.1).points(X + 0.1).coordinates
    assert np.allclose(model.predict(X + 0.1).reshape(16, -1), expected, atol=1e-6)
    left_out = next(iter(dense.left_out([0.1]))).sqlengths
    assert np.allclose(model.fitted_.left_out().sqlengths, left_out, rtol=1e-5)


@pytest.mark.parametrize("window", [RBF(2.0), 2.0 * RBF(2.0), RBF(2.0) + Linear(), Polynomial(2)])
def test_variances_of_any_window_kernel_are_the_dense_ones(window):
    """The variance before any data is that of the window, which need not be one."""
    kernel = Shared(window, RBF(2.0), 1.0, 0.1, radius=1.0, output_fields=TWO)
    model = KernelDependency(kernel, alpha=0.1).fit(X, Y)
    dense = dense_route(model.fitted_.problem, model.fitted_.want, Cache())
    found = model.fitted_.factorization.variance(X + 1.0, 0.1)
    assert np.allclose(found, dense.variance(X + 1.0, 0.1), rtol=1e-3)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["alone", "groups"])
def test_left_out_fields_equal_refits(groups, weights, intercept):
    model = KernelDependency(KERNEL, alpha=0.05, fit_intercept=intercept)
    model.fit(X, Y, groups=groups, sample_weight=weights)
    left_out, whole = model.loo_predict(), model.fitted_.factorization
    labels = np.arange(16) if groups is None else groups
    own = np.flatnonzero(labels == labels[4])
    rest = np.setdiff1d(np.arange(16), own)
    problem = replace(
        whole.problem,
        inputs=Side(whole.problem.inputs.kernel, X[rest]),
        outputs=Side(whole.problem.outputs.kernel, Y[rest]),
        labels=None,
        weights=None if weights is None else weights[rest],
    )
    refit = factor_windows(problem, whole.kernel, Cache().output_rows(problem))
    same = whole.parts[0].spectrum.windows.landmarks  # held fixed
    refit.parts[0].spectrum.windows.__dict__["landmarks"] = same
    expected = refit.solve(0.05).points(X[own]).coordinates
    assert np.allclose(left_out[own].reshape(len(own), -1), expected, atol=1e-8)


def test_landmarks_without_a_seed_are_drawn_once():
    kernel = KERNEL.get_params(deep=False) | {"random_state": None, "rank": 5}
    model = KernelDependency(Shared(**kernel), alpha=0.05).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))  # without its factorisation
    assert np.allclose(again.loo_predict(), model.loo_predict(), atol=1e-8)


@pytest.mark.parametrize("rank", [5, 30])  # fewer and more landmarks than places
def test_one_ridge_and_several_agree(rank):
    model = KernelDependency(KERNEL.set_params(rank=rank), alpha=0.05).fit(X, Y)
    several = next(iter(model.fitted_.factorization.left_out([0.05, 0.5]))).embed().coordinates
    assert np.allclose(model.loo_predict().reshape(16, -1), several, atol=1e-8)


def test_masked_outputs_have_no_row():
    mask = np.ones((4, 5), dtype=bool)
    mask[1, 2] = False
    kernel = Shared(RBF(2.0), RBF(2.0), 1.0, 0.1, output_fields=Fields(mask=mask))
    spoilt = X.copy()
    spoilt[:, 1, 2] = 1e6 * RNG.normal(size=16)
    model = KernelDependency(kernel, alpha=0.1)
    clean = model.fit(X, X**2).predict(X)
    assert np.allclose(
        model.fit(X, np.where(mask, X**2, spoilt)).predict(X)[:, mask], clean[:, mask]
    )


def test_masked_inputs_are_not_looked_at():
    mask = np.ones((4, 5), dtype=bool)
    mask[0, 0] = False
    kernel = Shared(RBF(2.0), RBF(2.0), 1.0, 0.1, fields=Fields(mask=mask))
    model = KernelDependency(kernel, alpha=0.1).fit(X, X**2)
    spoilt = X.copy()
    spoilt[:, 0, 0] = 100.0
    assert np.allclose(model.predict(spoilt), model.predict(X))


def test_axes_match_by_name_and_others_enter_the_position():
    x = RNG.normal(size=(20, 6))
    y = np.stack([x, 2 * np.roll(x, 1, axis=1), -x], axis=1)  # (n, t, x)
    ring, sheet = Fields(("x",), periodic=("x",)), Fields(("t", "x"), periodic=("x",))
    kernel = Shared(RBF(4.0), RBF(0.7), 1.0, 0.0, radius=1, fields=ring, output_fields=sheet)
    model = KernelDependency(kernel, alpha=1e-3).fit(x, y)
    assert model.score(x, y) > 0.99
    assert model.kernel_.offsets_.shape == (3, 1)


def test_three_dimensions_and_scattered_points():
    A = RNG.normal(size=(8, 3, 3, 3))
    cube = KernelDependency(Shared(RBF(3.0), None, 1.0, 0.0, radius=1), alpha=0.1).fit(A, A**2)
    assert cube.predict(A).shape == A.shape
    points = Fields(points=RNG.uniform(size=(12, 2)))
    B = RNG.normal(size=(8, 12))
    kernel = Shared(RBF(3.0), RBF(0.5), 0.3, 0.0, 0.5, fields=points, output_fields=points)
    assert KernelDependency(kernel, alpha=0.1).fit(B, B**2).predict(B).shape == B.shape


def test_what_is_open_is_chosen():
    model = KernelDependencyCV(Shared(rank=60, output_fields=TWO), alphas=[0.01, 0.1]).fit(X, Y)
    assert not model.kernel_.open_parameters
    assert KernelDependency(model.kernel_, alpha=0.1).fit(X, Y).kernel_.width == model.kernel_.width


def test_it_is_saved(tmp_path):
    model = KernelDependency(KERNEL, alpha=0.1).fit(X, Y)
    again = load(save(model, tmp_path / "model.mercer"))
    assert np.allclose(again.predict(X), model.predict(X))
    assert predict_on(again, X[:2], Fields(spacing=0.5)).shape == (2, 8, 10, 2)


def test_variance_is_small_where_data_are():
    model = KernelDependency(Shared(RBF(2.0), RBF(2.0), 1.0, 0.1), alpha=0.1).fit(X, X**2)
    near, far = model.embed(X).variance(), model.embed(X + 10.0).variance()
    assert near.shape == X.shape
    assert (far > near).all()


def test_large_fits_take_distances_in_float32(monkeypatch):
    from mercer.fields import shared

    exact = KernelDependency(KERNEL, alpha=0.1).fit(X, Y).predict(X)
    monkeypatch.setattr(shared, "SINGLE", 0)
    rough = KernelDependency(KERNEL, alpha=0.1).fit(X, Y)
    assert rough.kernel_.single_
    assert np.abs(rough.predict(X) - exact).max() < 1e-4


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (Shared(RBF(1.0), None, -1.0, 0.0), "width must be a positive number"),
        (Shared(RBF(1.0), None, 1.0, -1.0), "floor must be a number ≥ 0"),
        (Shared(RBF(1.0), None, 1.0, 0.0, output_fields=Fields(channels=3)), "channels"),
    ],
)
def test_what_makes_no_sense_is_refused(kernel, reason):
    with pytest.raises(ValueError, match=reason):
        KernelDependency(kernel).fit(X, X)


@pytest.mark.parametrize("groups", [None, GROUPS], ids=["alone", "groups"])
def test_moves_lead_to_the_left_out_predictions(groups):
    model = KernelDependency(KERNEL, alpha=0.05).fit(X, Y, groups=groups, sample_weight=WEIGHTS)
    whole = model.fitted_
    left_out, points = whole.left_out_points().coordinates, whole.points()(X).coordinates
    moves = np.concatenate([move for _, move in whole.moves(X)])
    own = moves[np.arange(16), np.arange(16)]
    assert np.allclose(points - own, left_out, atol=1e-8)


def test_bands_hold_held_out_fields():
    from mercer import ConformalSets

    A = np.random.default_rng(1).normal(size=(400, 8))
    B = np.roll(A, 1, axis=1) * A + 0.1 * np.random.default_rng(2).normal(size=A.shape)
    ring = Fields(periodic=("x",))
    kernel = Shared(RBF(3.0), None, 1.0, 0.0, 1.0, rank=100, fields=ring, output_fields=ring)
    sets = ConformalSets(KernelDependency(kernel, alpha=0.1), kind="band", random_state=0)
    sets.fit(A[:200], B[:200])
    assert 0.84 < np.mean(sets.covers(A[200:], B[200:])) < 0.96


def test_radius_zero_is_positionwise():
    """Sequences of one length, whose places share what they learn by eta."""
    from mercer.kernels import Function
    from mercer.operators import Positionwise

    eta, A = 0.5, RNG.normal(size=(12, 5))
    Y = np.sin(A) + np.arange(5)
    same = Function(lambda a, b: (a[:, :1] == b[None, :, 0]) + eta)
    kernel = Shared(RBF(1.0), same, None, 0.0, radius=0.0)
    shared = KernelDependency(kernel, alpha=0.1, fit_intercept=False).fit(A, Y)
    places = Positionwise(RBF(1.0), eta=eta, letters=1)
    old = KernelDependency(places, alpha=0.1, fit_intercept=False)
    old.fit([list(a[:, None]) for a in A], Y)
    expected = old.embed([list(a[:, None]) for a in A]).coordinates
    assert np.allclose(shared.predict(A), expected, atol=1e-6)


def test_an_operator_couples_channels():
    """K = k B, written out: the slots of channels are coupled by B."""
    B = np.array([[2.0, 0.8], [0.8, 0.5]])
    plain = Shared(RBF(2.0), RBF(2.0), 1.0, 0.1, output_fields=TWO)
    coupled = Shared(RBF(2.0), RBF(2.0), 1.0, 0.1, output_fields=TWO, operator=B)
    model = KernelDependency(coupled, alpha=0.1, fit_intercept=False).fit(X, Y)
    G = plain.set_params(output_shape=(4, 5, 2)).fit(X, Y.reshape(16, -1)).gram(X).matrix()
    K = np.kron(G, B)
    expected = K @ np.linalg.solve(K + 0.1 * np.eye(len(K)), Y.reshape(-1))
    assert np.allclose(model.predict(X).reshape(-1), expected, atol=1e-5)
    own, rest = np.arange(40), np.arange(40, 640)
    refit = K[own][:, rest] @ np.linalg.solve(
        K[rest][:, rest] + 0.1 * np.eye(600), Y.reshape(-1)[rest]
    )
    assert np.allclose(model.loo_predict()[0].reshape(-1), refit, atol=1e-4)
    with pytest.raises(ValueError, match="symmetric matrix of 2 channels"):
        KernelDependency(coupled.set_params(operator=np.eye(3)), alpha=0.1).fit(X, Y)
