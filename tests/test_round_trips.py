"""Every public part saves, loads and predicts as before; a new one that is in no list fails here.

The parts are those of `registry.py`; `UNSAVED` says why a public name is not there.
"""

import importlib
import inspect

import numpy as np
import pytest

import mercer
from mercer import KernelDependency
from mercer import decoders as d
from mercer import features as f
from mercer import kernels as k
from mercer import operators as o
from mercer.testing import _equal
from registry import DECODERS, FEATURES, KERNELS, MODELS, NUMBERS, OPERATORS, VECTORS

UNSAVED = {
    "kernels.Kernel": "abstract",
    "kernels.VectorKernel": "abstract",
    "kernels.Function": "holds a function, which no file can",
    "features.FeatureMap": "abstract",
    "features.Coordinates": "lives during a fit",
    "operators.Operator": "abstract",
    "operators.OperatorKernel": "abstract",
    "operators.CoupledKernel": "abstract",
    "operators.Blocks": "holds a function, which no file can",
    "operators.BlockGram": "lives during a fit",
    "operators.DenseGram": "lives during a fit",
    "operators.Slots": "lives during a fit",
    "operators.Moments": "lives during a fit",
    "operators.ComponentGram": "lives during a fit",
    "operators.ComponentKernel": "abstract",
    "operators.JointKernel": "abstract",
    "losses.Loss": "abstract",
    "decoders.Decoder": "abstract",
}


def saved(part, tmp_path):
    return mercer.load(mercer.save(part, tmp_path / "part.mercer"))


def assert_same(fitted, X, tmp_path):
    again = saved(fitted, tmp_path)
    wanted, got = fitted.predict(X), again.predict(X)
    assert _equal(list(map(str, got)), list(map(str, wanted)))
    assert str(again) == str(fitted)
    assert again.get_params().keys() == fitted.get_params().keys()


def name(case):
    part = case[0] if isinstance(case, tuple) else case
    return type(part).__name__


@pytest.mark.parametrize("case", KERNELS, ids=name)
def test_kernels(case, tmp_path):
    kernel, items = case
    as_input = KernelDependency(kernel, alpha=0.1).fit(items, NUMBERS)
    assert_same(as_input, items, tmp_path)
    as_output = KernelDependency(k.RBF(), kernel, alpha=0.1, decoder=d.Candidates())
    assert_same(as_output.fit(NUMBERS, items), NUMBERS, tmp_path)
    fitted = as_input.input_kernel_
    assert np.array_equal(saved(fitted, tmp_path)(items), fitted(items))


@pytest.mark.parametrize("kernel", OPERATORS, ids=str)
def test_operators(kernel, tmp_path):
    assert_same(KernelDependency(kernel, alpha=0.1).fit(VECTORS, VECTORS), VECTORS, tmp_path)


@pytest.mark.parametrize("features", FEATURES, ids=str)
@pytest.mark.parametrize("operator", [o.Identity(), o.Covariance()], ids=str)
def test_features(features, operator, tmp_path):
    kernel = k.Linear() if isinstance(features, f.Explicit) else k.RBF()
    model = KernelDependency(kernel * operator, kernel, decoder=d.Candidates())
    for side in ("features", "output_features"):
        model = model.set_params(**{side: features})
        assert_same(model.fit(NUMBERS, VECTORS), NUMBERS, tmp_path)


@pytest.mark.parametrize("case", DECODERS, ids=name)
def test_decoders(case, tmp_path):
    decoder, kernel, outputs = case
    model = KernelDependency(k.RBF(), kernel, alpha=0.1, decoder=decoder).fit(NUMBERS, outputs)
    assert_same(model, NUMBERS, tmp_path)


@pytest.mark.parametrize("case", MODELS, ids=name)
def test_estimators(case, tmp_path):
    model, X, y = case
    assert_same(model.fit(X, y), X, tmp_path)
    assert_same(saved(model.fit(X, y), tmp_path), X, tmp_path)  # and once more


def test_estimators_not_fitted(tmp_path):
    for model, X, y in MODELS:
        bare = saved(type(model)(**model.get_params(deep=False)), tmp_path)
        assert str(bare) == str(model)
        bare.fit(X, y)


def covered():
    """The classes that the lists above hold, wherever in their parts."""
    lists = (KERNELS, OPERATORS, FEATURES, DECODERS, MODELS)
    parts = [entry[0] if isinstance(entry, tuple) else entry for cases in lists for entry in cases]
    kinds = set()
    for part in parts:
        kinds |= {type(part), *(type(value) for value in part.get_params().values())}
    return kinds


ROOMS = ["kernels", "features", "operators", "losses", "decoders", "estimators"]


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_class_is_covered(room):
    module, kinds = importlib.import_module(f"mercer.{room}"), covered()
    public = {name: getattr(module, name) for name in module.__all__}
    classes = {name: kind for name, kind in public.items() if inspect.isclass(kind)}
    absent = {
        n for n, kind in classes.items() if kind not in kinds and f"{room}.{n}" not in UNSAVED
    }
    assert not absent, (
        f"add {sorted(absent)} to the lists of this file, or to UNSAVED with a reason"
    )
