"""Every bad input has its own message, and leaves a fitted model as it was."""

import warnings

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

from mercer import KernelDependency, KernelDependencyCV
from mercer._base import memory as _memory
from mercer.decoders import Direct
from mercer.features import IncompleteCholesky, KernelPCA
from mercer.kernels import RBF, Function, Laplacian, Linear, Matern, Polynomial
from mercer.operators import ConditionalCovariance, Covariance, Identity, Matrix

X = np.arange(10.0).reshape(5, 2)
Y = np.arange(15.0).reshape(5, 3) ** 1.5
MODELS = [KernelDependency, KernelDependencyCV]


def spoiled(A, value):
    A = A.copy()
    A[1, 0] = value
    return A


DATA = {
    "NaN in X": (spoiled(X, np.nan), Y, "X contains NaN"),
    "infinity in X": (spoiled(X, np.inf), Y, "X contains infinity"),
    "NaN in y": (X, spoiled(Y, np.nan), "y contains NaN"),
    "infinity in y": (X, spoiled(Y, -np.inf), "y contains infinity"),
    "empty X": (X[:0], Y[:0], r"0 sample\(s\)"),
    "empty lists": ([], [], "array"),
    "no features": (X[:, :0], Y, r"0 feature\(s\)"),
    "one sample": (X[:1], Y[:1], "needs at least 2 samples, got n_samples = 1"),
    "unequal lengths": (X, Y[:4], "got 5 inputs and 4 outputs"),
    "no y": (X, None, "requires y to be passed, but the target y is None"),
    "flat X": (X[:, 0], Y, "Expected 2D array|Reshape your data"),
    "complex X": (X + 1j, Y, "Complex data not supported"),
    "strings in X": (["a", "b", "c", "d", "e"], Y, "X must hold numeric vectors.*type str"),
    "strings in y": (X, ["a", "b", "c", "d", "e"], "y must hold numeric vectors.*Precomputed"),
    "sets in y": (X, [{1}, {2}, {3}, {4}, {5}], "y must hold numeric vectors.*items of type set"),
    "ragged X": ([[1], [1, 2], [3], [4], [5]], Y, "X must hold numeric vectors.*unequal length"),
    "ragged y": (X, [[1], [1, 2], [3], [4], [5]], "y must hold numeric vectors.*unequal length"),
    "labels in y": (X, [["a"], ["a", "b"], [], ["b"], ["a"]], "y must hold.*output_kernel.*Labels"),
    "graphs in y": (X, [nx.path_graph(n) for n in range(2, 7)], "y must hold.*type Graph.*Weisf"),
    "objects in X": (np.array([["a", None]] * 5, dtype=object), Y, "could not convert|numeric"),
}  # fmt: skip


@pytest.mark.parametrize("Model", MODELS)
@pytest.mark.parametrize("name", DATA)
def test_data(Model, name):
    inputs, outputs, message = DATA[name]
    with pytest.raises((ValueError, TypeError), match=message):
        Model(RBF(1.0)).fit(inputs, outputs)


DAYS = pd.date_range("2020", periods=5)
DATES = {
    "index": DAYS,
    "series": pd.Series(DAYS, index=[2.5, 3.5, 4.5, 5.5, 6.5]),
    "table": pd.DataFrame({"when": DAYS}),
    "mixed table": pd.DataFrame({"x": X[:, 0], "when": DAYS}),
    "array": DAYS.to_numpy(),
    "list": list(DAYS),
    "zone": DAYS.tz_localize("UTC"),
    "datetime": list(DAYS.to_pydatetime()),
    "objects": np.array(list(DAYS), dtype=object),
    "durations": DAYS - DAYS[0],
    "list of durations": list(DAYS - DAYS[0]),
    "polars": pl.DataFrame({"x": X[:, 0], "when": list(DAYS)}),
    "pyarrow": pa.table({"when": list(DAYS), "x": X[:, 0]}),
    "pyarrow durations": pa.table({"x": X[:, 0], "when": list(DAYS - DAYS[0])}),
    "polars series": pl.Series(list(DAYS)),
}


@pytest.mark.parametrize("name", DATES)
def test_dates_are_not_numbers(name):
    y = DATES[name]
    with pytest.raises(ValueError, match="y must hold numbers, got dates or durations.*Auto"):
        KernelDependency(RBF(1.0)).fit(X, y)
    inputs = y if hasattr(y, "columns") else [[value] for value in y]
    with pytest.raises(ValueError, match="X must hold numbers, got dates or durations"):
        KernelDependency(RBF(1.0)).fit(inputs, Y)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_outputs_whose_squares_overflow():
    with pytest.raises(ValueError, match="outputs in y are too large.*Divide them"):
        KernelDependencyCV(RBF(1.0)).fit(X, 1e200 * Y)


@pytest.mark.parametrize("Model", MODELS)
@pytest.mark.parametrize("decoder", ["Direct", Direct], ids=str)
def test_decoders_are_instances(Model, decoder):
    with pytest.raises(TypeError, match=r"decoder must be .* such as Direct\(\)"):
        Model(RBF(1.0), decoder=decoder).fit(X, Y)


WRONG = {
    "alpha zero": ({"alpha": 0.0}, "alpha must be positive and finite, got 0.0"),
    "alpha negative": ({"alpha": -1.0}, "alpha must be positive and finite"),
    "alpha infinite": ({"alpha": np.inf}, "alpha must be positive and finite"),
    "alpha NaN": ({"alpha": np.nan}, "alpha must be positive and finite"),
    "alpha a string": ({"alpha": "1"}, "alpha must be a positive number, got '1'"),
    "alpha true": ({"alpha": True}, "alpha must be a positive number, got True"),
    "solver": ({"solver": "lu"}, "solver must be one of .*got 'lu'"),
    "kernel name": ({"kernel": "rfb"}, "unknown kernel 'rfb'"),
    "output kernel name": ({"output_kernel": "rfb"}, "unknown kernel 'rfb'"),
    "operator alone": ({"kernel": Covariance()}, "multiply it by a scalar kernel"),
    "kernel class": ({"kernel": RBF}, "a kernel must be a Kernel"),
    "length scale": ({"kernel": RBF(0.0)}, "length_scale must be a positive number"),
    "length scale NaN": ({"kernel": RBF(np.nan)}, "length_scale must be a positive number"),
    "length scale name": ({"kernel": RBF("mean")}, 'positive number or "median", got \'mean\''),
    "laplacian": ({"kernel": Laplacian(-1.0)}, "length_scale must be a positive number"),
    "nu": ({"kernel": Matern(1.0, nu=2.0)}, "nu must be one of"),
    "degree": ({"kernel": Polynomial(0)}, "degree must be a positive integer"),
    "gamma": ({"kernel": Polynomial(2, gamma=-1.0)}, "gamma must be a positive number"),
    "coef0": ({"kernel": Polynomial(2, coef0=-1.0)}, "coef0 must not be negative"),
    "power": ({"kernel": RBF(1.0) * Covariance(-1.0)}, "power must be a number ≥ 0"),
    "power NaN": ({"kernel": RBF(1.0) * Covariance(np.nan)}, "power must be a number ≥ 0"),
    "epsilon": ({"kernel": RBF(1.0) * ConditionalCovariance(0.0)}, "epsilon must be a positive"),
    "matrix size": ({"kernel": RBF(1.0) * Matrix(np.eye(2))}, r"must be \(3, 3\).*got shape"),
    "matrix asymmetric": (
        {"kernel": RBF(1.0) * Matrix(np.triu(np.ones((3, 3))))},
        "operator matrix B is not symmetric",
    ),
    "matrix indefinite": (
        {"kernel": RBF(1.0) * Matrix(np.diag([1.0, 1.0, -1.0]))},
        "operator matrix B is not positive semidefinite",
    ),
    "matrix without components": (
        {"kernel": RBF(1.0) * Matrix(np.eye(3)), "output_kernel": RBF(1.0)},
        "no finite features to be its components",
    ),
    "rank": ({"features": IncompleteCholesky(0)}, "rank must be a positive integer"),
    "output rank": ({"output_features": KernelPCA(-1)}, "rank must be a positive integer"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_parameters(name):
    params, message = WRONG[name]
    with pytest.raises((ValueError, TypeError), match=message):
        KernelDependency(**params).fit(X, Y)
    if "solver" in params:
        return
    if "alpha" in params:
        params = {"alphas": [1.0, params["alpha"]]}
    if name not in ("alpha a string", "alpha true"):  # an array of alphas makes numbers of them
        with pytest.raises((ValueError, TypeError), match=message):
            KernelDependencyCV(**params).fit(X, Y)


CHOICES = {
    "no kernels": ({"kernel": []}, {}, "give at least one kernel"),
    "no alphas": ({"alphas": []}, {}, "alphas is empty"),
    "criterion": ({"criterion": "aic"}, {}, "criterion must be one of"),
    "gcv with groups": ({"criterion": "gcv"}, {"groups": [0, 0, 1, 1, 2]}, "knows neither groups"),
    "gcv with scoring": ({"criterion": "gcv", "scoring": "r2"}, {}, "neither groups nor scoring"),
    "centred components": ({"output_features": KernelPCA(2, center=True), "fit_intercept": False},
                           {}, "centres the outputs alone"),
    "few groups": ({}, {"groups": [0, 1]}, "one label for each of the 5 pairs, got 2"),
    "one group": ({}, {"groups": [7] * 5}, "groups has a single label"),
    "scoring": ({"scoring": "no such score"}, {}, "scoring"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHOICES)
def test_choices(name):
    params, fit_params, message = CHOICES[name]
    with pytest.raises(ValueError, match=message):
        KernelDependencyCV(**params).fit(X, Y, **fit_params)


@pytest.mark.parametrize("Model", MODELS)
@pytest.mark.parametrize("call", ["predict", "embed", "predict_top"])
def test_predict_before_fit(Model, call):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(Model(), call)(X)


def test_score_and_left_out_before_fit():
    with pytest.raises(NotFittedError):
        KernelDependency().score(X, Y)
    for call in ("loo_embed", "loo_predict"):
        with pytest.raises(NotFittedError):
            getattr(KernelDependencyCV(), call)()


@pytest.mark.parametrize("Model", MODELS)
def test_wrong_dimension_at_predict(Model):
    model = Model(RBF(1.0)).fit(X, Y)
    with pytest.raises(ValueError, match="X has 3 features, but .* is expecting 2 features"):
        model.predict(np.ones((2, 3)))
    with pytest.raises(ValueError, match="features"):
        model.embed(X).inner(np.ones((2, 7)))
    with pytest.raises(ValueError, match="X contains NaN"):
        model.predict([[np.nan, 1.0]])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.predict(X[:0])
    with pytest.raises(ValueError, match="got 5 inputs and 4 outputs"):
        model.score(X, Y[:4])


def test_functions_that_are_no_kernels():
    items = list("abcde")
    with pytest.raises(ValueError, match="not positive semidefinite"):
        KernelDependency(
            Function(lambda a, b: float(a != b), of_items=True) * Covariance()
        ).fit(items, Y)  # fmt: skip


# -- what was fitted stays --------------------------------------------------------------------

BREAK = {
    "data": lambda model: model.fit(spoiled(X, np.nan), Y),
    "lengths": lambda model: model.fit(X, Y[:4]),
    "other shapes": lambda model: model.fit(np.ones((3, 7)), None),
    "late, in the decoder": lambda model: model.set_params(decoder=Broken()).fit(X + 1, Y - 1),
    "operator": lambda model: model.set_params(kernel=RBF(1.0) * Matrix(np.eye(9))).fit(X + 1, Y),
}


class Broken:
    """A decoder that fails at the end of a fit."""

    calibrates = False

    def get_params(self, deep=True):
        return {}

    def fit(self, kernel, y):
        raise RuntimeError("broken")


@pytest.mark.parametrize("Model", MODELS)
@pytest.mark.parametrize("how", BREAK)
def test_a_failed_refit_leaves_the_model_usable(Model, how):
    model = Model(RBF(2.0) * Covariance(), RBF(10.0)).fit(X, Y)
    state = {key: id(value) for key, value in vars(model).items() if key.endswith("_")}
    before = model.predict(X), model.score(X, Y)
    with pytest.raises((ValueError, RuntimeError)):
        BREAK[how](model)
    assert {key: id(value) for key, value in vars(model).items() if key.endswith("_")} == state
    assert_allclose(model.predict(X), before[0], rtol=0, atol=0)
    assert model.score(X, Y) == before[1]


def test_a_failed_first_fit_leaves_the_model_unfitted():
    model = KernelDependency()
    with pytest.raises(ValueError, match="NaN"):
        model.fit(spoiled(X, np.nan), Y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_a_refit_forgets_what_was_learnt_before():
    model = KernelDependency(RBF()).fit(X, Y)
    model.fit(10 * X[:, :1], Y[:, 0])
    fresh = KernelDependency(RBF()).fit(10 * X[:, :1], Y[:, 0])
    assert model.n_features_in_ == 1
    assert_allclose(model.predict(X[:, :1]), fresh.predict(X[:, :1]), rtol=0, atol=0)


# -- degenerate, but not wrong ----------------------------------------------------------------


@pytest.mark.parametrize("Model", MODELS)
@pytest.mark.parametrize("operator", [Identity(), Covariance(), ConditionalCovariance()], ids=str)
@pytest.mark.parametrize("l", [Linear(), RBF(1.0)], ids=str)
@pytest.mark.parametrize("value", [0.0, 3.0])
@pytest.mark.parametrize("intercept", [False, True])
def test_constant_outputs_warn(Model, operator, l, value, intercept):
    model = Model(RBF(1.0) * operator, l, fit_intercept=intercept)
    with pytest.warns(UserWarning, match="all outputs in y are equal"):
        model.fit(X, np.full((5, 2), value))
    predicted = model.predict(X)
    assert np.isfinite(predicted).all()
    if intercept or isinstance(l, RBF):
        assert_allclose(predicted, value, rtol=0, atol=1e-6)


@pytest.mark.parametrize("Model", MODELS)
@pytest.mark.parametrize("operator", [Identity(), Covariance(), ConditionalCovariance()], ids=str)
@pytest.mark.parametrize("intercept", [False, True])
def test_outputs_without_any_direction(Model, operator, intercept):
    """More components than pairs, all zero: exact coordinates of the outputs have no columns."""
    with pytest.warns(UserWarning, match="all outputs in y are equal"):
        model = Model(RBF(1.0) * operator, fit_intercept=intercept).fit(X, np.zeros((5, 9)))
    assert_allclose(model.predict(X), np.zeros((5, 9)), rtol=0, atol=0)


@pytest.mark.parametrize("Model", MODELS)
@pytest.mark.parametrize("operator", [Identity(), Covariance(), ConditionalCovariance()], ids=str)
def test_inputs_that_say_nothing(Model, operator):
    for k in (Linear(), RBF()):
        model = Model(k * operator, fit_intercept=True).fit(np.zeros((5, 2)), Y)
        assert_allclose(model.predict(np.ones((2, 2)))[0], Y.mean(axis=0), rtol=0, atol=1e-6)


def test_outputs_that_differ_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelDependency(output_kernel=RBF(1e3)).fit(X, 1e-3 * Y)


# -- memory -----------------------------------------------------------------------------------


@pytest.mark.parametrize("Model", MODELS)
@pytest.mark.parametrize("operator", [Identity(), Covariance()], ids=str)
def test_a_fit_that_has_no_room_is_refused_before_it_starts(Model, operator, monkeypatch):
    monkeypatch.setattr(_memory, "available", lambda: 1e6)
    A = np.random.default_rng(0).normal(size=(1000, 2))
    with pytest.raises(MemoryError, match=r"1000 pairs needs about .*RandomPivotedCholesky\(rank="):
        Model(RBF(1.0) * operator, RBF(1.0)).fit(A, A)


def test_the_way_out_of_too_little_memory_works(monkeypatch):
    A = np.random.default_rng(0).normal(size=(1000, 2))
    monkeypatch.setattr(_memory, "available", lambda: 1e6)
    low = IncompleteCholesky(rank=20)
    KernelDependency(RBF(1.0), features=low, output_features=low).fit(A, A)


def test_low_rank_inputs_alone_do_not_make_room_for_exact_outputs(monkeypatch):
    monkeypatch.setattr(_memory, "available", lambda: 1e6)
    A = np.random.default_rng(0).normal(size=(1000, 2))
    for Model in MODELS:
        model = Model(RBF(1.0) * Covariance(), RBF(1.0), features=IncompleteCholesky(20))
        with pytest.raises(MemoryError, match="output_features"):
            model.fit(A, A)


def test_memory_of_this_machine_is_known():
    assert _memory.available() > 0
