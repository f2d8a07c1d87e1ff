"""USPS halves as in the paper: five consecutive folds of 200, train on one, test on four."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from ..datasets import load_usps
from .halves import OPERATORS, compare
from .pictures import completions
from .report import Report

SCALES = [2.0, 3.0, 4.0, 6.0, 8.0, 12.0]
OUTPUT_SCALE = 12.0
PUBLISHED = {"identity": 0.9247, "covariance": 0.7550, "conditional covariance": 0.6276}


def run(folder: Path, console: Any, quick: bool = False) -> Report:
    """Mean RBF loss over the folds; parameters by leave-one-out on each training fold."""
    images = load_usps()[0][:1000]
    upper, lower = images[:, :8], images[:, 8:]
    folds = np.arange(1000).reshape(5, 200)[: 1 if quick else 5]
    splits = [(fold, np.setdiff1d(np.arange(1000), fold)) for fold in folds]
    steps = compare(splits, upper, lower, SCALES, OUTPUT_SCALE)
    total = len(splits) * len(OPERATORS)
    *_, results = track(steps, "fitting", total=total, console=console, transient=True)
    report = Report("usps")
    for r in results:
        published = PUBLISHED[r.operator] if r.decoder == "Candidates" else None
        mean, std = float(np.mean(r.losses)), float(np.std(r.losses))
        method = f"{r.operator}, {r.decoder}"
        report.add(method, r.chosen, "rbf loss", mean, std, published, r.seconds)
    shown = splits[-1][1][:8]
    pictures = {f"{r.operator} {r.decoder}": r.pictures for r in results}
    completions(folder / "usps.png", upper[shown], {"truth": lower[shown], **pictures})
    return report
