"""Sparse rows have the kernel values of dense ones, however they are stored, and stay unchanged."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from mercer import KernelDependency, KernelDependencyCV
from mercer import kernels as k
from mercer._base.arrays import host
from registry import INDICATORS, KERNELS, MORE_KERNELS, POSITIVE
from tolerances import IDENTITY

RNG = np.random.default_rng(0)
ROWS = np.where(RNG.random((8, 5)) < 0.6, RNG.random((8, 5)), 0.0)
ROWS[3] = 0.0  # a row without entries


def unsorted(A):
    """The same matrix with the entries of each row in reverse order."""
    S = sparse.csr_array(A)
    order = np.concatenate(
        [np.arange(a, b)[::-1] for a, b in zip(S.indptr, S.indptr[1:], strict=False)]
    )
    return sparse.csr_array((S.data[order], S.indices[order], S.indptr), S.shape)


def duplicated(A):
    """The same matrix with each entry stored as two halves."""
    S = sparse.csr_array(A)
    data, indices = np.repeat(S.data / 2.0, 2), np.repeat(S.indices, 2)
    return sparse.csr_array((data, indices, 2 * S.indptr), S.shape)


def with_zeros(A):
    """The same matrix with every entry stored."""
    n, d = A.shape
    return sparse.csr_array(
        (A.ravel().astype(float), np.tile(np.arange(d), n), d * np.arange(n + 1)), A.shape
    )


def wide(A):
    """The same matrix with indices of 64 bits."""
    S = sparse.csr_array(A)
    return sparse.csr_array(
        (S.data, S.indices.astype(np.int64), S.indptr.astype(np.int64)), S.shape
    )


FORMS = {
    "csr": sparse.csr_array, "csr_matrix": sparse.csr_matrix, "csc": sparse.csc_array,
    "coo": sparse.coo_array, "unsorted": unsorted, "duplicated": duplicated,
    "explicit zeros": with_zeros, "int64": wide,
}  # fmt: skip
SPARSE = [
    kernel
    for kernel, items in [*KERNELS, *MORE_KERNELS]
    if kernel.accepts_sparse and isinstance(items, np.ndarray) and kernel.space.on_vectors
]


def stored(S):
    """The arrays of a sparse matrix, copied."""
    parts = (S.data, S.row, S.col) if S.format == "coo" else (S.data, S.indices, S.indptr)
    return [part.copy() for part in parts]


def rows_for(kernel):
    width = POSITIVE.shape[1] if kernel.get_params().get("classes", 0) else 5
    given = kernel.get_params().get("length_scale")
    return ROWS[:, : len(given)] if isinstance(given, list) else ROWS[:, :width]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", SPARSE, ids=lambda kernel: type(kernel).__name__)
def test_sparse_rows_have_the_values_of_dense_ones(kernel, form):
    X = rows_for(kernel)
    Z = X[:4] + (X[:4] > 0) * 0.1
    Xs, Zs = FORMS[form](X), FORMS[form](Z)
    before = [stored(Xs), stored(Zs)]
    dense = clone(kernel).fit(X)
    among, between, diagonal = dense(X), dense(Z, X), dense.diag(Z)
    for fitted in (clone(kernel).fit(Xs), dense):
        for found, expected in (
            (fitted(Xs), among), (fitted(Zs, Xs), between), (fitted(Zs, X), between),
            (fitted(Z, Xs), between), (fitted.diag(Zs), diagonal),
        ):  # fmt: skip
            assert isinstance(found, np.ndarray)
            np.testing.assert_allclose(found, expected, rtol=IDENTITY, atol=IDENTITY)
        if fitted.features is not None:
            F, G = (host(fitted.features(A)) for A in (Zs, Xs))
            np.testing.assert_allclose(F @ G.T, between, rtol=1e-9, atol=1e-9)
    for S, parts in zip((Xs, Zs), before, strict=True):
        for now, then in zip(stored(S), parts, strict=True):
            np.testing.assert_array_equal(now, then)


WRAPPERS = {
    "scaled": lambda kernel: 2.0 * kernel, "sum": lambda kernel: kernel + k.Linear(),
    "product": lambda kernel: kernel * kernel, "power": lambda kernel: kernel**2,
    "normalized": k.Normalized,
}  # fmt: skip


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("kernel", SPARSE, ids=lambda kernel: type(kernel).__name__)
def test_wrapped_kernels_of_sparse_rows_have_the_values_of_dense_ones(kernel, wrapper):
    X = rows_for(kernel)
    wrapped = WRAPPERS[wrapper](kernel)
    expected = clone(wrapped).fit(X)(X[:4], X)
    for form in ("csc", "unsorted", "duplicated"):
        S = FORMS[form](X)
        found = clone(wrapped).fit(S)(FORMS[form](X[:4]), S)
        np.testing.assert_allclose(found, expected, rtol=IDENTITY, atol=IDENTITY)


@pytest.mark.parametrize("form", FORMS)
def test_sparse_indicators_have_the_values_of_dense_ones(form):
    Y = FORMS[form](INDICATORS)
    expected = k.Labels().fit(INDICATORS)(INDICATORS)
    np.testing.assert_allclose(k.Labels().fit(Y)(Y), expected, atol=IDENTITY)


@pytest.mark.parametrize("form", ["csr", "unsorted", "duplicated"])
@pytest.mark.parametrize(
    "model",
    [KernelDependency(), KernelDependency(k.Standardized(k.Linear()), alpha=0.1),
     KernelDependency(k.Standardized(k.Laplacian())), KernelDependencyCV()],
    ids=["default", "linear", "laplacian", "cv"],
)  # fmt: skip
def test_models_learn_from_sparse_rows_and_predict_from_either(model, form):
    Y = np.stack([ROWS.sum(axis=1), ROWS[:, 0]], axis=1)
    expected = clone(model).fit(ROWS, Y).predict(ROWS[:3] + 0.1)
    made = FORMS[form]
    for X, Z in ((ROWS, made(ROWS[:3] + 0.1)), (made(ROWS), ROWS[:3] + 0.1),
                 (made(ROWS), made(ROWS[:3] + 0.1))):  # fmt: skip
        np.testing.assert_allclose(clone(model).fit(X, Y).predict(Z), expected, atol=1e-9)


def test_a_kernel_that_cannot_refuses_sparse_rows():
    kernel = k.Function(lambda A, B: A @ B.T)
    assert not (k.RBF(1.0) + kernel).accepts_sparse
    with pytest.raises(TypeError, match="Sparse"):
        KernelDependency().fit(np.eye(3), sparse.csr_array(np.eye(3)))
    with pytest.raises(ValueError, match="NaN"):
        k.RBF(1.0)(sparse.csr_array(np.array([[1.0, np.nan]])))
