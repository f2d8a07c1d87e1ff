"""Local operators: patches as a case, exact leave-one-out, sums with others."""

import numpy as np
import pytest

from mercer import KernelDependency, KernelDependencyCV, load, save
from mercer.fields import Shared
from mercer.kernels import RBF, Matern
from mercer.operators import Boxes, Local, Patchwise
from mercer.spaces import Fields

RNG = np.random.default_rng(0)
X = RNG.normal(size=(14, 5, 6))
RING = Fields(periodic=("x", "y"))  # windows leave it nowhere, so that the mean does not matter
LOCAL = Local(Matern(2.0), width=1.0, floor=0.1)


@pytest.mark.parametrize(("size", "overlap"), [(3, 1), (2, 0), ((5, 3), (0, 2))])
def test_boxes_are_patches(size, overlap):
    boxes = KernelDependency(Local(RBF(3.0), windows=Boxes(size, overlap)), alpha=0.1)
    patches = KernelDependency(Patchwise(RBF(3.0), (5, 6), size, overlap), alpha=0.1)
    expected = patches.fit(X, X**2).predict(X + 0.1)
    assert np.array_equal(boxes.fit(X, X**2).predict(X + 0.1), expected)


def test_each_place_is_a_ridge_regression_of_its_own():
    model = KernelDependency(LOCAL, alpha=0.1, fit_intercept=False).fit(X, X**2)
    at = np.stack(np.meshgrid(np.arange(5), np.arange(6), indexing="ij"), -1).reshape(-1, 2)
    root = np.sqrt(np.exp(-0.5 * ((at - at[8]) ** 2).sum(axis=1)) + 0.1)
    A = X.reshape(14, -1) * root
    K = Matern(2.0)(A)
    expected = K @ np.linalg.solve(K + 0.1 * np.eye(14), X.reshape(14, -1)[:, 8] ** 2)
    assert np.allclose(model.predict(X).reshape(14, -1)[:, 8], expected)


def test_left_out_equals_refits():
    model = KernelDependency(LOCAL, alpha=0.1).fit(X, X**2)
    rest = np.arange(1, 14)
    refit = KernelDependency(LOCAL, alpha=0.1).fit(X[rest], X[rest] ** 2)
    assert np.allclose(model.loo_predict()[0], refit.predict(X[:1])[0])


def test_channels_share_parts_and_widths_are_chosen():
    Y = np.stack([X, X**2], axis=-1)
    kernels = [Local(RBF(3.0), width=w, output_fields=Fields(channels=2)) for w in (0.5, 3.0)]
    model = KernelDependencyCV(kernels).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert model.kernel_.width == 0.5
    assert len(np.unique(model.kernel_.labels_)) == 30


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(3.0) + LOCAL,
        LOCAL + RBF(3.0),
        0.5 * LOCAL + RBF(3.0) + Local(RBF(1.0), windows=Boxes(2, 1)),
        LOCAL + Shared(RBF(3.0), None, 1.0, 0.0, 1.0, fields=RING, output_fields=RING),
    ],
    ids=str,
)
def test_sums(kernel):
    model = KernelDependency(kernel, alpha=0.1).fit(X, X**2)
    rest = np.arange(1, 14)
    refit = KernelDependency(kernel, alpha=0.1).fit(X[rest], X[rest] ** 2)
    assert np.allclose(model.loo_predict()[0], refit.predict(X[:1])[0])


def test_the_variance_is_that_of_each_place():
    model = KernelDependency(LOCAL, alpha=0.1).fit(X, X**2)
    near, far = model.embed(X).variance(), model.embed(X + 10.0).variance()
    assert near.shape == X.shape
    assert (far > near).all()


def test_it_is_saved(tmp_path):
    model = KernelDependency(LOCAL, alpha=0.1).fit(X, X**2)
    again = load(save(model, tmp_path / "model.mercer"))
    assert np.array_equal(again.predict(X), model.predict(X))
