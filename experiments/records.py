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
    """Score five folds of every set, each with other cells removed."""
    report = Report("records", baseline="one model per target", lower_is_better=["aRRMSE"])
    found: dict[tuple[str, str, str], list[float]] = {}
    tasks = [*_gaps(quick), *_mixed(quick)]
    for (method, setting, metric), score in track(
        (task() for task in tasks), "fitting", len(tasks), console=console, transient=True
    ):
        found.setdefault((method, setting, metric), []).append(score)
    for (method, setting, metric), scores in found.items():
        report.add(method, setting, metric, scores=scores)
    report.notes += [
        "Cells are removed from the training rows at random; all test cells are scored. The models "
        "are KernelDependencyCV() with its default kernels, each choice made on the training rows.",
        "The mixed table is jura: two concentrations as numbers, the third one as one of three "
        "classes of equal size. Its score is the mean of R², R² and accuracy.",
    ]
    return report


# -- missing targets ----------------------------------------------------------------------------


def _gaps(quick: bool) -> Iterator[Callable[[], tuple[tuple[str, str, str], float]]]:
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
                    yield _task(method, setting, fit, data.X, data.Y, train, test, Y)


def _task(
    method: str,
    setting: str,
    fit: Fit,
    X: np.ndarray,
    truth: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    Y: np.ndarray,
) -> Callable[[], tuple[tuple[str, str, str], float]]:
    def task() -> tuple[tuple[str, str, str], float]:
        predicted = fit(X[train], Y, X[test])
        mean = np.nanmean(Y, axis=0)
        errors = np.sqrt(((truth[test] - predicted) ** 2).mean(axis=0))
        unit = np.sqrt(((truth[test] - mean) ** 2).mean(axis=0))
        return (method, setting, "aRRMSE"), float((errors / unit).mean())

    return task


def _folds(n: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    return KFold(5, shuffle=True, random_state=0).split(np.zeros(n))


def by_known(X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """One model, in which a row counts for the targets that it has."""
    return MissingTargets(KernelDependencyCV()).fit(X, Y).predict(new)


def by_target(X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """One model for each target, on the rows that have it."""
    columns = []
    for y in Y.T:
        rows = ~np.isnan(y)
        columns.append(KernelDependencyCV().fit(X[rows], y[rows]).predict(new))
    return np.column_stack(columns)


def by_complete(X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """One model of the rows that have all targets; the mean where these are few."""
    rows = ~np.isnan(Y).any(axis=1)
    if rows.sum() < FEWEST:
        return np.tile(np.nanmean(Y, axis=0), (len(new), 1))
    return KernelDependencyCV().fit(X[rows], Y[rows]).predict(new)


def by_means(X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """One model of all rows, missing targets filled with the mean."""
    return KernelDependencyCV().fit(X, np.where(np.isnan(Y), np.nanmean(Y, axis=0), Y)).predict(new)


def auto_by_known(X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """One AutoDependency, in which a row counts for the targets that it has."""
    return AutoDependency(random_state=0).fit(X, Y).predict(new)


def auto_by_target(X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """One AutoDependency for each target, on the rows that have it."""
    rows = [~np.isnan(y) for y in Y.T]
    columns = [auto_by_known(X[own], y[own], new) for own, y in zip(rows, Y.T, strict=True)]
    return np.column_stack(columns)


AUTO: dict[str, Fit] = {
    "AutoDependency": auto_by_known,
    "AutoDependency per target": auto_by_target,
}
"""Those that are run at one fraction of missing cells, on sets of few targets."""
METHODS: dict[str, Fit] = {
    "MissingTargets": by_known,
    "one model per target": by_target,
    "complete rows only": by_complete,
    "mean in place of gaps": by_means,
}


# -- targets of different kinds -------------------------------------------------------------------


def mixed_table() -> tuple[pd.DataFrame, list[Any], list[str]]:
    """Jura with one of its targets as a class: the table, its inputs and its outputs."""
    data = load("jura")
    frame = pd.DataFrame(data.X, columns=[f"x{j}" for j in range(data.X.shape[1])])
    inputs = list(frame.columns)
    frame["first"], frame["second"] = data.Y[:, 0], data.Y[:, 1]
    frame["third"] = pd.qcut(data.Y[:, 2], 3, labels=["low", "middle", "high"]).astype(str)
    return frame, inputs, ["first", "second", "third"]


def _mixed(quick: bool) -> Iterator[Callable[[], tuple[tuple[str, str, str], float]]]:
    frame, inputs, outputs = mixed_table()
    for train, test in list(_folds(len(frame)))[: 1 if quick else None]:
        for method, fit in MIXED.items():
            yield _mixed_task(method, fit, frame.iloc[train], frame.iloc[test], inputs, outputs)


def _mixed_task(
    method: str, fit: Any, train: pd.DataFrame, test: pd.DataFrame, inputs: list, outputs: list
) -> Callable[[], tuple[tuple[str, str, str], float]]:
    def task() -> tuple[tuple[str, str, str], float]:
        predicted = fit(train, test, inputs, outputs)
        scores = [
            1.0 - ((test[n] - predicted[n]) ** 2).sum() / ((test[n] - test[n].mean()) ** 2).sum()
            for n in outputs[:2]
        ]
        scores.append(float(np.mean(np.asarray(predicted["third"]) == np.asarray(test["third"]))))
        return (method, "jura, mixed", "mean score"), float(np.mean(scores))

    return task


def by_record(train: pd.DataFrame, test: pd.DataFrame, inputs: list, outputs: list) -> Any:
    """One ridge model of records."""
    kernel = On("first", Linear()) + On("second", Linear()) + On("third", Delta())
    model = KernelDependencyCV(output_kernel=kernel)
    found = model.fit(train[inputs].to_numpy(), train[outputs]).predict(test[inputs].to_numpy())
    return found.set_index(test.index)


def by_field(train: pd.DataFrame, test: pd.DataFrame, inputs: list, outputs: list) -> Any:
    """One ridge model for each target."""
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


def by_auto(train: pd.DataFrame, test: pd.DataFrame, inputs: list, outputs: list) -> Any:
    """AutoDependency of records."""
    return AutoDependency(inputs, outputs, random_state=0).fit(train).predict(test)


def by_auto_field(train: pd.DataFrame, test: pd.DataFrame, inputs: list, outputs: list) -> Any:
    """AutoDependency of each target."""
    parts = [by_auto(train, test, inputs, [name]) for name in outputs]
    return pd.concat(parts, axis=1)


MIXED = {
    "one model of records": by_record,
    "one model per target": by_field,
    "AutoDependency of records": by_auto,
    "AutoDependency per target": by_auto_field,
}
