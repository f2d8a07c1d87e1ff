import numpy as np
import pytest
from scipy import sparse

from mercer import KernelDependency, KernelDependencyCV
from mercer.kernels import (
    RBF,
    Function,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    Polynomial,
    Tanimoto,
)

KERNELS = [
    Linear(),
    Polynomial(2),
    RBF(1.0),
    RBF(),
    Matern(1.0),
    Laplacian(),
    Tanimoto(),
    Gaussian(Linear()),
    Gaussian(Normalized(Linear()), 0.7),
    2.0 * RBF(1.0) + Linear(),
    RBF(1.0) * Linear(),
    Linear() ** 2,
]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X, Z = (np.where(rng.random((n, 9)) < 0.3, rng.random((n, 9)), 0.0) for n in (25, 6))
    X[3] = 0.0  # a row without entries
    return X, Z


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_rows_have_the_kernel_values_of_dense_ones(kernel, form, rows):
    X, Z = rows
    Xs, Zs = (sparse.csr_matrix(A).asformat(form) for A in (X, Z))
    assert kernel.accepts_sparse
    kernel.fit(Xs)
    grams = kernel(Xs), kernel(Zs, Xs), kernel.diag(Zs)
    kernel.fit(X)
    for got, wanted in zip(grams, (kernel(X), kernel(Z, X), kernel.diag(Z)), strict=True):
        assert isinstance(got, np.ndarray)
        np.testing.assert_allclose(got, wanted, atol=1e-12)


@pytest.mark.parametrize("estimator", [KernelDependency(), KernelDependencyCV()], ids=str)
def test_estimators_learn_from_sparse_inputs(estimator, rows):
    X, Z = rows
    Y = np.stack([X.sum(axis=1), X[:, 0]], axis=1)
    dense = estimator.fit(X, Y).predict(Z)
    assert estimator.__sklearn_tags__().input_tags.sparse
    np.testing.assert_allclose(
        estimator.fit(sparse.csr_array(X), Y).predict(sparse.csr_array(Z)), dense, atol=1e-10
    )


def test_a_kernel_that_cannot_refuses_sparse_rows():
    kernel = Function(lambda A, B: A @ B.T)
    assert not (RBF(1.0) + kernel).accepts_sparse
    with pytest.raises(TypeError, match="Sparse"):
        KernelDependency().fit(np.eye(3), sparse.csr_array(np.eye(3)))


def test_sparse_rows_with_nan_are_refused():
    A = sparse.csr_array(np.array([[1.0, np.nan]]))
    with pytest.raises(ValueError, match="NaN"):
        RBF(1.0)(A)
