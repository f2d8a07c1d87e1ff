"""Every part of the registry saves, loads and predicts as before."""

import numpy as np
import pytest

import mercer
from mercer import KernelDependency
from mercer import decoders as d
from mercer import features as f
from mercer import kernels as k
from mercer import operators as o
from mercer.testing import same_outputs
from registry import (
    DECODERS,
    FEATURES,
    KERNELS,
    MODELS,
    NUMBERS,
    OPERATOR_KERNELS,
    OPERATORS,
    SPACES,
    VECTORS,
    name_of,
)


def saved(part, tmp_path):
    return mercer.load(mercer.save(part, tmp_path / "part.mercer"))


def assert_same(fitted, X, tmp_path):
    again = saved(fitted, tmp_path)
    wanted, got = fitted.predict(X), again.predict(X)
    assert same_outputs(list(map(str, got)), list(map(str, wanted)))
    assert str(again) == str(fitted)
    assert again.get_params().keys() == fitted.get_params().keys()


@pytest.mark.parametrize("case", KERNELS, ids=name_of)
def test_kernels(case, tmp_path):
    kernel, items = case
    as_input = KernelDependency(kernel, alpha=0.1).fit(items, NUMBERS)
    assert_same(as_input, items, tmp_path)
    as_output = KernelDependency(k.RBF(), kernel, alpha=0.1, decoder=d.Candidates())
    assert_same(as_output.fit(NUMBERS, items), NUMBERS, tmp_path)
    fitted = as_input.input_kernel_
    assert np.array_equal(saved(fitted, tmp_path)(items), fitted(items))


@pytest.mark.parametrize("case", SPACES, ids=name_of)
def test_spaces(case, tmp_path):
    assert str(saved(case[0], tmp_path)) == str(case[0])


@pytest.mark.parametrize("kernel", [k.RBF() * B for B in OPERATORS] + OPERATOR_KERNELS, ids=str)
def test_operators(kernel, tmp_path):
    assert_same(KernelDependency(kernel, alpha=0.1).fit(VECTORS, VECTORS), VECTORS, tmp_path)


@pytest.mark.parametrize("features", FEATURES, ids=str)
def test_features(features, tmp_path):
    kernel = k.Linear() if isinstance(features, f.Explicit) else k.RBF()
    for side, operator in (("features", o.Identity()), ("output_features", o.Covariance())):
        model = KernelDependency(kernel * operator, kernel, decoder=d.Candidates())
        model = model.set_params(**{side: features})
        assert_same(model.fit(NUMBERS, VECTORS), NUMBERS, tmp_path)


@pytest.mark.parametrize("case", DECODERS, ids=name_of)
def test_decoders(case, tmp_path):
    decoder, kernel, outputs = case
    model = KernelDependency(k.RBF(), kernel, alpha=0.1, decoder=decoder).fit(NUMBERS, outputs)
    assert_same(model, NUMBERS, tmp_path)


@pytest.mark.parametrize("case", MODELS, ids=name_of)
def test_estimators(case, tmp_path):
    model, X, y = case
    assert_same(model.fit(X, y), X, tmp_path)
    assert_same(saved(model.fit(X, y), tmp_path), X, tmp_path)  # and once more


def test_estimators_not_fitted(tmp_path):
    for model, X, y in MODELS:
        bare = saved(type(model)(**model.get_params(deep=False)), tmp_path)
        assert str(bare) == str(model)
        bare.fit(X, y)
