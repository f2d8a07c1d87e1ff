"""Bibtex: the tags of a text from its words, in the given split."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mercer.datasets import load_bibtex
from mercer.datasets.label_sets import LabelData
from mercer.kernels import Gaussian, Linear, Normalized, Tanimoto

from .label_sets import add_baseline, compare, model
from .report import Report

COSINE = Normalized(Linear())
KERNELS = [Tanimoto(), Gaussian(COSINE, 0.7), Gaussian(COSINE, 1.0)]
ALPHAS = np.logspace(-3, 1.5, 10)
PUBLISHED = {"f1": 44.9}
"""IOKR, the best sample-F1 on this split that the poster of Sketch In, Sketch Out lists."""


def run(folder: Path, console: Any, quick: bool = False) -> Report:
    """Report sample-F1 on the test texts; kernel and ridge are chosen by leave-one-out."""
    data = load_bibtex()
    if quick:
        X, y = data.X_train[:800], data.y_train[:800]
        data = LabelData(X, y, data.X_test, data.y_test, data.labels)
    report = Report("bibtex")
    with console.status("fitting"):
        fitted = compare(report, data, model(KERNELS, ALPHAS, "f1"), {} if quick else PUBLISHED)
        add_baseline(report, data, "f1", quick)
    report.notes.append(
        f"In per cent, on {data.X_test.shape[0]} test texts, trained on {data.X_train.shape[0]}; "
        f"left-out sample-F1 {100 * fitted.loo_score_:.2f}, threshold "
        f"{fitted.decoder_.threshold_:.3f}. Published: IOKR, the best of the methods compared in "
        "Sketch In, Sketch Out."
    )
    return report
