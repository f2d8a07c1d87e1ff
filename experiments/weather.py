"""Precipitation through the year from temperature, at 35 Canadian stations."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from sklearn.model_selection import KFold

from mercer.datasets import load_canadian_weather
from mercer.fields import Resample

from .baselines import regressors
from .functional import OPERATORS, draw, model, relative_error
from .report import Report

SCALES = (3.0, 6.0, 12.0, 24.0, 48.0)
SHOWN = ("Halifax", "Montreal", "Winnipeg", "Vancouver", "Pr. Rupert", "Resolute")


def run(folder: Path, console: Any, quick: bool = False) -> Report:
    """Report errors with each station left out in turn."""
    X, Y, places = load_canadian_weather()
    operators = dict(list(OPERATORS.items())[:2]) if quick else OPERATORS
    smooth = Resample(np.linspace(0, 1, Y.shape[1]), 1e-4 if quick else "gcv").fit_transform(Y)
    tasks = [(setting, name) for setting in ("daily", "smoothed") for name in operators]
    predicted: dict[str, np.ndarray] = {}
    report = Report("weather")
    for setting, name in track(tasks, "fitting", console=console, transient=True):
        start, outputs = time.perf_counter(), Y if setting == "daily" else smooth
        estimator, splits = model(SCALES, operators[name]), KFold(7 if quick else len(X)).split(X)
        error, curves = relative_error(estimator, X, Y, splits, smooth=outputs)
        seconds = time.perf_counter() - start
        report.add(name, f"learnt from {setting} curves", "relative error", error, seconds=seconds)
        predicted |= {name: curves} if setting == "smoothed" else {}
    for name, search in regressors(X, Y.shape[1], quick=quick).items():
        start, splits = time.perf_counter(), KFold(7 if quick else len(X)).split(X)
        error, _ = relative_error(search, X, Y, splits)
        seconds = time.perf_counter() - start
        report.add(name, "learnt from daily curves", "relative error", error, seconds=seconds)
    noise = float(((smooth - Y) ** 2).sum() / ((Y - Y.mean(axis=0)) ** 2).sum())
    report.notes.append(
        "Daily temperature to log10 of daily precipitation; nothing else of the stations is used "
        "(no coordinates, province or region). Relative error: squared error over that of the mean "
        "of the other stations, pooled over nested leave-one-out, always on daily values, of "
        f"whose variance the true curves themselves, smoothed, leave {noise:.2f}."
    )
    rows = [int(np.flatnonzero(places == place)[0]) for place in SHOWN if place in places]
    panels = {
        str(places[i]): {"truth": Y[i]} | {name: curves[i] for name, curves in predicted.items()}
        for i in rows
    }
    draw(folder / "weather.png", np.arange(365), panels, "log10 precipitation (mm)")
    return report
