"""Explicit features of inputs may stay sparse, with the same results."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array, issparse

from mercer import KernelDependency, KernelDependencyCV
from mercer.features import Explicit
from mercer.kernels import RBF, Linear, Spectrum
from mercer.operators import ConditionalCovariance, Covariance, Identity
from tolerances import IDENTITY, ROOT

WORDS = ["abc", "bcd", "cdea", "xyz", "abcde", "yza", "bce", "acca"]


@pytest.fixture
def data(rng):
    A = np.where(rng.uniform(size=(15, 6)) < 0.5, rng.normal(size=(15, 6)), 0.0)
    return A, rng.normal(size=(15, 3))


@pytest.mark.parametrize("kernel", [Linear(), 4.0 * Linear()], ids=str)
def test_features_stay_sparse(kernel, data):
    A, _ = data
    rows = Explicit(sparse=True).fit_transform(kernel, csr_array(A))
    assert issparse(rows)
    assert_allclose(rows.toarray(), kernel.features(A), rtol=0, atol=IDENTITY)


@pytest.mark.parametrize("l", [Linear(), RBF(2.0)], ids=str)
@pytest.mark.parametrize("operator", [Identity(), Covariance(), ConditionalCovariance()], ids=str)
def test_sparse_features_give_the_exact_fit(operator, l, data):
    A, Y = data
    wanted = (
        KernelDependency(Linear() * operator, l, 0.1, fit_intercept=False)
        .fit(A, Y)
        .embed(A)
        .inner(Y)
    )
    model = KernelDependency(
        Linear() * operator, l, 0.1, features=Explicit(sparse=True), fit_intercept=False
    )
    assert_allclose(model.fit(csr_array(A), Y).embed(csr_array(A)).inner(Y), wanted, atol=ROOT)
    choice = KernelDependencyCV(Linear() * operator, l, fit_intercept=False)
    risk = choice.fit(A, Y).loo_risk_
    choice.set_params(features=Explicit(sparse=True)).fit(csr_array(A), Y)
    assert choice.loo_risk_ == pytest.approx(risk, rel=1e-6)


def test_strings_in_their_own_features():
    y = np.arange(8.0)
    wanted = (
        KernelDependency(Spectrum(2), alpha=0.1, fit_intercept=False).fit(WORDS, y).predict(WORDS)
    )
    model = KernelDependency(
        Spectrum(2), alpha=0.1, features=Explicit(sparse=True), fit_intercept=False
    ).fit(WORDS, y)
    assert_allclose(model.predict(WORDS), wanted, atol=ROOT)


def test_one_ridge_centres_sparse_rows_and_several_cannot(data):
    A, Y = data
    wanted = KernelDependency(Linear(), alpha=0.1).fit(A, Y).predict(A)
    model = KernelDependency(Linear(), alpha=0.1, features=Explicit(sparse=True))
    assert_allclose(model.fit(csr_array(A), Y).predict(csr_array(A)), wanted, atol=ROOT)
    coupled = KernelDependency(Linear() * Covariance(), features=Explicit(sparse=True))
    for refused in (coupled, KernelDependencyCV(Linear(), features=Explicit(sparse=True))):
        with pytest.raises(ValueError, match=r"would become dense.*fit_intercept=False"):
            refused.fit(A, Y)
