"""Units of inputs and outputs change no choice; zero columns of the outputs change nothing."""

import numpy as np
import pytest

from laws.cases import crossed, off, vectors
from mercer import KernelDependency, KernelDependencyCV
from mercer.features import Nystroem
from mercer.kernels import RBF, Linear
from mercer.operators import (
    ConditionalCovariance,
    Covariance,
    Identity,
    Mixture,
    ReducedRank,
)

AGREE = 1e-9
X, Y = vectors(24)
X_NEW, _ = vectors(5, seed=1)
OPERATORS = {
    "identity": Identity(),
    "covariance": Covariance(),
    "root covariance": Covariance(0.5),
    "conditional": ConditionalCovariance(0.1),
    "reduced rank": ReducedRank(1),
    "mixture": Mixture([Identity(), Covariance(), ConditionalCovariance(0.1)], [0.2, 0.5, 0.3]),
}
ANY_OUTPUTS = [name for name, operator in OPERATORS.items() if not operator.own_coordinates]
SCALES = [1e-6, 1e6]
AUTO = {"alphas": "auto", "fit_intercept": True}


def chosen(model):
    """What a choice settled on, as its place among the trials, and its relative risks."""
    risks = np.asarray(model.cv_results_["risk"])
    return int(np.argmin(risks)), str(model.kernel_.operator), risks / risks.min()


# -- choices: alphas="auto" ---------------------------------------------------------------------


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", OPERATORS)
def test_units_of_outputs_change_no_choice(name, scale):
    kernel = [RBF(s) * op for s in (0.5, 2.0) for op in (Identity(), OPERATORS[name])]
    one = KernelDependencyCV(kernel, **AUTO).fit(X, Y)
    other = KernelDependencyCV(kernel, **AUTO).fit(X, scale * Y)
    assert chosen(other)[:2] == chosen(one)[:2]
    assert off(chosen(other)[2], chosen(one)[2]) <= 1e-7
    assert off(other.predict(X_NEW), scale * one.predict(X_NEW)) <= 1e-7


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", ["rbf", "median", "linear", "landmarks"])
def test_units_of_inputs_change_no_choice(kind, scale):
    def model(unit):
        kernel = {"linear": Linear(), "median": RBF("median")}.get(kind, RBF(unit))
        map = Nystroem(landmarks=unit * X[::4]) if kind == "landmarks" else None
        return KernelDependencyCV(kernel * Covariance(), features=map, **AUTO).fit(unit * X, Y)

    one, other = model(1.0), model(scale)
    assert chosen(other)[0] == chosen(one)[0]
    assert off(chosen(other)[2], chosen(one)[2]) <= 1e-7
    assert off(other.predict(scale * X_NEW), one.predict(X_NEW)) <= 1e-7


def test_ridges_chosen_are_absolute():
    """α = a (tr K_x / n) tr(B S_vv) / tr S_vv: four squares of units for outputs of 100."""
    one, other = (
        KernelDependencyCV(RBF(1.0) * Covariance(), **AUTO).fit(X, unit * Y)
        for unit in (1.0, 100.0)
    )
    assert other.alpha_ == pytest.approx(1e4 * one.alpha_, rel=1e-9)
    again = KernelDependency(RBF(1.0) * Covariance(), alpha=one.alpha_, fit_intercept=True)
    assert off(again.fit(X, Y).predict(X_NEW), one.predict(X_NEW)) <= AGREE


# -- fits: the ridge scaled as the kernel is ------------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", OPERATORS)
def test_a_ridge_in_the_units_of_the_operator(name, scale, intercept):
    """B of the outputs scales with their square (or root of it), and the ridge with B."""
    powers = {"identity": 0, "mixture": 0, "root covariance": 1, "reduced rank": 0}
    power = powers.get(name, 2)
    kernel = RBF(1.0) * OPERATORS[name]
    one = KernelDependencyCV(kernel, alphas=[0.05], fit_intercept=intercept).fit(X, Y)
    other = KernelDependencyCV(kernel, alphas=[0.05 * scale**power], fit_intercept=intercept)
    other.fit(X, scale * Y)
    assert off(other.predict(X_NEW), scale * one.predict(X_NEW)) <= AGREE
    assert other.loo_risk_ == pytest.approx(scale**2 * one.loo_risk_, rel=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("scale", SCALES)
def test_inputs_in_other_units(scale, intercept):
    for kernel, scaled, ridge in (
        (RBF(1.0), RBF(scale), 1.0),
        (RBF("median"), RBF("median"), 1.0),
        (Linear(), Linear(), scale**2),
    ):
        one = KernelDependency(kernel, alpha=0.05, fit_intercept=intercept).fit(X, Y)
        other = KernelDependency(scaled, alpha=0.05 * ridge, fit_intercept=intercept)
        assert off(other.fit(scale * X, Y).predict(scale * X_NEW), one.predict(X_NEW)) <= AGREE


# -- zero columns ---------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("name", "kind"), crossed(ANY_OUTPUTS, ["exact", "low rank"]))
def test_zero_columns_change_nothing(name, kind, intercept):
    wider = np.hstack([Y, np.zeros((len(Y), 4))])
    parts = {"fit_intercept": intercept}
    parts |= {"features": Nystroem(landmarks=X[::4])} if kind == "low rank" else {}
    kernel = RBF(1.0) * OPERATORS[name]
    one = KernelDependencyCV(kernel, alphas=[0.01, 0.1, 1.0], **parts).fit(X, Y)
    other = KernelDependencyCV(kernel, alphas=[0.01, 0.1, 1.0], **parts).fit(X, wider)
    assert off(other.cv_results_["risk"], one.cv_results_["risk"]) <= AGREE
    found = other.predict(X_NEW)
    assert off(found[:, :3], one.predict(X_NEW)) <= AGREE
    assert np.abs(found[:, 3:]).max() <= AGREE


@pytest.mark.parametrize("intercept", [False, True])
def test_a_mixture_is_normalised_by_what_the_outputs_see(intercept):
    """Each part over tr(B S_vv) / tr S_vv, which is 1 for the identity."""
    V = Y - Y.mean(axis=0) if intercept else Y
    S = V.T @ V
    C = S / len(Y)
    size = np.trace(C @ S) / np.trace(S)
    parts = 0.4 * np.eye(3) + 0.6 * C / size
    K, alpha = RBF(1.0)(X), 0.05
    H = np.eye(len(X)) - intercept / len(X)
    system = np.kron(H @ K @ H, parts) + alpha * np.eye(V.size)
    fitted = (np.kron(H @ K @ H, parts) @ np.linalg.solve(system, V.ravel())).reshape(V.shape)
    model = KernelDependency(
        RBF(1.0) * Mixture([Identity(), Covariance()], [0.4, 0.6]), alpha=alpha,
        fit_intercept=intercept,
    )  # fmt: skip
    wanted = fitted + Y.mean(axis=0) * intercept
    assert off(model.fit(X, Y).predict(X), wanted) <= AGREE
