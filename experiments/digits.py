"""The bundled digits: lower halves from upper halves by one line, in under a minute."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from mercer import AutoDependency
from mercer.datasets import load_digit_halves

from .baselines import fit_and_predict
from .pictures import completions
from .report import Report

COVERAGE = 0.9
SHOWN = 5
"""Digits in the picture."""
SHORT_NAMES = {
    "scikit-learn: ExtraTreesRegressor": "extra trees",
    "scikit-learn: KernelRidge": "kernel ridge",
}
MERCER = "mercer: AutoDependency().fit(upper, lower)"


def run(folder: Path, console: Any, quick: bool = False) -> Report:
    """Report R² of AutoDependency and baselines on digits that were not in the training data."""
    upper, lower = load_digit_halves()
    order = np.random.default_rng(0).permutation(len(upper))
    n = 150 if quick else 700
    train, test = order[:n], order[n:]
    report = Report("digits", title="Lower halves of digits from upper halves", wide=True)
    start = time.perf_counter()
    with console.status("fitting AutoDependency()"):
        model = AutoDependency(coverage=COVERAGE, random_state=0).fit(upper[train], lower[train])
    seconds = time.perf_counter() - start
    report.add(MERCER, "left out", "R²", model.loo_score_, seconds=seconds)
    score = model.score(upper[test], lower[test])
    report.add(MERCER, "test", "R²", score, seconds=seconds)
    low, high = model.predict_set(upper[test])
    inside = ((low <= lower[test]) & (lower[test] <= high)).all(axis=(1, 2))
    shown = test[:SHOWN]
    drawn = {"truth": lower[shown], _title("mercer", score): model.predict(upper[shown])}
    with console.status("fitting what one would have tried"):
        for name, predicted, seconds in fit_and_predict(
            upper[train], lower[train], upper[test], quick=quick
        ):
            score = model.outputs_.metric(lower[test], predicted)
            report.add(name, "test", "R²", score, seconds=seconds)
            if name in SHORT_NAMES:
                drawn[_title(SHORT_NAMES[name], score)] = predicted[:SHOWN]
    report.settings["mercer"] = model.chosen_
    report.notes += _notes(model, inside, n, len(test))
    completions(folder / "digits.png", upper[shown], drawn)
    model.report(folder / "model.html")
    report.captions["digits.png"] = "Unseen digits, the part below the line as completed."
    return report


def _title(name: str, score: float) -> str:
    """Return the title of a column of the picture: a name and its R²."""
    return f"{name}: R² {score:.3f}"


def _notes(model: Any, inside: np.ndarray, n: int, tested: int) -> list[str]:
    """Return the notes below the table, with the coverage of the prediction sets."""
    return [
        f"R² of all pixels on {tested} unseen digits, learnt from {n}, drawn at random. mercer was "
        "given no argument; its left-out score is from the training digits alone. scikit-learn's "
        "regressors are tuned by five-fold cross-validation.",
        f"Sets around the predictions hold all 32 pixels of a half at once: "
        f"{model.coverage:.0%} requested, {inside.mean():.1%} of the unseen digits covered.",
        "model.html is the report that `mercer fit --report` and `model.report(path)` write.",
    ]
