"""Burgers' equation on a circle: fields from fields, with and without its symmetry."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from sklearn.model_selection import KFold

from mercer import KernelDependencyCV
from mercer.datasets import load_burgers
from mercer.fields import ShiftEquivariant
from mercer.kernels import Matern
from mercer.metrics import relative_error

from .baselines import fit_and_predict
from .pictures import grid as draw
from .report import Report

RIDGES = tuple(np.logspace(-13, -5, 9))
METRIC = "relative L2 error"


def model(X: np.ndarray, shifts: bool = False) -> Any:
    """Return an unfitted smooth Matérn model of whole fields; its ridge is chosen on fitting."""
    kernel = Matern(2.0 * Matern().fit(X).length_scale_, nu=5.5)
    return KernelDependencyCV(ShiftEquivariant(kernel) if shifts else kernel, alphas=RIDGES)


def run(folder: Path, console: Any, quick: bool = False) -> Report:
    """Report errors in five folds, of pairs alone and of pairs with all their shifts."""
    X, Y = load_burgers()
    splits = list(KFold(5, shuffle=True, random_state=0).split(X))[: 1 if quick else 5]
    report, kept = Report("burgers"), {}
    tasks = {"pairs alone": False, "with all shifts": True}
    for name, shifts in track(tasks.items(), "fitting", console=console, transient=True):
        errors, seconds = [], []
        for train, test in splits:
            start = time.perf_counter()
            fitted = model(X[train], shifts).fit(X[train], Y[train])
            seconds.append(time.perf_counter() - start)
            predicted = fitted.predict(X[test])
            errors.append(float(relative_error(Y[test], predicted)))
        kept[name] = predicted
        mean, std = float(np.mean(errors)), float(np.std(errors))
        report.add(name, "five folds", METRIC, mean, std, seconds=float(np.mean(seconds)))
        report.notes.append(f"{name}: {', '.join(f'{e:.5f}' for e in errors)}.")
    usual: dict[str, list[tuple[float, float]]] = {}
    for train, test in splits:
        for name, predicted, took in fit_and_predict(X[train], Y[train], X[test], quick=quick):
            error = float(relative_error(Y[test], predicted))
            usual.setdefault(name, []).append((error, took))
    for name, rows in usual.items():
        error, took = (float(value) for value in np.mean(rows, axis=0))
        report.add(name, "five folds", METRIC, error, seconds=took)
    report.notes.append("Seconds are of one fit, the choice included.")
    columns = {"truth": Y[test][:6]} | {name: fields[:6] for name, fields in kept.items()}
    draw(folder / "burgers.png", columns)
    return report
