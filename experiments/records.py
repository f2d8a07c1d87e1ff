"""Missing targets on the open multi-target sets, and one table with targets of several kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.progress import track
from sklearn.model_selection import KFold

from mercer import AutoDependency, KernelDependencyCV
from mercer.estimators import MissingTargets
from mercer.kernels import Delta, Linear, On

from .auto_sets import MULTI_TARGET, load
from .report import Report

FRACTIONS = (0.1, 0.3, 0.5)
"""Fractions of training cells that are removed."""
FEW_TARGETS, AUTO_FRACTION = ("jura", "slump", "edm"), 0.3
"""Sets and fraction for which AutoDependency is run."""
FEWEST = 10
"""Complete rows from which on there is a model of complete rows."""

Fit = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""From training inputs, training outputs with gaps and new inputs to predictions."""


def run(folder: Path, console: Any, quick: bool = False) -> Report:
    """Report scores with missing targets, and on a table with targets of several kinds."""
    report = Report("records", baseline="one model per target", lower_is_better=["aRRMSE"])
    scores_by_key: dict[tuple[str, str, str], list[float]] = {}
    tasks = [*_missing_target_tasks(quick), *_mixed_table_tasks(quick)]
    for (method, setting, metric), score in track(
        (task() for task in tasks), "fitting", len(tasks), console=console, transient=True
    ):
        scores_by_key.setdefault((method, setting, metric), []).append(score)
    for (method, setting, metric), scores in scores_by_key.items():
        report.add(method, setting, metric, scores=scores)
    report.notes += [
        "Cells are removed from the training rows at random; all test cells are scored. The models "
        "are KernelDependencyCV() with its default kernels, each choice made on the training rows.",
        "The mixed table is jura: two concentrations as numbers, the third one as one of three "
        "classes of equal size. Its score is the mean of R², R² and accuracy.",
    ]
    return report


# -- missing targets ----------------------------------------------------------------------------


def _missing_target_tasks(
    quick: bool,
) -> Iterator[Callable[[], tuple[tuple[str, str, str], float]]]:
    """Yield functions that fit a method after a fraction of the target cells is removed."""
    names = ("slump",) if quick else MULTI_TARGET
    fractions = FRACTIONS[:1] if quick else FRACTIONS
    for name in names:
        data = load(name)
        for fraction in fractions:
            for fold, (train, test) in enumerate(_folds(len(data.X))):
                Y = data.Y[train].copy()
                Y[np.random.default_rng(fold).random(Y.shape) < fraction] = np.nan
                auto = name in FEW_TARGETS and fraction == AUTO_FRACTION
                for method, fit in (METHODS | AUTO if auto else METHODS).items():
                    setting = f"{name}, {fraction:.0%} missing"
                    yield _make_task(method, setting, fit, data.X, data.Y, train, test, Y)


def _make_task(
    method: str,
    setting: str,
    fit: Fit,
    X: np.ndarray,
    truth: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    Y: np.ndarray,
) -> Callable[[], tuple[tuple[str, str, str], float]]:
    """Return a function that fits a method and returns (method, setting, metric) and its score."""

    def task() -> tuple[tuple[str, str, str], float]:
        """Fit the method, and return (method, setting, metric) and its score."""
        predicted = fit(X[train], Y, X[test])
        mean = np.nanmean(Y, axis=0)
        errors = np.sqrt(((truth[test] - predicted) ** 2).mean(axis=0))
        unit = np.sqrt(((truth[test] - mean) ** 2).mean(axis=0))
        return (method, setting, "aRRMSE"), float((errors / unit).mean())

    return task


def _folds(n: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Return five folds of n rows, shuffled with seed 0."""
    return KFold(5, shuffle=True, random_state=0).split(np.zeros(n))


def predict_jointly(X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Predict by one model in which a row counts for the targets that it has."""
    return MissingTargets(KernelDependencyCV()).fit(X, Y).predict(new)


def predict_each_target(X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Predict by one model for each target, fitted to the rows that have it."""
    columns = []
    for y in Y.T:
        rows = ~np.isnan(y)
        columns.append(KernelDependencyCV().fit(X[rows], y[rows]).predict(new))
    return np.column_stack(columns)


def predict_from_complete_rows(X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Predict by one model of the complete rows; by the mean if there are few."""
    rows = ~np.isnan(Y).any(axis=1)
    if rows.sum() < FEWEST:
        return np.tile(np.nanmean(Y, axis=0), (len(new), 1))
    return KernelDependencyCV().fit(X[rows], Y[rows]).predict(new)


def predict_after_mean_imputation(X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Predict by one model of all rows, with missing targets replaced by the mean."""
    return KernelDependencyCV().fit(X, np.where(np.isnan(Y), np.nanmean(Y, axis=0), Y)).predict(new)


def auto_predict_jointly(X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Predict by one AutoDependency in which a row counts for the targets that it has."""
    return AutoDependency(random_state=0).fit(X, Y).predict(new)


def auto_predict_each_target(X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Predict by one AutoDependency for each target, fitted to the rows that have it."""
    rows = [~np.isnan(y) for y in Y.T]
    columns = [auto_predict_jointly(X[own], y[own], new) for own, y in zip(rows, Y.T, strict=True)]
    return np.column_stack(columns)


AUTO: dict[str, Fit] = {
    "AutoDependency": auto_predict_jointly,
    "AutoDependency per target": auto_predict_each_target,
}
"""Those that are run at one fraction of missing cells, on sets of few targets."""
METHODS: dict[str, Fit] = {
    "MissingTargets": predict_jointly,
    "one model per target": predict_each_target,
    "complete rows only": predict_from_complete_rows,
    "mean in place of gaps": predict_after_mean_imputation,
}


# -- targets of different kinds -------------------------------------------------------------------


def mixed_table() -> tuple[pd.DataFrame, list[Any], list[str]]:
    """Return Jura with one target as a class: the table, its input and its output columns."""
    data = load("jura")
    frame = pd.DataFrame(data.X, columns=[f"x{j}" for j in range(data.X.shape[1])])
    inputs = list(frame.columns)
    frame["first"], frame["second"] = data.Y[:, 0], data.Y[:, 1]
    frame["third"] = pd.qcut(data.Y[:, 2], 3, labels=["low", "middle", "high"]).astype(str)
    return frame, inputs, ["first", "second", "third"]


def _mixed_table_tasks(quick: bool) -> Iterator[Callable[[], tuple[tuple[str, str, str], float]]]:
    """Yield functions that fit a method to a fold of the mixed table and return its score."""
    frame, inputs, outputs = mixed_table()
    for train, test in list(_folds(len(frame)))[: 1 if quick else None]:
        for method, fit in MIXED.items():
            yield _make_mixed_task(
                method, fit, frame.iloc[train], frame.iloc[test], inputs, outputs
            )


def _make_mixed_task(
    method: str, fit: Any, train: pd.DataFrame, test: pd.DataFrame, inputs: list, outputs: list
) -> Callable[[], tuple[tuple[str, str, str], float]]:
    """Return a function that fits a method to the mixed table and returns its mean score."""

    def task() -> tuple[tuple[str, str, str], float]:
        """Fit the method, and return (method, setting, metric) and its score."""
        predicted = fit(train, test, inputs, outputs)
        scores = [
            1.0 - ((test[n] - predicted[n]) ** 2).sum() / ((test[n] - test[n].mean()) ** 2).sum()
            for n in outputs[:2]
        ]
        scores.append(float(np.mean(np.asarray(predicted["third"]) == np.asarray(test["third"]))))
        return (method, "jura, mixed", "mean score"), float(np.mean(scores))

    return task


def predict_records(train: pd.DataFrame, test: pd.DataFrame, inputs: list, outputs: list) -> Any:
    """Predict records by one ridge model."""
    kernel = On("first", Linear()) + On("second", Linear()) + On("third", Delta())
    model = KernelDependencyCV(output_kernel=kernel)
    predicted = model.fit(train[inputs].to_numpy(), train[outputs]).predict(test[inputs].to_numpy())
    return predicted.set_index(test.index)


def predict_each_field(train: pd.DataFrame, test: pd.DataFrame, inputs: list, outputs: list) -> Any:
    """Predict each field by a separate ridge model."""
    kernels = {"first": Linear(), "second": Linear(), "third": Delta()}
    X, new = train[inputs].to_numpy(), test[inputs].to_numpy()
    return pd.DataFrame(
        {
            name: KernelDependencyCV(output_kernel=kernel)
            .fit(X, train[name].to_numpy())
            .predict(new)
            for name, kernel in kernels.items()
        },
        index=test.index,
    )


def auto_predict_records(
    train: pd.DataFrame, test: pd.DataFrame, inputs: list, outputs: list
) -> Any:
    """Predict records by one AutoDependency."""
    return AutoDependency(inputs, outputs, random_state=0).fit(train).predict(test)


def auto_predict_each_field(
    train: pd.DataFrame, test: pd.DataFrame, inputs: list, outputs: list
) -> Any:
    """Predict each field by a separate AutoDependency."""
    parts = [auto_predict_records(train, test, inputs, [name]) for name in outputs]
    return pd.concat(parts, axis=1)


MIXED = {
    "one model of records": predict_records,
    "one model per target": predict_each_field,
    "AutoDependency of records": auto_predict_records,
    "AutoDependency per target": auto_predict_each_field,
}
