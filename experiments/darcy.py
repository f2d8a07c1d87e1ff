"""Darcy's equation: fields from fields, by kernels that know where they are."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from sklearn.base import clone

from mercer import ConformalSets, KernelDependency, KernelDependencyCV, LocalLaw
from mercer.datasets import load_darcy
from mercer.fields import Shared, predict_on
from mercer.kernels import Matern
from mercer.metrics import relative_error
from mercer.operators import Local
from mercer.spaces import Fields

from .baselines import fit_and_predict
from .pictures import grid as draw
from .report import Report

GRID = Fields(spacing=1 / 16)
WIDTHS, FLOORS = (0.1, 0.2), (0.01, 0.1)
SCALES = (0.5, 1.0, 2.0)
RANK, QUICK_RANK = 5000, 400
RIDGES = tuple(np.logspace(-3, 1, 9))
PUBLISHED = {"Fourier neural operator, three runs": (0.103, 0.108)}
METRIC = "relative L2 error"


def run(folder: Path, console: Any, quick: bool = False) -> Report:
    """Report errors of kernels on whole fields, and of local and shared kernels."""
    X, Y, X_test, y_test = load_darcy()
    _, _, X_fine, y_fine = load_darcy(fine=True)
    if quick:
        X, Y = X[:100], Y[:100]
    report, kept = Report("darcy"), {}
    for name, fit in track(
        fit_functions(X, quick).items(), "fitting", console=console, transient=True
    ):
        start = time.perf_counter()
        model = fit(X, Y)
        seconds = time.perf_counter() - start
        kept[name] = predicted = model.predict(X_test)
        error = float(relative_error(y_test, predicted))
        report.add(name, "16 × 16", METRIC, error, seconds=seconds)
        report.notes.append(f"{name}: {_describe_model(model)}.")
        if name.startswith("shared"):
            finer = predict_on(model, X_fine, Fields(spacing=1 / 32))
            error = float(relative_error(y_fine, finer))
            report.add(name, "asked at 32 × 32", METRIC, error)
    for name, predicted, seconds in fit_and_predict(X, Y, X_test, quick=quick):
        error = float(relative_error(y_test, predicted))
        report.add(name, "16 × 16", METRIC, error, seconds=seconds)
    report.notes.append(_band_coverage_note(model, X, Y, X_test, y_test))
    for name, (low, high) in PUBLISHED.items():
        report.notes.append(f"{name} (.5–2.1 million weights): {low:.3f}–{high:.3f}.")
    columns = {"truth": y_test[:6]} | {name: fields[:6] for name, fields in kept.items()}
    draw(folder / "darcy.png", columns)
    return report


def _band_coverage_note(
    model: Any, X: np.ndarray, Y: np.ndarray, X_test: np.ndarray, y_test: Any
) -> str:
    """Return a sentence with the fraction of fields inside calibrated bands."""
    cut = 3 * len(X) // 4
    kernel = clone(model.kernel_).set_params(rank=min(model.kernel_.rank, 1000))
    sets = ConformalSets(KernelDependency(kernel, alpha=model.alpha_), kind="band", random_state=0)
    sets.fit(X[:cut], Y[:cut])
    others, truth = np.concatenate([X[cut:], X_test]), np.concatenate([Y[cut:], y_test])
    inside = float(np.mean(sets.covers(others, truth)))
    return f"Of {len(truth)} fields not learnt from, {inside:.3f} lie within bands of coverage 0.9."


def fit_functions(X: np.ndarray, quick: bool) -> dict[str, Any]:
    """Return functions that fit a model to training pairs, by the name of the method."""
    median = Matern().fit(X.reshape(len(X), -1)).length_scale_
    whole_field_kernels = [Matern(s * median, nu=nu) for s in SCALES for nu in (1.5, 2.5)]
    rank, law = (QUICK_RANK, 40) if quick else (RANK, 150)
    shared = Shared(rank=rank, fields=GRID, output_fields=GRID)
    functions = {
        "whole fields": lambda X, Y: KernelDependencyCV(whole_field_kernels).fit(X, Y),
        "local": lambda X, Y: fit_local(X, Y, quick),
        "law of neighbours": lambda X, Y: LocalLaw(fields=GRID, rank=law).fit(X, Y),
        f"shared, rank {rank}": lambda X, Y: KernelDependencyCV(shared, alphas=RIDGES).fit(X, Y),
    }
    return functions


def fit_local(X: np.ndarray, Y: np.ndarray, quick: bool) -> Any:
    """Fit a `Local` kernel, with its parameters and the ridge chosen on some of the fields."""
    kernels = [
        Local(Matern(), width=w, floor=c, fields=GRID, output_fields=GRID)
        for w in (WIDTHS[1:] if quick else WIDTHS)
        for c in (FLOORS[1:] if quick else FLOORS)
    ]
    few = slice(0, 60 if quick else 250)
    chosen = KernelDependencyCV(kernels, alphas=np.logspace(-5, 0, 6)).fit(X[few], Y[few])
    return KernelDependency(clone(chosen.kernel_), alpha=chosen.alpha_).fit(X, Y)


def _describe_model(model: Any) -> str:
    """Return a text with the kernel and the ridge of a fitted model."""
    kernel = " ".join(str(getattr(model, "kernel_", model)).split())
    alpha = getattr(model, "alpha_", model.get_params(deep=False).get("alpha"))
    return f"{kernel}, ridge {alpha:.3g}"
