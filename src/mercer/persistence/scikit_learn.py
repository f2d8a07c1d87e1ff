"""The classes of scikit-learn that a model file may name, and checks of what a file says of them.

Their state is arrays, text and further parts. Most of their attributes are checked by trying them:
a fitted transformer must transform one row. What could write outside of an array or take long is
checked before.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from .._base.checks import Limits, bounded, is_finite, must

SCIKIT_LEARN_CLASSES = {
    "sklearn.compose": ("ColumnTransformer", "TransformedTargetRegressor"),
    "sklearn.decomposition": ("FastICA", "NMF", "PCA", "TruncatedSVD"),
    "sklearn.feature_selection": ("VarianceThreshold",),
    "sklearn.impute": ("MissingIndicator", "SimpleImputer"),
    "sklearn.kernel_approximation": ("AdditiveChi2Sampler", "RBFSampler"),
    "sklearn.pipeline": ("FeatureUnion", "Pipeline"),
    "sklearn.preprocessing": (
        "Binarizer", "FunctionTransformer", "MaxAbsScaler", "MinMaxScaler", "Normalizer",
        "OneHotEncoder", "OrdinalEncoder", "PolynomialFeatures", "PowerTransformer",
        "QuantileTransformer", "RobustScaler", "StandardScaler",
    ),
}  # fmt: skip
"""Classes of scikit-learn whose state is arrays and other parts, by module."""
SCIKIT_LEARN_PREFIX = "sklearn."
"""What the names of these classes in files begin with."""
MODULE_OF = {name: module for module, names in SCIKIT_LEARN_CLASSES.items() for name in names}


def class_name(kind: type) -> str | None:
    """Return the name of a class of scikit-learn in files; None if files may not hold it."""
    module = MODULE_OF.get(kind.__name__)
    known = module is not None and kind.__module__.startswith("sklearn.")
    return (
        f"{SCIKIT_LEARN_PREFIX}{kind.__name__}" if known and _class(kind.__name__) is kind else None
    )


def class_of(name: str) -> type | None:
    """Return the class with a name in files, "sklearn." and its own; None if it is unknown."""
    own = name.removeprefix(SCIKIT_LEARN_PREFIX)
    return _class(own) if name.startswith(SCIKIT_LEARN_PREFIX) and own in MODULE_OF else None


def _class(name: str) -> type:
    """Return one of the classes by its own name."""
    return getattr(import_module(MODULE_OF[name]), name)


def saved(part: Any) -> Any:
    """Return a part as files hold it: a selector of columns is replaced by what it selected."""
    if type(part).__name__ != "ColumnTransformer" or "_columns" not in vars(part):
        return part
    reduced = copy.copy(part)
    reduced.transformers = [
        (name, transformer, chosen if callable(columns) else columns)
        for (name, transformer, columns), chosen in zip(
            part.transformers, part._columns, strict=True
        )
    ]
    return reduced


def check(part: Any, limits: Limits) -> None:
    """Raise `DamagedModel` if a part of scikit-learn that was read has invalid attributes."""
    state, name = vars(part), type(part).__name__
    if name in SCIKIT_LEARN_CHECKS:
        SCIKIT_LEARN_CHECKS[name](state, limits)
    for steps in {"max_iter", "sample_steps"} & state.keys():
        bounded(state[steps], steps, 0, limits.steps // 10)
    if "n_features_in_" in state and name not in COMPOSITES:
        _try(part, state)


def _try(part: Any, state: dict[str, Any]) -> None:
    """Raise `DamagedModel` unless a fitted transformer transforms one row like those of its fit."""
    width = bounded(state["n_features_in_"], "n_features_in_", 1, TRIED_WIDTH)
    row: Any = np.ones((1, width))
    if "categories_" in state:
        row = np.array([[values[0] for values in state["categories_"]]], dtype=object)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names of columns, and the like
            part.transform(row)
    except Exception as problem:
        must(False, f"it cannot transform a row ({type(problem).__name__}: {problem!s:.100})")


def _check_steps(state: dict[str, Any], limits: Limits) -> None:
    """Check the steps of a pipeline, and that it caches nothing on disk."""
    must(state.get("memory") is None, "memory must be None: it would read and write other files")
    steps: Any = state.get("steps")
    _check_named(steps, "steps", 2)
    _check_methods([part for _, part in steps[:-1]], "transform")
    final = steps[-1][1]
    _check_methods([final], "predict" if hasattr(final, "predict") else "transform")


def _check_union(state: dict[str, Any], limits: Limits) -> None:
    """Check the transformers of a union, and that it runs in this process."""
    must(state.get("n_jobs") is None, "n_jobs must be None")
    _check_named(state.get("transformer_list"), "transformer_list", 2)
    _check_methods([part for _, part in state["transformer_list"]], "transform")
    _check_factors(state.get("transformer_weights"))


def _check_columns(state: dict[str, Any], limits: Limits) -> None:
    """Check the transformers of columns, and that they run in this process."""
    must(state.get("n_jobs") is None, "n_jobs must be None")
    _check_named(state.get("transformers"), "transformers", 3)
    if "transformers_" not in state:  # it is not fitted
        return
    _check_named(state["transformers_"], "transformers_", 3)
    _check_methods([part for _, part, _ in state["transformers_"]], "transform")
    _check_factors(state.get("transformer_weights"))
    names = {name for name, *_ in state["transformers_"]}
    inputs: Any = state.get("_transformer_to_input_indices")
    outputs: Any = state.get("output_indices_")
    known = isinstance(inputs, dict) and isinstance(outputs, dict)
    must(known and names <= inputs.keys(), "the columns of a transformer are missing")
    width = bounded(state.get("n_features_in_"), "n_features_in_", 0, limits.size)
    for columns in inputs.values():
        must(isinstance(columns, list), "the columns of a transformer must be a list")
        for column in columns:
            bounded(column, "a column", 0, width - 1)
    slices = all(isinstance(columns, slice) for columns in outputs.values())
    must(slices and names <= outputs.keys(), "the columns of the result must be slices")


def _check_target(state: dict[str, Any], limits: Limits) -> None:
    """Check the regressor and the transformer of targets, and that there are no functions."""
    _check_without_functions(state, limits)
    if "regressor_" in state:
        _check_methods([state["regressor_"]], "predict")
        for method in ("transform", "inverse_transform"):
            _check_methods([state.get("transformer_")], method)


def _check_methods(parts: list[Any], method: str) -> None:
    """Check that parts have a method, except for the texts that stand for no transformer."""
    for part in parts:
        stands = isinstance(part, str) and part in ("drop", "passthrough")
        must(stands or hasattr(part, method), f"{part!r:.40} has no method {method}")


def _check_factors(factors: Any) -> None:
    """Check the factors of transformed columns, a number for each name or None."""
    numbers = isinstance(factors, dict) and all(is_finite(value) for value in factors.values())
    must(factors is None or numbers, "transformer_weights must be numbers by name")


def _check_named(parts: Any, name: str, length: int) -> None:
    """Check a list of tuples that begin with different names."""
    tuples = isinstance(parts, list) and all(
        isinstance(part, tuple) and len(part) == length and isinstance(part[0], str)
        for part in parts
    )
    must(tuples and parts, f"{name} must be a list of tuples of {length} that begin with a name")
    must(len({part[0] for part in parts}) == len(parts), f"{name} has a name twice")


def _check_without_functions(state: dict[str, Any], limits: Limits) -> None:
    """Check that there are no functions, which a file cannot hold."""
    for name in ("func", "inverse_func"):
        must(state.get(name) is None, f"{name} must be None")


def _check_degree(state: dict[str, Any], limits: Limits) -> None:
    """Check that polynomial features are as many as their degree makes them."""
    if "_max_degree" not in state:  # it is not fitted
        return
    degree = bounded(state["_max_degree"], "degree", 0, limits.steps // 100)
    inputs = bounded(state.get("n_features_in_"), "n_features_in_", 0, limits.size)
    columns = math.comb(inputs + degree, degree)
    must(columns <= limits.size // 16, "degree is too large")
    bounded(state.get("_n_out_full"), "_n_out_full", 0, columns)


def _check_categories(state: dict[str, Any], limits: Limits) -> None:
    """Check that an encoder has as many columns as categories, which nothing checks later."""
    if "categories_" not in state:
        return
    lists = state["categories_"]
    arrays = isinstance(lists, list) and all(
        isinstance(values, np.ndarray) and values.ndim == 1 and len(values) for values in lists
    )
    must(arrays, "categories_ must be arrays of categories")
    must(len(lists) == state.get("n_features_in_"), "categories_ must be as many as the columns")
    must(not state.get("_infrequent_enabled"), "infrequent categories are not held by files")
    if "_n_features_outs" in state:
        dropped = state.get("drop_idx_")
        left = [
            len(values) - (dropped is not None and dropped[i] is not None)
            for i, values in enumerate(lists)
        ]
        must(list(state["_n_features_outs"]) == left, "_n_features_outs is not what is left")


SCIKIT_LEARN_CHECKS: dict[str, Callable[[dict[str, Any], Limits], None]] = {
    "ColumnTransformer": _check_columns,
    "FeatureUnion": _check_union,
    "FunctionTransformer": _check_without_functions,
    "OneHotEncoder": _check_categories,
    "OrdinalEncoder": _check_categories,
    "Pipeline": _check_steps,
    "PolynomialFeatures": _check_degree,
    "TransformedTargetRegressor": _check_target,
}
"""The check of the attributes of a class, before they are tried."""
COMPOSITES = {
    "ColumnTransformer", "FeatureUnion", "MissingIndicator", "Pipeline",
    "TransformedTargetRegressor",
}  # fmt: skip
"""Classes that are not tried with a row of numbers: their own parts are tried."""
TRIED_WIDTH = 2**20
"""The largest number of columns of a row that is tried."""
