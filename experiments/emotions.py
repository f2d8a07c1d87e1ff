"""Emotions: the moods of a song from features of its sound, in the given split."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from mercer.datasets import load_emotions
from mercer.datasets.label_sets import LabelData
from mercer.kernels import RBF, Kernel, Laplacian

from .label_sets import METRICS, add_baseline, compare, model
from .report import Report

KERNELS: list[Kernel] = [
    *(RBF(s) for s in (5.0, 10.0, 20.0)),
    *(Laplacian(s) for s in (25.0, 50.0, 100.0, 200.0)),
]
ALPHAS = np.logspace(-3, 1.5, 10)


def run(folder: Path, console: Any, quick: bool = False) -> Report:
    """Report each metric on the test songs, by the decoder calibrated for that metric."""
    data = load_emotions()
    scaler = StandardScaler().fit(data.X_train.toarray())
    X, X_test = (scaler.transform(A.toarray()) for A in (data.X_train, data.X_test))
    report = Report("emotions")
    for metric in list(METRICS)[: 1 if quick else None]:
        scaled = LabelData(X, data.y_train, X_test, data.y_test, data.labels)
        compare(report, scaled, model(KERNELS, ALPHAS, metric), {})
        add_baseline(report, scaled, metric, quick)
    report.notes.append(
        "In per cent, on the 202 test songs; kernel, ridge, threshold and rule chosen by that "
        "metric of the leave-one-out predictions of the 391 training songs."
    )
    return report
