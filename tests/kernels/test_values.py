"""Every kernel against a loop over pairs, and what all of them promise."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.base import clone

import naive
from mercer import KernelDependency
from mercer.features import Nystroem
from mercer.kernels import (
    RBF,
    Function,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Standardized,
    VectorKernel,
    as_kernel,
)
from tolerances import IDENTITY

CASES = {
    "linear": (Linear(), naive.linear),
    "polynomial": (Polynomial(3, gamma=0.5, coef0=2.0), naive.polynomial(3, 0.5, 2.0)),
    "rbf": (RBF(1.5), naive.rbf(1.5)),
    "laplacian": (Laplacian(1.5), naive.laplacian(1.5)),
    "matern 0.5": (Matern(1.5, nu=0.5), naive.matern(1.5, 0.5)),
    "matern 1.5": (Matern(1.5, nu=1.5), naive.matern(1.5, 1.5)),
    "matern 2.5": (Matern(1.5, nu=2.5), naive.matern(1.5, 2.5)),
    "matern inf": (Matern(1.5, nu=np.inf), naive.matern(1.5, np.inf)),
    "inverse quadratic": (
        RationalQuadratic(1.5),
        lambda a, b: 1 / (1 + sum((a - b) ** 2) / (2 * 1.5**2)),
    ),
    "rational quadratic": (RationalQuadratic(1.5, 3.7), naive.rational_quadratic(1.5, 3.7)),
    "rational quadratic, nearly Gaussian": (RationalQuadratic(1.5, 1e15), naive.rbf(1.5)),
    "normalized": (Normalized(Polynomial(2)), naive.normalized(naive.polynomial(2, 1.0, 1.0))),
    "gaussian": (Gaussian(Linear(), 2.0), naive.rbf(2.0)),
    "gaussian of another": (
        Gaussian(Polynomial(2), 9.0),
        naive.gaussian(naive.polynomial(2, 1.0, 1.0), 9.0),
    ),
    "sum": (RBF(1.5) + Linear(), lambda a, b: naive.rbf(1.5)(a, b) + naive.linear(a, b)),
    "product": (RBF(1.5) * Linear(), lambda a, b: naive.rbf(1.5)(a, b) * naive.linear(a, b)),
    "scaled": (0.3 * Linear(), lambda a, b: 0.3 * naive.linear(a, b)),
    "power": (Linear() ** 2, lambda a, b: naive.linear(a, b) ** 2),
    "nested": (
        2 * (RBF(1.0) + 0.5 * Linear() ** 2) * Laplacian(3.0),
        lambda a, b: (
            2 * (naive.rbf(1.0)(a, b) + 0.5 * naive.linear(a, b) ** 2) * naive.laplacian(3.0)(a, b)
        ),
    ),
    "function of items": (Function(naive.rbf(1.5), of_items=True), naive.rbf(1.5)),
    "function of batches": (Function(lambda A, B: A @ B.T), naive.linear),
}


@pytest.mark.parametrize("name", CASES)
def test_equals_the_loop(name, rng):
    kernel, function = CASES[name]
    A, B = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    B[0] = A[0]
    wanted = naive.matrix_of(function, A, B)
    assert_allclose(kernel(A, B), wanted, rtol=IDENTITY, atol=IDENTITY)
    assert_allclose(kernel(A), naive.matrix_of(function, A, A), rtol=IDENTITY, atol=IDENTITY)
    assert_allclose(kernel.diag(A), [function(a, a) for a in A], rtol=IDENTITY, atol=IDENTITY)


@pytest.mark.parametrize("name", CASES)
def test_fitting_a_kernel_whose_numbers_are_given_changes_nothing(name, rng):
    kernel, A = clone(CASES[name][0]), rng.normal(size=(6, 3))
    before = kernel(A)
    assert kernel.fit(A) is kernel
    assert_allclose(kernel(A), before, rtol=0, atol=0)


@pytest.mark.parametrize("name", CASES)
def test_data_are_not_written_to(name, rng):
    kernel, A = CASES[name][0], rng.normal(size=(6, 3))
    kept = A.copy()
    kernel(A), kernel(A, A[:2]), kernel.diag(A)
    assert_allclose(A, kept, rtol=0, atol=0)


@pytest.mark.parametrize("name", CASES)
@settings(deadline=None, max_examples=15)
@given(A=arrays(float, (5, 2), elements=st.floats(-3, 3, width=32)))
def test_symmetric_and_positive_semidefinite(name, A):
    K = CASES[name][0](A)
    assert_allclose(K, K.T, rtol=0, atol=1e-12 * np.abs(K).max())
    assert np.linalg.eigvalsh(K).min() >= -1e-9 * max(1.0, np.abs(K).max())


def test_normalized_zero_has_no_direction():
    K = Normalized(Linear())([[0.0, 0.0], [3.0, 4.0]])
    assert_allclose(K, [[0.0, 0.0], [0.0, 1.0]])
    assert_allclose(Normalized(Linear()).diag([[0.0, 0.0], [3.0, 4.0]]), [0.0, 1.0])


# -- length scales ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "distance"),
    [
        (RBF(), lambda a, b: np.sqrt(((a - b) ** 2).sum())),
        (Matern(), lambda a, b: np.sqrt(((a - b) ** 2).sum())),
        (RationalQuadratic(), lambda a, b: np.sqrt(((a - b) ** 2).sum())),
        (Laplacian(), lambda a, b: np.abs(a - b).sum()),
        (Gaussian(Linear()), lambda a, b: np.sqrt(((a - b) ** 2).sum())),
    ],
    ids=lambda value: type(value).__name__,
)
def test_median_length_scale(kernel, distance, rng):
    A = rng.normal(size=(9, 3))
    wanted = np.median([distance(A[i], A[j]) for i in range(9) for j in range(i)])
    kernel = clone(kernel)
    assert kernel.length_scale == "median"
    assert kernel.fit(A).length_scale_ == pytest.approx(wanted, rel=IDENTITY)
    assert kernel.length_scale == "median"


def test_median_where_most_items_are_equal():
    A = np.zeros((9, 1))
    A[0] = 2.0
    assert RBF().fit(A).length_scale_ == 2.0  # the largest distance: the median is zero
    assert RBF().fit(np.zeros((3, 1))).length_scale_ == 1.0
    assert RBF().fit(np.zeros((1, 1))).length_scale_ == 1.0


def test_a_median_that_was_not_settled():
    with pytest.raises(ValueError, match="takes its length scale from data: call fit"):
        RBF()([[1.0]])


def test_refitting_settles_the_median_anew(rng):
    A = rng.normal(size=(9, 3))
    kernel = RBF().fit(A)
    first = kernel.length_scale_
    assert kernel.fit(10 * A).length_scale_ == pytest.approx(10 * first)


def test_setting_a_length_scale_on_a_fitted_kernel_is_heard(rng):
    A = rng.normal(size=(4, 2))
    kernel = RBF(1.0).fit(A)
    kernel.set_params(length_scale=3.0)
    assert_allclose(kernel.fit(A)(A), RBF(3.0)(A), rtol=0, atol=0)


def test_digits_survive_far_from_the_origin(rng):
    A = rng.normal(size=(6, 3))
    assert_allclose(RBF(1.0)(A + 1e6), RBF(1.0)(A), rtol=0, atol=1e-8)


# -- images, names, functions -----------------------------------------------------------------


def test_images_are_flattened(rng):
    A = rng.normal(size=(5, 3, 4))
    assert_allclose(RBF(1.0)(A), RBF(1.0)(A.reshape(5, 12)), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("rbf", RBF), ("linear", Linear), ("poly", Polynomial), ("polynomial", Polynomial),
     ("laplacian", Laplacian), ("matern", Matern), ("precomputed", Precomputed)],
)  # fmt: skip
def test_names(name, kind):
    assert type(as_kernel(name)) is kind


def test_what_is_no_kernel():
    with pytest.raises(ValueError, match="unknown kernel 'rfb': the names are"):
        as_kernel("rfb")
    for thing in (3, None, RBF):
        with pytest.raises(TypeError, match="a kernel must be a Kernel"):
            as_kernel(thing)
    assert isinstance(as_kernel(lambda A, B: A @ B.T), Function)


def test_a_function_of_the_wrong_shape():
    with pytest.raises(ValueError, match=r"wanted shape \(2, 2\), got \(1,\).*of_items=True"):
        Function(lambda a, b: [1.0])([1, 2])


def test_whole_numbers_become_floating_point():
    assert Function(lambda A, B: np.ones((len(A), len(B)), int))(["a", "b"]).dtype == np.float64


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_functions_without_a_finite_value(value):
    for function in (
        Function(lambda A, B: np.full((len(A), len(B)), value)),
        Function(lambda a, b: value, of_items=True),
    ):
        with pytest.raises(ValueError, match="returned NaN or infinity"):
            function(["a", "b"])


class Returned(VectorKernel):
    """The linear kernel by a container that its author chose."""

    def __init__(self, form):
        self.form = form

    def _gram(self, A, B):
        return self.form(A @ B.T)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize(
    "form", [np.ndarray.tolist, np.matrix, csr_array, pd.DataFrame, np.ma.asarray, lambda K: None]
)
def test_gram_matrices_that_are_no_arrays_are_refused(form):
    X, kernel = np.random.default_rng(0).normal(size=(9, 2)), Returned(form)
    for model in (
        KernelDependency(kernel),
        KernelDependency("rbf", kernel),
        KernelDependency(Normalized(kernel)),
        KernelDependency(kernel, features=Nystroem(3)),
    ):
        with pytest.raises(TypeError, match=r"Returned\(.* must return a plain array of numbers"):
            model.fit(X, X).predict(X)


def test_flat_gram_matrices_are_refused():
    X, kernel = np.random.default_rng(0).normal(size=(9, 2)), Returned(np.ravel)
    for model in (KernelDependency(kernel), KernelDependency("rbf", kernel)):
        with pytest.raises(ValueError, match=r"gave a Gram matrix of shape \(81,\) for 9 items"):
            model.fit(X, X)


def test_polynomials_warn_where_items_lie_far_from_zero():
    Z = np.random.default_rng(0).normal(size=(60, 3))
    y = Z[:, 0] ** 2 + Z[:, 1] * Z[:, 2]
    for kernel in (Polynomial(2), (2.0 * Linear()) ** 2):
        with pytest.warns(UserWarning, match="times their spread from zero.*Standardized"):
            KernelDependency(kernel, fit_intercept=True).fit(1e4 + Z, y)
        assert not kernel.depends_on_data
    for kernel, X in ((Polynomial(2), 100.0 + Z), (Standardized(Polynomial(2)), 1e4 + Z)):
        model = KernelDependency(kernel, fit_intercept=True, alpha=1e-3).fit(X, y)
        assert model.score(X, y) > 0.95
