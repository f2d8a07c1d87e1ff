"""Kernels, spaces and decoders combine: sums of different kernels, multiples, and subclasses."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

from mercer import KernelDependency, kernels, load, save
from mercer._base.arrays import count, take
from mercer.decoders import natural
from mercer.defaults import TABLE, default_kernel, evaluate
from mercer.spaces import Space
from mercer.testing import same_outputs
from registry import DECODERS, KERNELS, MORE_DECODERS, SPACES, TOLD


def plain(items):
    """Two numbers for each item; internal forms of the package are refused."""
    assert not any(type(item).__module__.startswith("mercer") for item in items)
    return np.array([[1.0, float(len(repr(item)))] for item in items])


def on_one_space():
    """Neighbours in the registry that compare the same items; each also with a mapped kernel."""
    batches = {}
    for kernel, items in KERNELS:
        batches.setdefault(id(items), (items, []))[1].append(kernel)
    for items, found in batches.values():
        yield from ((left, right, items) for left, right in pairwise(found))
        if not found[0].on_vectors and not isinstance(items, np.ndarray):
            function = kernels.Mapped(plain, kernels.Linear(), found[0].space)
            yield from ((function, kernel, items) for kernel in found)
            yield from ((kernel, function, items) for kernel in found)


def named(case):
    return "-".join(type(part).__name__ for part in case[:2])


@pytest.mark.parametrize("case", list(on_one_space()), ids=named)
def test_sums_and_products_of_different_kernels(case):
    left, right, items = case
    alone = [clone(k).fit(items) for k in (left, right)]
    half = items[:3]
    for made, combine in ((left + right, np.add), (left * right, np.multiply)):
        fitted = clone(made).fit(items)
        np.testing.assert_allclose(fitted(items), combine(*(k(items) for k in alone)), atol=1e-9)
        np.testing.assert_allclose(
            fitted(half, items), combine(*(k(half, items) for k in alone)), atol=1e-9
        )
        np.testing.assert_allclose(
            fitted.diag(items), combine(*(k.diag(items) for k in alone)), atol=1e-9
        )
        checked = fitted.check(items)
        again = fitted.check(take(checked, np.arange(3)))
        np.testing.assert_allclose(fitted(again, checked), fitted(half, items), atol=1e-9)
        if fitted.features is not None:
            F = fitted.features(items)
            np.testing.assert_allclose(F @ F.T, fitted(items), atol=1e-8)


@pytest.mark.parametrize("case", [c for c in on_one_space() if "Mapped" not in named(c)], ids=named)
def test_models_of_combined_kernels_survive_saving(case, tmp_path):
    left, right, items = case
    Y = np.arange(2.0 * count(items)).reshape(-1, 2)
    model = KernelDependency(left + right, alpha=0.1).fit(items, Y)
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    np.testing.assert_allclose(again.predict(items), model.predict(items), rtol=1e-9, atol=1e-9)


def fitted(decoder, kernel, outputs):
    X = np.linspace(0.0, 1.0, count(outputs))[:, None]
    model = KernelDependency(kernels.RBF(0.3), kernel, alpha=0.1, decoder=decoder)
    return model.fit(X, outputs), X + 0.05


def of_subclass(part):
    """The same part as an object of a class that a user derived from its class."""
    members = {}
    if isinstance(vars(type(part)).get("space"), Space):
        members["space"] = of_subclass(part.space)
    own = type("Own", (type(part),), members)
    return own(**part.get_params(deep=False))


decoder_cases = pytest.mark.parametrize(
    "case", [*DECODERS, *MORE_DECODERS], ids=lambda case: f"{named(case)}"
)


@decoder_cases
def test_decoders_under_a_multiple_of_the_kernel_and_after_saving(case, tmp_path):
    decoder, kernel, outputs = case
    expected, X = fitted(decoder, kernel, outputs)
    model, _ = fitted(decoder, 2.0 * kernel, outputs)
    found = model.predict(X)
    assert same_outputs(found, expected.predict(X))
    if kernel is TOLD:  # a file holds no functions
        return
    save(model, tmp_path / "model.mercer")
    assert same_outputs(load(tmp_path / "model.mercer").predict(X), found)


@decoder_cases
def test_a_subclass_of_a_decoder_or_kernel_decodes_alike(case):
    decoder, kernel, outputs = case
    expected, X = fitted(decoder, kernel, outputs)
    model, _ = fitted(of_subclass(decoder), of_subclass(kernel), outputs)
    assert same_outputs(model.predict(X), expected.predict(X))


@pytest.mark.parametrize("case", KERNELS, ids=lambda case: type(case[0]).__name__)
def test_a_subclass_of_a_kernel_behaves_like_its_parent(case):
    kernel, items = case
    own = of_subclass(kernel)
    np.testing.assert_array_equal(own.fit(items)(items), clone(kernel).fit(items)(items))
    assert type(natural(own)) is type(natural(clone(kernel).fit(items)))


@pytest.mark.parametrize("case", SPACES, ids=lambda case: type(case[0]).__name__)
def test_a_subclass_of_a_space_behaves_like_its_parent(case):
    space, items = case
    own = of_subclass(space)
    checked = space.check(items)
    assert own.keys(own.check(items)) == space.keys(checked)
    assert evaluate(own, checked, checked) == evaluate(space, checked, checked)
    if isinstance(space, tuple(TABLE)):
        assert type(default_kernel(own)) is type(default_kernel(space))
