"""Precipitation through the year from temperature, at 35 Canadian stations."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from sklearn.model_selection import LeaveOneOut

from ..datasets import load_canadian_weather
from .functional import OPERATORS, draw, model, relative_error
from .report import Report

SCALES = (3.0, 6.0, 12.0, 24.0, 48.0)
SHOWN = ("Halifax", "Montreal", "Winnipeg", "Vancouver", "Pr. Rupert", "Resolute")


def run(folder: Path, console: Any, quick: bool = False) -> Report:
    """Each station in turn left out, parameters by leave-one-out on the other 34."""
    X, Y, places = load_canadian_weather()
    operators = dict(list(OPERATORS.items())[:2]) if quick else OPERATORS
    report, predicted = Report("weather"), {}
    for name in track(operators, "fitting", console=console, transient=True):
        start = time.perf_counter()
        splits = LeaveOneOut().split(X)
        error, predicted[name] = relative_error(model(SCALES, operators[name]), X, Y, splits)
        seconds = time.perf_counter() - start
        report.add(name, "nested leave-one-out", "relative error", error, seconds=seconds)
    report.notes.append(
        "Daily temperature to log10 of daily precipitation; nothing else of the stations is used "
        "(no coordinates, province or region). Relative error: squared error over that of the mean "
        "of the other stations, pooled."
    )
    rows = [int(np.flatnonzero(places == place)[0]) for place in SHOWN if place in places]
    panels = {
        str(places[i]): {"truth": Y[i]} | {name: curves[i] for name, curves in predicted.items()}
        for i in rows
    }
    draw(folder / "weather.png", np.arange(365), panels, "log10 precipitation (mm)")
    return report
