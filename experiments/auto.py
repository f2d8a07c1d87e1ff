"""`AutoDependency` with no argument but the data, beside what a scikit-learn user would try."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from mercer import AutoDependency

from .auto_peers import label_sets, predicted, regressors
from .auto_sets import CURVES, LABEL_SETS, MULTI_TARGET, RANKINGS, DataSet, load
from .report import Report

AUTO = "AutoDependency"
QUICK = ("slump", "gait", "wine")
SHUFFLES = {"numbers": 2, "curves": 2, "rankings": 1}


def run(folder: Path, console: Any, quick: bool = False) -> Report:
    """Score every set: two shuffles of five folds (rankings: one), or the published split."""
    report = Report("auto", baseline=AUTO, lower_is_better=["aRRMSE", "relative squared error"])
    names = QUICK if quick else (*MULTI_TARGET, *CURVES, *LABEL_SETS, *RANKINGS)
    for name in track(names, "fitting", console=console, transient=True):
        data = load(name)
        for method, scores in measured(data, quick).items():
            report.add(method, name, data.metric, scores=scores)
    report.notes.append(
        "Inputs and outputs in raw units, no argument but the data and its groups. Peers are tuned "
        "on each training part by cross-validation. Errors are relative to the training mean."
    )
    return report


def measured(data: DataSet, quick: bool = False) -> dict[str, list[float]]:
    """The scores of every method, one for each split."""
    found: dict[str, list[float]] = {}
    shuffles = 1 if quick else SHUFFLES.get(data.kind, 1)
    for train, test in data.splits(shuffles):
        groups = None if data.groups is None else data.groups[train]
        auto = AutoDependency(random_state=0).fit(data.X[train], data.Y[train], groups=groups)
        found.setdefault(AUTO, []).append(data.score(train, test, auto.predict(data.X[test])))
        for name, values in peers(data, train, test, quick):
            found.setdefault(name, []).append(data.score(train, test, values))
    return found


def peers(
    data: DataSet, train: np.ndarray, test: np.ndarray, quick: bool
) -> Iterator[tuple[str, np.ndarray]]:
    """What each peer predicts for the test rows; of rankings, ranks sorted."""
    X, Y, new = data.X[train], data.Y[train], data.X[test]
    if data.kind == "labels":
        yield from label_sets(X, Y, new, quick).items()
        return
    for name, model in regressors(len(X), X.shape[1], quick).items():
        if name == "SVM" and Y.shape[1] > 60:
            continue  # one machine for each point of the curve, tuned: hours
        values = predicted(model, X, Y.astype(float), new)
        if data.kind == "rankings":
            values = values.argsort(axis=1, kind="stable").argsort(axis=1)
        yield name, values
