"""Leave-group-out in closed form against refits, at the size of a real study."""

import numpy as np
import pytest

import naive
from mercer import KernelDependency, KernelDependencyCV
from mercer._base.symmetric import full
from mercer.kernels import RBF
from mercer.operators import ConditionalCovariance, Covariance, Identity, Matrix, Moments
from mercer.solvers import left_out


def study(subjects=60, width=12, directions=7, seed=0):
    """Repeated visits: groups of one to five rows that look alike."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(subjects), rng.integers(1, 6, subjects)))
    X = rng.normal(size=(subjects, width))[groups] + 0.3 * rng.normal(size=(len(groups), width))
    Y = np.tanh(X @ rng.normal(size=(width, directions))) + 0.1 * rng.normal(
        size=(len(groups), directions)
    )
    return X, Y, groups


def refitted(X, Y, groups, operator, alpha, intercept):
    """Without each group in turn, B held fixed at that of all the data."""
    U = naive.coordinates(RBF(3.0)(X))
    U, V = (A - intercept * A.mean(axis=0) for A in (U, Y))
    B = Matrix(full(operator.matrix(Moments.of(U, V))))
    G = np.empty_like(Y)
    for group in np.unique(groups):
        out = groups == group
        model = KernelDependency(RBF(3.0) * B, alpha=alpha, fit_intercept=intercept)
        G[out] = model.fit(X[~out], Y[~out]).predict(X[out])
    return G


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("operator", [Identity(), Covariance(1.5), ConditionalCovariance(0.1)])
def test_closed_form_equals_refits(operator, intercept):
    """With each ridge for every operator, once with and once without an intercept."""
    X, Y, groups = study()
    alpha = 1e-3 if intercept == isinstance(operator, Covariance) else 1.0
    model = KernelDependencyCV(RBF(3.0) * operator, alphas=[alpha], fit_intercept=intercept)
    points = model.fit(X, Y, groups=groups).loo_embed()
    expected = refitted(X, Y, groups, operator, alpha, intercept)
    np.testing.assert_allclose(points.coordinates, expected, atol=1e-8 * np.abs(Y).max())


def test_batches_of_any_size_agree(monkeypatch):
    X, Y, groups = study()
    kernel = RBF(3.0) * Covariance()
    whole = KernelDependencyCV(kernel, alphas=[0.1], fit_intercept=True).fit(X, Y, groups=groups)
    monkeypatch.setattr(left_out, "BLOCK_ENTRIES", 1)
    single = KernelDependencyCV(kernel, alphas=[0.1], fit_intercept=True).fit(X, Y, groups=groups)
    assert single.loo_risk_ == pytest.approx(whole.loo_risk_, rel=1e-12)


def test_names_of_groups_do_not_matter():
    X, Y, groups = study()
    names = np.array([f"subject {g}" for g in groups])
    a = KernelDependencyCV(RBF(3.0) * Covariance(), alphas=[0.1], fit_intercept=False).fit(
        X, Y, groups=groups
    )
    b = KernelDependencyCV(RBF(3.0) * Covariance(), alphas=[0.1], fit_intercept=False).fit(
        X, Y, groups=names
    )
    assert a.loo_risk_ == b.loo_risk_
