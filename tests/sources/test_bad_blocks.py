"""A bad block is refused by its number, and what was gathered before it stays."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer import KernelDependency
from mercer.features import Nystroem
from mercer.kernels import RBF, Delta, Linear, On, VectorKernel
from mercer.sources import BadBlock, Stream
from tolerances import IDENTITY

X = np.random.default_rng(0).normal(size=(60, 3))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]])


def spoiled(A, value):
    A = A.copy()
    A[-1, 0] = value
    return A


BAD = {
    "wide X": (np.ones((9, 4)), Y[:9], r"each item of X has shape \(4,\), .*\(3,\)"),
    "narrow y": (X[:9], Y[:9, :1], r"each item of y has shape \(1,\), .*\(2,\)"),
    "flat y": (X[:9], Y[:9, 0], r"each item of y has shape \(1,\)"),
    "NaN in X": (spoiled(X[:9], np.nan), Y[:9], "X contains NaN"),
    "infinity in y": (X[:9], spoiled(Y[:9], np.inf), "y contains infinity"),
    "empty": (X[:0], Y[:0], r"0 sample\(s\)"),
    "unequal lengths": (X[:9], Y[:8], "9 inputs and 8 outputs"),
    "float32": (X[:9].astype(np.float32), Y[:9], "X has dtype float32.*float64: cast it"),
    "text": (X[:9], Y[:9].astype(str), "y has dtype text.*float64"),
    "objects": (X[:9].astype(object), Y[:9], "X has dtype object"),
    "complex": (X[:9] + 1j, Y[:9], "X has dtype complex128"),
    "strings": (["a"] * 9, Y[:9], "X must hold numeric vectors"),
    "ragged": ([[1.0], [1.0, 2.0]], Y[:2], "X must hold numeric vectors.*unequal length"),
    "no pair": (X[:9], None, "y|NoneType"),
}


def model():
    return KernelDependency(RBF(2.0), alpha=0.1, features=Nystroem(landmarks=X[:10]))


@pytest.mark.parametrize("name", BAD)
def test_partial_fit_goes_on_after_a_refusal(name):
    inputs, outputs, message = BAD[name]
    fitted = model().partial_fit(X[:30], Y[:30]).partial_fit(X[30:40], Y[30:40])
    state = {key: id(value) for key, value in vars(fitted).items()}
    with pytest.raises(BadBlock, match=f"block 2 of the stream: .*({message})"):
        fitted.partial_fit(inputs, outputs)
    assert {key: id(value) for key, value in vars(fitted).items()} == state
    fitted.partial_fit(X[40:], Y[40:])
    assert_allclose(fitted.predict(X), model().fit(X, Y).predict(X), atol=IDENTITY * 100)


@pytest.mark.parametrize("name", BAD)
def test_fit_names_the_block_and_leaves_the_model(name):
    inputs, outputs, message = BAD[name]
    fitted = model().fit([(X, Y)])
    before = fitted.predict(X)
    with pytest.raises(BadBlock, match=f"block 1 of the stream: .*({message})"):
        fitted.fit([(X[:30], Y[:30]), (inputs, outputs)])
    assert_allclose(fitted.predict(X), before, rtol=0, atol=0)


INPUTS = pd.DataFrame(X, columns=["a", "b", "c"])
OUTPUTS = pd.DataFrame(Y, columns=["u", "v"])
NAMES = {
    "swapped inputs": (INPUTS[["b", "a", "c"]], OUTPUTS, "feature names should match.*'b'.*'a'"),
    "renamed inputs": (INPUTS.rename(columns={"b": "z"}), OUTPUTS, "feature names.*'z'.*'b'"),
    "swapped outputs": (INPUTS, OUTPUTS[["v", "u"]], "output names should match.*'v'.*'u'"),
}


@pytest.mark.parametrize("name", NAMES)
def test_columns_have_the_names_and_order_of_the_first_block(name):
    inputs, outputs, message = NAMES[name]
    message = f"block 1 of the stream: .*{message}"
    with pytest.raises(BadBlock, match=message):
        model().fit([(INPUTS, OUTPUTS), (inputs, outputs)])
    for fitted in (model().partial_fit(INPUTS, OUTPUTS), model().fit([(INPUTS, OUTPUTS)])):
        with pytest.raises(BadBlock, match=message):
            fitted.partial_fit(inputs, outputs)
        fitted.partial_fit(INPUTS, OUTPUTS)


def test_kernels_on_columns_find_them_by_name():
    columns = KernelDependency(On("a", Linear()) + On("b", Linear()), alpha=0.1)
    swapped = [(INPUTS[:30], Y[:30]), (INPUTS[30:][["b", "a"]], Y[30:])]
    wanted = columns.fit([(INPUTS, Y)]).predict(INPUTS)
    assert_allclose(columns.fit(swapped).predict(INPUTS), wanted, atol=IDENTITY * 100)


def test_a_generator_is_refused_alike():
    with pytest.raises(BadBlock, match="block 1 of the stream"):
        model().fit(iter([(X, Y), (X, None), (X, Y)]))


@pytest.mark.parametrize("block", [X, (X,), (X, Y, Y, Y), {"X": X, "y": Y}], ids=type)
def test_blocks_are_pairs(block):
    with pytest.raises(BadBlock, match=r"block 1 of the stream: a block is a pair \(X, y\)"):
        model().fit(iter([(X, Y), block]))


class Wild(VectorKernel):
    """A kernel that overflows."""

    def _gram(self, A, B):
        return A @ B.T + np.where(np.abs(A).max(axis=1) > 1e3, np.inf, 0.0)[:, None]


def test_kernel_values_that_are_not_finite(monkeypatch):
    monkeypatch.setattr("mercer._base.threads.MOST_BLOCK_ROWS", 7)
    fitted = KernelDependency(Wild(), alpha=0.1, features=Nystroem(landmarks=np.eye(3)))
    fitted.partial_fit(X, Y)
    before = fitted.stream_.gatherings[0].moments
    with pytest.raises(BadBlock, match="block 1 of the stream: .*not finite.*Rescale"):
        fitted.partial_fit(np.vstack([X, 1e4 * X]), np.vstack([Y, Y]))
    assert_allclose(fitted.stream_.gatherings[0].moments.uu, before.uu, rtol=0, atol=0)


def test_a_source_that_fails_fails_as_it_does():
    def blocks():
        yield X, Y
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        model().fit(blocks)


def test_single_pairs_and_lists():
    fitted = KernelDependency(Linear(), alpha=0.1)
    with pytest.raises(ValueError, match="needs at least 2 samples"):
        fitted.partial_fit(X[:1], Y[:1])
    fitted.partial_fit(X[:2].tolist(), Y[:2].tolist()).partial_fit(X[2:3].tolist(), Y[2:3].tolist())
    assert_allclose(fitted.predict(X), fitted.fit(X[:3], Y[:3]).predict(X), atol=1e-8)
    assert fitted.fit(Stream([(X[:1], Y[:1]), (X[1:], Y[1:])])).n_features_in_ == 3


def test_a_block_may_happen_to_have_whole_numbers():
    """As a table read in pieces gives them."""
    pieces = [(X[:30], Y[:30]), (np.round(X[30:]).astype(int), Y[30:] > 0)]
    whole = np.vstack([X[:30], np.round(X[30:])]), np.vstack([Y[:30], Y[30:] > 0])
    wanted = model().fit(*whole).predict(X)
    assert_allclose(model().fit(pieces).predict(X), wanted, atol=IDENTITY * 100)
    assert_allclose(model().fit(pieces[::-1]).predict(X), wanted, atol=IDENTITY * 100)


CHANGED = {
    "kernel": RBF(3.0),
    "output_kernel": RBF(3.0),
    "features": Nystroem(landmarks=X[:12]),
    "output_features": Nystroem(rank=2),
}


@pytest.mark.parametrize("name", CHANGED)
def test_moments_of_other_kernels_and_features_are_not_mixed(name):
    for fitted in (model().partial_fit(X[:30], Y[:30]), model().fit([(X[:30], Y[:30])])):
        old = fitted.get_params(deep=False)[name]
        fitted.set_params(**{name: CHANGED[name]})
        with pytest.raises(ValueError, match=f"^{name} was changed to .*call fit to start anew"):
            fitted.partial_fit(X[30:], Y[30:])
        fitted.set_params(**{name: old}, alpha=0.5).partial_fit(X[30:], Y[30:])
        wanted = model().set_params(alpha=0.5).fit(X, Y).predict(X)
        assert_allclose(fitted.predict(X), wanted, atol=IDENTITY * 100)


def test_features_with_a_generator_as_seed_take_further_blocks():
    """A fit advances the state of a generator, which is not a change of parameters."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    features = Nystroem(10, random_state=np.random.RandomState(0))
    model = KernelDependency(RBF(1.0), features=features)
    model.partial_fit(X[:30], X[:30]).partial_fit(X[30:], X[30:])
    assert model.predict(X).shape == X.shape


def test_a_class_that_the_first_block_lacks_is_refused():
    X, y = np.arange(8.0)[:, None], ["a", "b", "a", "b", "a", "c", "b", "c"]
    model = KernelDependency(Linear(), Delta()).partial_fit(X[:4], y[:4])
    with pytest.raises(BadBlock, match=r"y\[1\] has the class 'c'.* Delta\(classes=\[\.\.\.\]\)"):
        model.partial_fit(X[4:], y[4:])
    named = KernelDependency(Linear(), Delta(["a", "b", "c"])).partial_fit(X[:4], y[:4])
    whole = KernelDependency(Linear(), Delta()).fit(X, y)
    assert list(named.partial_fit(X[4:], y[4:]).predict(X)) == list(whole.predict(X))
