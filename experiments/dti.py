"""One tract of the brain from another: curves, several scans a subject."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from sklearn.model_selection import GroupKFold

from mercer.datasets import load_dti

from .baselines import regressors
from .functional import OPERATORS, draw, model, relative_error
from .report import Report

SCALES = (0.05, 0.1, 0.2, 0.4, 0.8)
SEEDS = (0, 1, 2)


def run(folder: Path, console: Any, quick: bool = False) -> Report:
    """Report errors in five folds by subject, shuffled three times."""
    X, Y, subject = load_dti()
    operators = dict(list(OPERATORS.items())[:2]) if quick else OPERATORS
    tasks = [(how, name) for how in ("subject", "scan") for name in operators]
    report, predicted = Report("dti"), {}
    for how, name in track(tasks, "fitting", console=console, transient=True):
        start, errors = time.perf_counter(), []
        for seed in SEEDS[:1] if quick else SEEDS:
            splits = GroupKFold(5, shuffle=True, random_state=seed).split(X, Y, subject)
            groups = subject if how == "subject" else None
            error, curves = relative_error(model(SCALES, operators[name]), X, Y, splits, groups)
            errors.append(error)
            if how == "subject" and seed == 0:
                predicted[name] = curves
        seconds = time.perf_counter() - start
        setting = f"chosen by leaving out one {how}"
        mean, std = float(np.mean(errors)), float(np.std(errors))
        report.add(name, setting, "relative error", mean, std, seconds=seconds)
        report.notes.append(f"{name}, {setting}: {', '.join(f'{e:.4f}' for e in errors)}.")
    for name, search in regressors(X, Y.shape[1], grouped=True, quick=quick).items():
        start, errors = time.perf_counter(), []
        for seed in SEEDS[:1] if quick else SEEDS:
            splits = GroupKFold(5, shuffle=True, random_state=seed).split(X, Y, subject)
            errors.append(relative_error(search, X, Y, splits, subject)[0])
        mean, std = float(np.mean(errors)), float(np.std(errors))
        seconds = time.perf_counter() - start
        setting = "chosen by five folds of subjects"
        report.add(name, setting, "relative error", mean, std, seconds=seconds)
    report.notes.append(
        "Relative error: squared error over that of the training mean, pooled over five test folds "
        "that share no subject with training; one value for each of the shuffled splits above."
    )
    _draw_scans(folder / "dti.png", Y, predicted)
    return report


def _draw_scans(path: Path, Y: np.ndarray, predicted: dict[str, np.ndarray]) -> None:
    """Plot the true and the predicted curves of six scans."""
    shown = np.linspace(0, len(Y) - 1, 6).astype(int)
    panels = {
        f"scan {i}": {"truth": Y[i]} | {name: curves[i] for name, curves in predicted.items()}
        for i in shown
    }
    draw(path, np.linspace(0, 1, Y.shape[1]), panels, "fractional anisotropy")
