"""The simplex: projections against quadratic programs and their optimality conditions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import Simplex
from mercer.decoders.direct import onto_simplex, onto_sphere
from mercer.kernels import L2, RBF, ChiSquare, Hellinger, Linear, Sobolev
from mercer.operators import Covariance
from mercer.testing import check_decoder

RNG = np.random.default_rng(0)
P = RNG.dirichlet(np.full(5, 0.7), size=12)
T = np.array([0.0, 0.1, 0.4, 0.7, 1.0])
DENSITIES = P / L2(T).features(np.ones((1, 5)))[0] ** 2


vectors = arrays(float, st.integers(1, 7), elements=st.floats(-1e3, 1e3, allow_subnormal=False))


@given(v=vectors, seed=st.integers(0, 100))
@settings(deadline=None, max_examples=150)
def test_projection_satisfies_the_optimality_conditions(v, seed):
    w = np.random.default_rng(seed).uniform(0.1, 2.0, len(v))
    y = onto_simplex(v[None, :], w)[0]
    assert (y >= 0).all()
    assert w @ y == pytest.approx(1.0, abs=1e-9)
    # v - y is one number where y > 0 and no greater elsewhere: necessary and sufficient.
    tau = (v - y)[y > 0]
    assert np.ptp(tau) <= 1e-9 * max(1.0, np.abs(v).max())
    assert (v[y == 0] <= tau.min() + 1e-9 * max(1.0, np.abs(v).max())).all()


@pytest.mark.parametrize("seed", range(15))
def test_projection_equals_a_quadratic_program(seed):
    rng = np.random.default_rng(seed)
    v, w = rng.normal(size=4), rng.uniform(0.2, 2.0, 4)
    found = minimize(
        lambda y: (w * (y - v) ** 2).sum(),
        np.full(4, 1 / w.sum()),
        jac=lambda y: 2 * w * (y - v),
        bounds=[(0, None)] * 4,
        constraints={"type": "eq", "fun": lambda y: w @ y - 1, "jac": lambda y: w},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(onto_simplex(v[None, :], w)[0], found.x, atol=1e-5)


@given(v=vectors, seed=st.integers(0, 100))
@settings(deadline=None, max_examples=60)
def test_nothing_on_the_sphere_is_nearer(v, seed):
    s = onto_sphere(v[None, :])[0]
    assert np.linalg.norm(s) == pytest.approx(1.0)
    others = np.abs(np.random.default_rng(seed).normal(size=(500, len(v))))
    others = np.vstack([others, np.eye(len(v))])
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    assert v @ s >= (others @ v).max() - 1e-9 * max(1.0, np.abs(v).max())


@pytest.mark.parametrize("kernel", [Linear(), Hellinger(), 3.0 * Hellinger(), 0.5 * Linear()])
def test_probabilities_are_found_again(kernel):
    check_decoder(Simplex(), kernel, P)


def test_densities_are_found_again():
    check_decoder(Simplex(), L2(T), DENSITIES)


@pytest.mark.parametrize("kernel", [Linear(), Hellinger()])
def test_predictions_are_probabilities(kernel):
    X = RNG.normal(size=(12, 3))
    model = KernelDependencyCV(
        RBF() * Covariance(), kernel, alphas=[1e-3, 1e-1], decoder=Simplex(), fit_intercept=True
    ).fit(X, P)
    out = model.predict(3 * RNG.normal(size=(40, 3)))
    assert (out >= 0).all()
    np.testing.assert_allclose(out.sum(axis=1), 1.0)


def test_large_entries_lose_nothing():
    np.testing.assert_allclose(
        onto_simplex(np.array([[1e18, 0.0], [1e18, 1e18]])), [[1, 0], [0.5, 0.5]]
    )


@pytest.mark.parametrize("kernel", [ChiSquare(), Sobolev(), RBF(1.0), L2(smoothing=1.0)])
def test_other_kernels_are_refused(kernel):
    with pytest.raises(ValueError, match="Simplex needs an output kernel on probabilities"):
        KernelDependency(output_kernel=kernel, decoder=Simplex()).fit(P, P)


@pytest.mark.parametrize(
    "bad", [np.array([0.5, 0.6, 0, 0, 0]), np.array([1.2, -0.2, 0, 0, 0])], ids=["sum", "negative"]
)
def test_outputs_that_are_no_probabilities_are_refused(bad):
    Y = P.copy()
    Y[7] = bad
    with pytest.raises(ValueError, match="output 7 of y is not a probability"):
        KernelDependency(decoder=Simplex()).fit(P, Y)


@pytest.mark.parametrize("kernel", [Linear(), Hellinger()])
def test_arrays_of_other_libraries(kernel):
    xp = pytest.importorskip("array_api_strict")
    X = RNG.normal(size=(12, 3))
    model = KernelDependency(RBF(1.0), kernel, alpha=0.1, decoder=Simplex())
    expected = model.fit(X, P).predict(X)
    found = model.fit(xp.asarray(X), xp.asarray(P)).predict(xp.asarray(X))
    np.testing.assert_allclose(np.asarray(found), expected, atol=1e-10)
