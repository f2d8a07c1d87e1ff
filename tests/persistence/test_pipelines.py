"""Pipelines of scikit-learn around models in files that are safe to load."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import (
    ColumnTransformer,
    TransformedTargetRegressor,
    make_column_selector,
    make_column_transformer,
)
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)

import mercer
from hostile.mutations import Members
from mercer import ConformalSets, ForestDependency, KernelDependency
from mercer.kernels import RBF, Labels

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))
Y = X[:, :2] ** 2
SETS = [[label for label, x in zip("abcd", row, strict=True) if x > 0] for row in X]
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(e=np.array(["u", "v", "w"])[np.arange(30) % 3])
FRAME.loc[3, "a"] = np.nan
MODEL = KernelDependency(RBF(), alpha=0.1)
COLUMNS = make_column_transformer(
    (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["a", "b"]),
    (OneHotEncoder(handle_unknown="ignore", drop="first"), ["e"]),
    ("drop", ["c"]),
    remainder="passthrough",
)
SELECTED = ColumnTransformer(
    [
        ("numbers", PowerTransformer(), make_column_selector(dtype_include=float)),
        ("texts", OrdinalEncoder(), ["e"]),
    ]
)
CASES = {
    "scaler": (make_pipeline(StandardScaler(), MODEL), X, Y),
    "label sets": (make_pipeline(PCA(2), KernelDependency(RBF(), Labels())), X, SETS),
    "columns": (make_pipeline(COLUMNS, MODEL), FRAME, Y),
    "selected columns": (
        make_pipeline(SELECTED.set_output(transform="pandas"), PCA(2), MODEL),
        FRAME.fillna(0.0),
        Y,
    ),
    "targets": (
        TransformedTargetRegressor(MODEL, transformer=QuantileTransformer(n_quantiles=5)),
        X,
        Y,
    ),
    "nested": (
        TransformedTargetRegressor(
            make_pipeline(FunctionTransformer(), make_union(PCA(2), PolynomialFeatures(2)), MODEL)
        ),
        X,
        Y,
    ),
    "forest": (make_pipeline(StandardScaler(), ForestDependency(n_trees=3, cv=2)), X, Y),
}


@pytest.mark.parametrize("name", CASES)
def test_a_loaded_pipeline_predicts_the_same_and_can_be_fitted_again(name, tmp_path):
    model, inputs, outputs = CASES[name]
    model.fit(inputs, outputs)
    loaded = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(loaded.predict(inputs), model.predict(inputs))
    loaded.fit(inputs, outputs).predict(inputs)


@pytest.mark.parametrize("name", ["columns", "targets", "nested"])
def test_sets_around_a_pipeline(name, tmp_path):
    model, inputs, outputs = CASES[name]
    sets = ConformalSets(model, 0.6, calibration="split", random_state=0).fit(inputs, outputs)
    loaded = mercer.load(mercer.save(sets, tmp_path / "sets.mercer"))
    np.testing.assert_array_equal(loaded.covers(inputs, outputs), sets.covers(inputs, outputs))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (make_pipeline(StandardScaler(), Ridge()), r"steps\[1\]\[1\] is Ridge"),
        (make_pipeline(FunctionTransformer(np.abs), MODEL), "func is absolute, a function"),
        (TransformedTargetRegressor(MODEL, func=np.log1p, inverse_func=np.expm1), "a function"),
        (make_pipeline(StandardScaler(), MODEL, memory="cache"), "memory must be None"),
    ],
    ids=["Ridge", "function", "function of targets", "memory"],
)
def test_what_a_file_cannot_hold_is_named(model, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model.fit(X, Y**2)
    with pytest.raises((TypeError, ValueError), match=message):
        mercer.save(model, tmp_path / "model.mercer")
    assert not (tmp_path / "model.mercer").exists()


def changed(name, folder, kind, **state):
    """The file of a case, in which the parts of a class have other attributes."""
    model, inputs, outputs = CASES[name]
    path = mercer.save(model.fit(inputs, outputs), folder / "model.mercer")
    file = Members(path.read_bytes())

    def change(node):
        if isinstance(node, dict) and "part" in node and node["part"][0] == f"sklearn.{kind}":
            own = node["part"][1]  # of a part that is not fitted, only parameters
            own.update({k: v for k, v in state.items() if k in own or "_" not in k})
        for child in node.values() if isinstance(node, dict) else node:
            if isinstance(child, dict | list):
                change(child)

    change(file.tree["root"])
    path.write_bytes(file.packed()[0])
    return path


@pytest.mark.parametrize(
    ("name", "kind", "state", "message"),
    [
        ("scaler", "Pipeline", {"memory": "/tmp"}, "memory must be None"),
        ("scaler", "Pipeline", {"steps": {"list": []}}, "steps must be a list"),
        ("scaler", "Pipeline", {"predict": 3}, "'predict' is not an attribute"),
        ("scaler", "StandardScaler", {"n_features_in_": 2}, "cannot transform a row"),
        ("scaler", "StandardScaler", {"mean_": "x"}, "cannot transform a row"),
        ("scaler", "StandardScaler", {"transform": 1}, "'transform' is not an attribute"),
        ("columns", "OneHotEncoder", {"_n_features_outs": {"list": [1]}}, "what is left"),
        ("columns", "OneHotEncoder", {"_infrequent_enabled": True}, "infrequent"),
        ("columns", "OneHotEncoder", {"n_features_in_": 2}, "as many as the columns"),
        ("columns", "ColumnTransformer", {"n_jobs": 2}, "n_jobs must be None"),
        ("nested", "FunctionTransformer", {"func": "print"}, "func must be None"),
        ("nested", "PolynomialFeatures", {"_max_degree": 10**6}, "degree"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isidentifier() else None,
)
def test_forged_attributes_are_refused(name, kind, state, message, tmp_path):
    path = changed(name, tmp_path, kind, **state)
    with pytest.raises(mercer.DamagedModel, match=message):
        mercer.load(path)


def test_other_classes_of_scikit_learn_are_not_made(tmp_path):
    path = mercer.save(CASES["scaler"][0].fit(X, Y), tmp_path / "model.mercer")
    with zipfile.ZipFile(path) as file:
        text = json.dumps(json.loads(file.read("model.json")))
    members = Members(path.read_bytes())
    for name in ("Memory", "estimator_html_repr", "Ridge", "pipeline.Pipeline"):
        members.tree = json.loads(text.replace("sklearn.StandardScaler", f"sklearn.{name}"))
        path.write_bytes(members.packed()[0])
        with pytest.raises(mercer.DamagedModel, match="not the name of a part|unknown type"):
            mercer.load(path)
