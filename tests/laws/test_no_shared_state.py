"""A fit changes nothing that the user holds, depends on nothing that was fitted before, and keeps
its own copy of what it needs."""

import copy
from dataclasses import fields, is_dataclass
from itertools import islice

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import issparse
from sklearn.base import clone

from laws.every_model import CASES, NAMES, answered, answers
from laws.same import assert_same
from mercer import AutoDependency, KernelDependency
from mercer.features import Explicit, IncompleteCholesky, Nystroem
from mercer.kernels import RBF, Linear, Standardized
from registry import KERNELS, MODELS, MORE_KERNELS, name_of

pytestmark = pytest.mark.filterwarnings("ignore")


def spoil(value):
    """Overwrite everything in a value that can be overwritten."""
    if issparse(value):
        value.data[...] = 7
    elif isinstance(value, np.ndarray) and value.dtype != object:
        if value.flags.writeable:
            value[...] = value[::-1] if value.dtype.kind in "OSU" else 3
    elif isinstance(value, list | np.ndarray | pd.Series):
        for item in value:
            spoil(item)
        value[:] = value[::-1]
    elif isinstance(value, pd.DataFrame):
        for name in value.columns:
            list(map(spoil, value[name]))
            value[name] = value[name].iloc[0] if value[name].dtype.kind in "iuf" else None
    elif isinstance(value, pl.DataFrame):
        for name in value.columns:
            value[0, name] = 7
    elif isinstance(value, tuple):
        list(map(spoil, value))
    elif isinstance(value, dict):
        list(map(spoil, value.values()))
        value.clear()
    elif isinstance(value, set):
        value.clear()
    elif hasattr(value, "edges"):
        spoil(value.graph)
        list(map(spoil, (data for _, data in value.nodes(data=True))))
        value.remove_edges_from(list(value.edges))
    elif is_dataclass(value):
        for field in fields(value):
            spoil(getattr(value, field.name))


def other(items):
    """As many other items of the same kind."""
    if isinstance(items, np.ndarray) and items.dtype.kind == "f":
        return 1.3 * items[::-1]
    if isinstance(items[0], np.ndarray):
        return [other(item) for item in items]
    return items[::-1]


@pytest.mark.parametrize("number", range(len(CASES)), ids=NAMES)
def test_what_the_user_changes_changes_no_model(number):
    _, model, X, y = CASES[number]
    model, X, y = clone(model), copy.deepcopy(X), copy.deepcopy(y)
    before, new = copy.deepcopy([vars(model), X, y]), copy.deepcopy(X)
    refitted = type(model)(**model.get_params(deep=False)).fit(X, y)
    assert_same([vars(model), X, y], before)
    spoil(X), spoil(y)
    found = answers(refitted, new)
    assert_same(found, answered(number))
    spoil(found)
    assert_same(answers(refitted, new), answered(number))


@pytest.mark.parametrize("case", MODELS, ids=name_of)
def test_models_of_the_same_parts_do_not_influence_each_other(case):
    model, X, y = case
    parts = clone(model).get_params(deep=False)
    first, second = (type(model)(**parts) for _ in range(2))
    expected = answers(first.fit(X, y), X)
    second.fit(other(X), y)
    assert_same(answers(first, X), expected)


@pytest.mark.parametrize("case", MODELS, ids=name_of)
def test_a_second_fit_equals_a_fresh_one(case):
    model, X, y = case
    again = clone(model).fit(other(X), y)
    assert_same(answers(again.fit(X, y), X), answers(clone(model).fit(X, y), X))


def changed(params):
    """Other values for the numbers among some parameters, and for the pieces of texts."""
    for name, value in params.items():
        if name == "pieces":
            yield name, "letters" if value == "words" else "words"
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        yield name, value + 1 if isinstance(value, int) else 1.25 * value


@pytest.mark.parametrize("case", KERNELS + MORE_KERNELS, ids=name_of)
def test_a_kernel_with_other_parameters_is_a_fresh_kernel(case):
    kernel, A = clone(case[0]), case[1]
    given = copy.deepcopy(A)
    for name, value in changed(kernel.get_params()):
        again = clone(kernel).fit(A)
        again(A), again.diag(A)
        again.set_params(**{name: value})
        fresh = clone(kernel).set_params(**{name: value})
        try:
            expected = fresh.fit(A)(A)
        except (TypeError, ValueError):
            continue  # not a value that the parameter may have
        np.testing.assert_array_equal(again.fit(A)(A), expected, err_msg=name)
    assert_same(A, given)


@pytest.mark.parametrize("case", MODELS, ids=name_of)
def test_a_model_with_other_parameters_is_a_fresh_model(case):
    model, X, y = case
    for name, value in islice(changed(model.get_params()), 3):
        try:
            fresh = clone(model).set_params(**{name: value}).fit(X, y)
        except ValueError:
            continue  # not a value that the parameter may have
        again = clone(model).fit(X, y)
        answers(again, X)
        assert_same(answers(again.set_params(**{name: value}).fit(X, y), X), answers(fresh, X))


@pytest.mark.usefixtures("few_trees")
def test_auto_dependency_keeps_no_reference():
    x = np.linspace(-1, 1, 40)
    frame = pd.DataFrame({"x": x, "word": np.where(x > 0, "up", "down"), "y": np.sin(3 * x)})
    given, new = frame.copy(deep=True), frame.copy(deep=True)
    model = AutoDependency(output="y", random_state=0).fit(frame)
    expected = model.predict(new), model.predict_set(new, 0.8)
    pd.testing.assert_frame_equal(frame, given)
    frame.loc[:, ["x", "y"]] = 7.0
    pd.testing.assert_frame_equal(model.predict(new), expected[0])
    pd.testing.assert_frame_equal(model.predict_set(new, 0.8), expected[1])
    again = model.set_params(output="word").fit(given)
    fresh = AutoDependency(output="word", random_state=0).fit(given)
    pd.testing.assert_frame_equal(again.predict(new), fresh.predict(new))


RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(50, 3)), RNG.normal(size=(50, 2))
FAR = 5.0 + 3.0 * RNG.normal(size=(40, 3)), RNG.normal(size=(40, 2))
ADDING = {
    "nystroem": KernelDependency(features=Nystroem(10)),
    "both sides": KernelDependency(None, RBF(), features=Nystroem(9), output_features=Nystroem(8)),
    "standardized": KernelDependency(Standardized(Linear()), features=Explicit()),
}


@pytest.mark.parametrize("name", ADDING)
def test_partial_fit_keeps_what_fit_has_drawn(name):
    more = FAR[1]
    model = clone(ADDING[name]).fit([(X, Y)])
    before = model.embed(X).inner(Y)
    assert_same(model.loo_predict(), model.loo_predict())
    weights = np.full(len(more), 1e-9)  # so light that they change nothing but what is drawn
    model.partial_fit(FAR[0], more, sample_weight=weights)
    np.testing.assert_allclose(model.embed(X).inner(Y), before, atol=1e-6)


def refilled():
    """Blocks of one buffer that is filled again and again."""
    x, y, rng = np.empty((30, 3)), np.empty((30, 2)), np.random.default_rng(1)
    for _ in range(4):
        x[:] = rng.normal(size=x.shape)
        y[:] = np.sin(x[:, :2])
        yield x, y


@pytest.mark.parametrize("read", [refilled, lambda: refilled()], ids=["again", "once"])
def test_blocks_may_come_in_one_buffer(read):
    model = KernelDependency(RBF(), features=IncompleteCholesky(20))
    blocks = [(x.copy(), y.copy()) for x, y in refilled()]
    expected = clone(model).fit(blocks)
    found = clone(model).fit(read if read is refilled else read())
    assert_same(answers(found, X), answers(expected, X))
    added = clone(model)
    for block in refilled():
        added.partial_fit(*block)
    first = clone(model).partial_fit(*blocks[0])
    for block in blocks[1:]:
        first.partial_fit(*block)
    assert_same(answers(added, X), answers(first, X))


def test_blocks_added_to_a_fit_do_not_read_the_arrays_of_the_user():
    x, y = X.copy(), Y.copy()
    model = KernelDependency(RBF(1.0), features=IncompleteCholesky(20)).fit([(x, y)])
    expected = copy.deepcopy(model).partial_fit(*FAR).predict(X)
    spoil(x), spoil(y)
    assert_same(model.partial_fit(*FAR).predict(X), expected)


@pytest.mark.usefixtures("few_trees")
def test_auto_dependency_keeps_no_list_in_a_cell():
    x = np.linspace(0, 1, 30)
    tags = [["a"] if v < 0.3 else ["a", "b"] if v < 0.6 else ["c"] for v in x]
    frame = pd.DataFrame({"x": x, "tags": tags})
    new = copy.deepcopy(frame)
    model = AutoDependency(output="tags", random_state=0).fit(frame)
    expected = copy.deepcopy([model.predict(new), model.predict_set(new, 0.8)])
    for value in (frame, model.predict(new), model.predict_set(new, 0.8)):
        spoil(value)
        assert_same([model.predict(new), model.predict_set(new, 0.8)], expected)
