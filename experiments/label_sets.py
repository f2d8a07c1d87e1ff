"""Label sets in a given split: kernel, ridge and threshold chosen by leave-one-out on training."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.metrics import make_scorer

from mercer.datasets.label_sets import LabelData
from mercer.decoders import Threshold
from mercer.estimators import KernelDependencyCV
from mercer.kernels import Kernel, Labels
from mercer.metrics import hamming_accuracy, sample_f1, subset_accuracy

from .baselines import COSTS, ONE_VS_REST, OneVsRest
from .report import Report

METRICS = {"f1": sample_f1, "hamming": hamming_accuracy, "subset": subset_accuracy}


def model(kernels: Sequence[Kernel], alphas: np.ndarray, metric: str) -> KernelDependencyCV:
    """Return an unfitted model of label sets with a threshold, chosen by left-out predictions."""
    return KernelDependencyCV(
        list(kernels),
        Labels(),
        alphas=alphas,
        scoring=make_scorer(METRICS[metric]),
        decoder=Threshold(metric=metric),
        fit_intercept=False,
    )


def compare(
    report: Report, data: LabelData, model: KernelDependencyCV, published: dict[str, float]
) -> Any:
    """Fit a model, add a row for each metric on the test part, and return the model."""
    start = perf_counter()
    fitted = model.fit(data.X_train, data.y_train)
    predictions = fitted.predict(data.X_test)
    seconds = perf_counter() - start
    setting = f"{fitted.kernel_.scalar}, alpha {fitted.alpha_:.2g}"
    method = f"Threshold for {fitted.decoder_.metric}"
    for name, metric in METRICS.items():
        value = 100.0 * metric(data.y_test, predictions)
        report.add(method, setting, name, value, None, published.get(name), seconds)
    return fitted


def add_baseline(report: Report, data: LabelData, metric: str, quick: bool = False) -> None:
    """Add rows of one-vs-rest logistic regression, tuned for a metric."""
    start = perf_counter()
    costs = COSTS[2:3] if quick else COSTS
    fitted = OneVsRest(METRICS[metric], costs).fit(data.X_train, as_array(data.y_train))
    predictions = fitted.predict(data.X_test)
    seconds = perf_counter() - start
    setting = f"C {fitted.cost:g}, threshold {fitted.threshold:.3g}"
    for name, measure in METRICS.items():
        value = 100.0 * measure(as_array(data.y_test), predictions)
        report.add(f"{ONE_VS_REST} for {metric}", setting, name, value, seconds=seconds)


def as_array(Y: Any) -> np.ndarray:
    """Return 0/1 labels as a dense array of 64-bit integers, as LabelBinarizer requires."""
    return np.asarray(Y.toarray() if hasattr(Y, "toarray") else Y, dtype=np.int64)
