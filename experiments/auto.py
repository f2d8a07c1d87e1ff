"""`AutoDependency` with no argument but the data, next to what a scikit-learn user would try."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.progress import track

from .auto_sets import load
from .defaults import AUTO, SETS, Task, tasks
from .report import Report

QUICK = ("slump", "gait", "wine")


def run(folder: Path, console: Any, quick: bool = False) -> Report:
    """Score AutoDependency and its peers on every set, in two shuffles of five folds."""
    report = Report("auto", baseline=AUTO, lower_is_better=["aRRMSE", "relative squared error"])
    wanted = tasks(QUICK if quick else SETS, shuffles=1 if quick else 2)
    found: dict[tuple[str, str], list[float]] = {}
    for task in track(wanted, "fitting", console=console, transient=True):
        scores = found.setdefault((task.name, task.method), [])
        scores.append(Task.run(task, quick)["score"])
    for (name, method), scores in found.items():
        report.add(method, name, load(name).metric, scores=scores)
    report.notes.append(
        "Inputs and outputs in raw units, no argument but the data and its groups. Peers are tuned "
        "on each training part by cross-validation. Errors are relative to the training mean."
    )
    return report
