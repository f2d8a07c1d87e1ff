"""Operators that depend on the ridge and unlabelled inputs stay with the arrays given."""

import array_api_strict as xp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelDependency, KernelDependencyCV
from mercer.kernels import RBF, LaplacianRegularized
from mercer.operators import Covariance, Identity, Mixture, ReducedRank

MODELS = [
    KernelDependency(RBF(1.0) * ReducedRank(2), alpha=0.1, fit_intercept=True),
    KernelDependency(RBF(1.0) * Mixture([Identity(), Covariance()], [0.5, 0.5]), alpha=0.1),
    KernelDependencyCV([RBF(1.0) * ReducedRank(2), RBF(1.0)], alphas=[0.1, 1.0]),
]


@pytest.mark.parametrize("model", MODELS, ids=range(len(MODELS)))
def test_models(model, rng):
    X, Y, X_new = rng.normal(size=(12, 2)), rng.normal(size=(12, 3)), rng.normal(size=(5, 2))
    wanted = model.fit(X, Y).embed(X_new).inner(Y)
    A, V, B = map(xp.asarray, (X, Y, X_new))
    got = model.fit(A, V).embed(B).inner(V)
    assert type(got) is type(A)
    assert_allclose(np.asarray(got), wanted, rtol=0, atol=1e-6)


def test_unlabelled_inputs_and_links(rng):
    X, Y, more = rng.normal(size=(8, 2)), rng.normal(size=(8, 3)), rng.normal(size=(6, 2))

    def model(unlabelled):
        kernel = LaplacianRegularized(RBF(1.0), neighbors=3, unlabelled=unlabelled)
        return KernelDependency(kernel, RBF(1.0), alpha=0.1)

    wanted = model(more).fit(X, Y).link_scores(X, more)
    A, V, B = map(xp.asarray, (X, Y, more))
    got = model(B).fit(A, V).link_scores(A, B)
    assert type(got) is type(A)
    assert_allclose(np.asarray(got), wanted, rtol=0, atol=1e-8)
    mixed = model(more).fit(A, V).link_scores(A, B)  # of the host, as users have them
    assert_allclose(np.asarray(mixed), wanted, rtol=0, atol=1e-8)
