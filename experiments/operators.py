"""Operator learning: five simulated equations in the published settings, by one call."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from mercer import ConformalSets, KernelDependency, KernelDependencyCV, LocalLaw
from mercer.fields import ShiftEquivariant
from mercer.kernels import Matern
from mercer.metrics import relative_error

from .equations import EQUATIONS
from .pictures import learning_curves
from .report import Report

METRIC = "relative L2 error"
PAIRS, TEST, QUICK_PAIRS, QUICK_TEST = 1000, 200, 150, 50
LARGE, LARGE_TEST = 20_000, 20_000
SIZES = (100, 300, 1000, 3000, 10_000, 20_000)
LEVEL = 0.9
SEED = 1
ONE_CALL, SPECIAL = "mercer: KernelDependencyCV()", "mercer: {}"
BATCH = 4000
"""Test inputs that are predicted at once on a GPU."""


@dataclass(frozen=True)
class Task:
    """An equation, its size and its published errors.

    Attributes
    ----------
    name
        The name in `EQUATIONS`.
    large
        Whether the published setting has 20,000 training pairs, not 1,000.
    published
        Published errors by method; those of three equations are quoted from memory.
    special
        The name of a model that knows more of the equation, and a function that returns it.
    """

    name: str
    large: bool = False
    published: dict[str, float] = field(default_factory=dict)
    special: tuple[str, Callable[[], Any]] | None = None


def equivariant() -> KernelDependencyCV:
    """Return a model of maps on a circle that commute with shifts."""
    smooth = [Matern(scale, nu=nu) for scale in (4.0, 16.0, 64.0) for nu in (2.5, 4.5)]
    kernels = [ShiftEquivariant(kernel, ("x",)) for kernel in smooth]
    return KernelDependencyCV(kernels, alphas=np.logspace(-12, -2, 11))


TASKS = (
    Task(
        "Helmholtz",
        True,
        {"DeepONet": 0.0588, "FNO": 0.0186, "kernel": 0.0100},
    ),
    Task(
        "Navier–Stokes",
        True,
        {"DeepONet": 0.0363, "FNO": 0.0026, "kernel": 0.00127},
    ),
    Task(
        "Burgers",
        False,
        {"DeepONet": 0.0215, "PCA network": 0.0194, "FNO": 0.0193, "kernel": 0.0215},
        ("shift-equivariant Matérn", equivariant),
    ),
    Task(
        "Darcy",
        False,
        {"DeepONet": 0.0291, "PCA network": 0.0232, "FNO": 0.0241, "kernel": 0.0238},
        ("LocalLaw", LocalLaw),
    ),
    Task(
        "advection",
        False,
        {"DeepONet": 0.0066, "PCA network": 0.0004, "FNO": 0.0022, "kernel": 0.0},
    ),
)


def run(folder: Path, console: Any, quick: bool = False, device: str | None = None) -> Report:
    """Report errors with 1,000 pairs; with a GPU as `device`, with up to 20,000 pairs instead."""
    report = Report("operators")
    curves: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for task in track(TASKS, "equations", console=console, transient=True):
        if device is None:
            _report_pairs(report, task, quick, console)
        elif task.large:
            found = list(_errors_by_size(report, task, quick, device, console))
            curves[task.name] = {ONE_CALL: found}
        for method, error in task.published.items():
            size = LARGE if task.large else PAIRS
            name = f"{method} (published)"
            report.add(name, f"{task.name}, {size:,} pairs", METRIC, error, published=error)
    report.notes.append(
        "Training and test pairs are drawn by one seed. Published errors of Helmholtz and "
        "Navier–Stokes are those of Batlle, Darcy, Hosseini and Owhadi, of the other equations "
        "as we remember them; they were measured on other draws of the same laws."
    )
    if curves:
        (folder / "curves.json").write_text(json.dumps(curves))
        learning_curves(folder / "operators.png", curves, "training pairs", METRIC)
    return report


def _report_pairs(report: Report, task: Task, quick: bool, console: Any) -> None:
    """Add the rows of all methods with 1,000 training pairs, in main memory."""
    pairs, test = (QUICK_PAIRS, QUICK_TEST) if quick else (PAIRS, TEST)
    X, Y = EQUATIONS[task.name](pairs + test, seed=SEED)
    for method, error, seconds in _rows(task, (X, Y), pairs, quick, report):
        setting = f"{task.name}, {pairs:,} pairs"
        report.add(method, setting, METRIC, error, seconds=seconds)
        console.print(f"{setting}, {method}: {error:.4g} in {seconds:.1f} s")


def _rows(
    task: Task, pairs: tuple[np.ndarray, np.ndarray], size: int, quick: bool, report: Report
) -> Iterator[tuple[str, float, float]]:
    """Yield methods, their errors on the pairs after the first `size`, and their seconds."""
    (X, new), (Y, truth) = ((part[:size], part[size:]) for part in pairs)
    start = time.perf_counter()
    model = KernelDependencyCV().fit(X, Y)
    seconds = time.perf_counter() - start
    error = float(relative_error(truth, model.predict(new)))
    yield ONE_CALL, error, seconds
    chosen = model.__dict__.get("learnt_", model.kernel_)
    report.notes.append(f"{task.name}, {size:,} pairs: {chosen}.")
    report.notes.append(_bands(task, model, (X, Y, new, truth), error))
    if task.special is not None:
        name, build = task.special
        start = time.perf_counter()
        special = build().fit(X, Y)
        seconds = time.perf_counter() - start
        yield SPECIAL.format(name), float(relative_error(truth, special.predict(new))), seconds
    for name, search in peers(X, quick).items():
        start = time.perf_counter()
        search.fit(X.reshape(size, -1), Y.reshape(size, -1))
        seconds = time.perf_counter() - start
        predicted = search.predict(new.reshape(len(new), -1)).reshape(truth.shape)
        yield name, float(relative_error(truth, predicted)), seconds


def peers(X: np.ndarray, quick: bool) -> dict[str, GridSearchCV]:
    """Return scikit-learn's ridge regressions on principal components, tuned in folds, by name."""
    parts = [10, 30] if quick else [3, 10, 100]
    ridges = np.logspace(-9, 0, 4)
    gamma = 1.0 / float(X.reshape(len(X), -1).var(axis=0).sum())
    scales = gamma * np.logspace(-2.5, 0.5, 3 if quick else 5)
    searches = {
        "Ridge": (Ridge(), {"ridge__alpha": ridges}),
        "KernelRidge": (
            KernelRidge(kernel="rbf"),
            {"kernelridge__alpha": ridges, "kernelridge__gamma": scales},
        ),
    }
    return {
        f"scikit-learn: PCA and {name}": GridSearchCV(
            make_pipeline(PCA(), model),
            {"pca__n_components": [part for part in parts if part < X[0].size]} | grid,
            cv=2 if quick else 3,
            scoring="neg_mean_squared_error",
            n_jobs=-1,
        )
        for name, (model, grid) in searches.items()
    }


def _errors_by_size(
    report: Report, task: Task, quick: bool, device: str, console: Any
) -> Iterator[tuple[int, float]]:
    """Yield numbers of training pairs and errors on a GPU, and report them."""
    largest, test = (QUICK_PAIRS, QUICK_TEST) if quick else (LARGE, LARGE_TEST)
    X, Y = EQUATIONS[task.name](largest + test, seed=SEED, device=device)
    new, truth = X[largest:], Y[largest:]
    for size in [size for size in SIZES if size <= largest]:
        _synchronize(X)
        start = time.perf_counter()
        model = KernelDependencyCV().fit(X[:size], Y[:size])
        _synchronize(X)
        chosen = time.perf_counter()
        KernelDependency(model.kernel_, alpha=model.alpha_).fit(X[:size], Y[:size])
        _synchronize(X)
        fitted = time.perf_counter()
        error = float(np.mean([_error(model, new, truth, i) for i in range(0, len(new), BATCH)]))
        setting = f"{task.name}, {size:,} pairs"
        report.add(f"{ONE_CALL}, on a GPU", setting, METRIC, error, seconds=chosen - start)
        report.notes.append(
            f"{setting}: {model.__dict__.get('learnt_', model.kernel_)}; "
            f"{chosen - start:.1f} s with the choice, {fitted - chosen:.2f} s for a fit."
        )
        console.print(f"{report.notes[-1]} Error {error:.5f}.", soft_wrap=True)
        yield size, error


def _error(model: Any, new: Any, truth: Any, start: int) -> float:
    """Return the error of a batch of predictions."""
    rows = slice(start, start + BATCH)
    predicted = model.predict(new[rows])
    return float(relative_error(_host(truth[rows]), _host(predicted)))


def _bands(task: Task, model: Any, data: tuple[np.ndarray, ...], error: float) -> str:
    """Return a sentence on bands that hold a whole field with 90 % probability."""
    X, Y, new, truth = data
    fixed = KernelDependency(model.kernel_, alpha=model.alpha_)
    sets = ConformalSets(fixed, kind="band", coverage=LEVEL, random_state=0).fit(X, Y)
    bands: Any = sets.predict_set(new)
    inside = float(np.mean(sets.covers(new, truth)))
    width = float(np.mean(bands.upper - bands.lower) / np.abs(truth).mean())
    return (
        f"{task.name}: bands at {LEVEL:.0%} hold {inside:.3f} of {len(truth)} test fields as a "
        f"whole; their mean width is {width:.2g} of the mean absolute value (error {error:.2g})."
    )


def _host(values: Any) -> np.ndarray:
    """Return an array in main memory."""
    return values if isinstance(values, np.ndarray) else values.cpu().numpy()


def _synchronize(values: Any) -> None:
    """Wait for the GPU, so that times are those of finished work."""
    if not isinstance(values, np.ndarray) and values.device.type == "cuda":
        import torch

        torch.cuda.synchronize()
