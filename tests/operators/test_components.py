"""Kernels diagonal in output components: the same as the whole matrix, without ever making it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import mercer
from mercer import KernelDependency, KernelDependencyCV
from mercer.features import IncompleteCholesky
from mercer.kernels import RBF, Linear
from mercer.operators import (
    ComponentGram,
    ComponentKernel,
    Covariance,
    Identity,
    Patchwise,
    Pointwise,
)
from mercer.operators.local import patch_starts
from mercer.testing import check_operator_kernel
from tolerances import IDENTITY, LEFT_OUT

PATCHES = Patchwise(RBF(2.0), shape=(3, 4), size=2, overlap=1)
KERNELS = {
    "pointwise": Pointwise(),
    "patchwise": PATCHES,
    "of the data's own scale": Patchwise(shape=(3, 4), size=(3, 2), overlap=0),
    "diagonal regularisation": 0.7 * RBF(2.0) * Identity() + 0.3 * Pointwise(),
    "three": 2 * PATCHES + Pointwise(0.1) + Linear() * (Identity() + 0.5 * Identity()),
}


@pytest.fixture
def data(rng):
    return rng.normal(size=(8, 12)), rng.normal(size=(8, 12))


def written_out(model, X):
    n, q = len(X), 12
    return model.kernel_.gram(X).blocks().transpose(0, 2, 1, 3).reshape(n * q, n * q)


@pytest.mark.parametrize("name", KERNELS)
def test_contract(name, data):
    assert KERNELS[name].componentwise and not KERNELS[name].separable
    check_operator_kernel(KERNELS[name], *data)


@pytest.mark.parametrize("name", KERNELS)
def test_fits_are_those_of_the_whole_matrix(name, data):
    X, Y = data
    model = KernelDependency(KERNELS[name], alpha=0.1, fit_intercept=False).fit(X, Y)
    G = written_out(model, X)
    coef = np.linalg.solve(G + 0.1 * np.eye(len(G)), Y.ravel())
    assert_allclose(model.coef_.ravel(), coef, atol=IDENTITY)
    assert_allclose(model.predict(X).ravel(), G @ coef, atol=IDENTITY)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", ["patchwise", "diagonal regularisation"])
def test_left_out_predictions_equal_refits(name, intercept, data):
    X, Y = data
    Y = Y + 3.0
    groups = [0, 0, 1, 2, 2, 2, 3, 4]
    model = KernelDependencyCV(KERNELS[name], alphas=[0.1, 1.0], fit_intercept=intercept)
    for labels in (None, groups):
        model.fit(X, Y, groups=labels)
        left = model.loo_embed().coordinates
        for one in set(range(8) if labels is None else groups):
            own = np.asarray(range(8) if labels is None else groups) == one
            once = KernelDependency(KERNELS[name], alpha=model.alpha_, fit_intercept=intercept)
            refit = once.fit(X[~own], Y[~own]).predict(X[own])
            assert_allclose(left[own], refit, atol=LEFT_OUT)


def test_an_intercept_makes_the_constant_free(data):
    X, Y = data
    plain = KernelDependency(PATCHES, alpha=0.5, fit_intercept=True).fit(X, Y)
    moved = KernelDependency(PATCHES, alpha=0.5, fit_intercept=True).fit(X, Y + 100.0)
    assert_allclose(moved.predict(X), plain.predict(X) + 100.0, atol=1e-9)


def test_an_alpha_below_rounding_goes_by_the_spectrum(data):
    X, Y = data
    model = KernelDependency(PATCHES, alpha=1e-18, fit_intercept=False).fit(X, Y)
    assert_allclose(model.predict(X), Y, atol=1e-6)


def test_generalised_cross_validation_runs_by_component(data):
    X, Y = data
    model = KernelDependencyCV(
        PATCHES, alphas=[0.1, 1.0], criterion="gcv", fit_intercept=False
    ).fit(X, Y)
    assert np.isfinite(model.loo_risk_)


def test_one_patch_is_the_separable_kernel(data):
    X, Y = data
    whole = Patchwise(RBF(2.0), shape=(3, 4), size=(3, 4), overlap=0)
    one = KernelDependency(whole, alpha=0.2, fit_intercept=False).fit(X, Y).predict(X)
    assert_allclose(
        one,
        KernelDependency(RBF(2.0), alpha=0.2, fit_intercept=False).fit(X, Y).predict(X),
        atol=IDENTITY,
    )


def test_patches_by_loops(data):
    X, _ = data
    kernel = PATCHES.fit(X, X)
    images = X.reshape(8, 3, 4)
    for i, j in [(0, 1), (3, 3)]:
        expected = np.zeros((3, 4))
        for top in (0, 1):
            for left in (0, 1, 2):
                cut = np.s_[top : top + 2, left : left + 2]
                D2 = ((images[i][cut] - images[j][cut]) ** 2).sum()
                expected[cut] += np.exp(-D2 / 8.0)
        K = kernel.gram(X[[i]], X[[j]]).blocks()[0, 0]
        assert_allclose(K, np.diag(expected.ravel()), atol=IDENTITY)


def test_outputs_of_another_size_see_the_patches_at_their_place(rng):
    X, Y = rng.normal(size=(6, 4, 4)), rng.normal(size=(6, 2, 8))
    kernel = Patchwise(RBF(1.0), (4, 4), size=2, overlap=0, output_shape=(2, 8))
    model = KernelDependency(kernel, alpha=0.1, fit_intercept=False).fit(X, Y)
    assert model.predict(X).shape == (6, 2, 8)
    corner = KernelDependency(RBF(1.0), alpha=0.1, fit_intercept=False).fit(
        X[:, :2, :2], Y[:, 0, :4]
    )
    assert_allclose(model.predict(X)[:, 0, :4], corner.predict(X[:, :2, :2]), atol=IDENTITY)


@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 11))
def test_patches_cover_every_pixel_and_end_flush(length, size, overlap):
    if size > length or overlap >= size:
        with pytest.raises(ValueError, match="size"):
            patch_starts(length, size, overlap)
        return
    places = patch_starts(length, size, overlap)
    covered = {p for place in places for p in range(place, place + size)}
    assert covered == set(range(length))
    assert len(set(places)) == len(places)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Patchwise(size=10), "patches of size 10 do not fit into an image of 4 pixels"),
        (Patchwise(size=2, overlap=-1), "leaves 1 pixels between patches: they do not cover"),
        (Patchwise(size=2, overlap=2), "overlap must be less than the patches' size 2, got 2"),
        (Patchwise(size=2.5), "size must be an integer or two of them, got 2.5"),
        (Patchwise(shape=(3, 4), size=2, overlap=1), "has 12 pixels, but input images have 16"),
        (Patchwise(size=2, overlap=1, output_shape=(3, 3)), "9 pixels, but output images have 4"),
        (Patchwise(size=2, overlap=1), None),
        (Pointwise(), "got 16 input and 4 output components"),
        (Pointwise(-1.0), "scaled by a number ≥ 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_named(kernel, message, rng):
    X, Y = rng.normal(size=(5, 4, 4)), rng.normal(size=(5, 4))
    model = KernelDependency(kernel, fit_intercept=False)
    if message is None:
        assert model.fit(X, Y).predict(X).shape == (5, 4)
        return
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)


def test_images_that_are_not_square_need_a_shape(rng):
    X = rng.normal(size=(5, 2, 3))
    with pytest.raises(ValueError, match=r"6 pixels are not square: give shape=\(h, w\)"):
        KernelDependency(Patchwise(size=2, overlap=1), fit_intercept=False).fit(X, X)


def test_low_rank_features_are_refused(data):
    model = KernelDependency(PATCHES, features=IncompleteCholesky(3), fit_intercept=False)
    with pytest.raises(ValueError, match="has a scalar kernel for each component"):
        model.fit(*data)


def test_a_kernel_that_couples_components_is_not_taken_for_diagonal():
    assert not (RBF(1.0) * Covariance() + Pointwise()).componentwise
    assert (RBF(1.0) * (2 * Identity()) + Pointwise()).componentwise


def test_torch_or_another_library_stays_itself(data):
    xp = pytest.importorskip("array_api_strict")
    X, Y = (xp.asarray(A) for A in data)
    for intercept in (False, True):
        model = KernelDependency(KERNELS["three"], alpha=0.1, fit_intercept=intercept)
        expected = model.fit(*data).predict(data[0])
        got = model.fit(X, Y).predict(X)
        assert hasattr(got, "__array_namespace__")
        assert_allclose(np.asarray(got), expected, atol=IDENTITY)


def test_a_saved_model_predicts_the_same(data, tmp_path):
    X, Y = data
    for kernel in KERNELS.values():
        model = KernelDependency(kernel, alpha=0.1, fit_intercept=True).fit(X, Y)
        again = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
        assert_allclose(again.predict(X), model.predict(X), atol=1e-12)


class ByColumn(ComponentKernel):
    """Output component c depends on input column c alone."""

    def by_component(self, A, B=None):
        B = A if B is None else B

        def scalar(c):
            return RBF(1.0)(A[:, [c]], B[:, [c]])

        return ComponentGram(np.arange(A.shape[1]), scalar, len(A), len(B))


def test_a_multiple_of_a_custom_kernel_stays_componentwise(rng):
    X = rng.normal(size=(15, 3))
    kernel = 0.5 * ByColumn() * 0.5
    assert kernel.componentwise
    check_operator_kernel(kernel, X, X)
    found, wanted = (
        KernelDependency(k, alpha=a).fit(X, np.sin(X)).predict(X)
        for k, a in ((kernel, 0.1), (ByColumn(), 0.4))
    )
    assert_allclose(found, wanted, rtol=0, atol=1e-10)
