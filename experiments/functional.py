"""Curves from curves: what the two experiments on them share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from mercer import KernelDependencyCV
from mercer._base.errors import require
from mercer.kernels import L2, Gaussian
from mercer.operators import ConditionalCovariance, Covariance, Identity, Operator

OPERATORS: dict[str, list[Operator]] = {
    "identity": [Identity()],
    "covariance": [Covariance()],
    "conditional covariance": [ConditionalCovariance(e) for e in (1e-3, 1e-2, 1e-1)],
    "covariance, power chosen": [Covariance(p) for p in (0.5, 1.0, 1.5, 2.0, 3.0)],
}
ALPHAS = np.logspace(-10, 1, 23)


def model(scales: Iterable[float], operators: list[Operator]) -> KernelDependencyCV:
    """Return an unfitted model that chooses length scale, operator and ridge by leave-one-out."""
    kernels = [Gaussian(L2(), s) * operator for s in scales for operator in operators]
    return KernelDependencyCV(kernels, L2(), alphas=ALPHAS, fit_intercept=True)


def relative_error(
    estimator: Any,
    X: np.ndarray,
    Y: np.ndarray,
    splits: Iterable[tuple[np.ndarray, np.ndarray]],
    groups: np.ndarray | None = None,
    smooth: np.ndarray | None = None,
) -> tuple[float, np.ndarray]:
    """Return the squared error relative to the training mean, and the test predictions.

    Σ‖y - ŷ‖² / Σ‖y - ȳ‖² with ȳ the mean of the training outputs of the split that y is tested in.
    Learnt from the outputs `smooth` where given, always tested on Y.
    """
    training_outputs = Y if smooth is None else smooth
    predicted, means = np.full_like(Y, np.nan), np.full_like(Y, np.nan)
    for train, test in splits:
        group_arguments = {} if groups is None else {"groups": groups[train]}
        predicted[test] = estimator.fit(
            X[train], training_outputs[train], **group_arguments
        ).predict(X[test])
        means[test] = Y[train].mean(axis=0)
    return float(((predicted - Y) ** 2).sum() / ((means - Y) ** 2).sum()), predicted


def draw(path: Path, t: np.ndarray, panels: dict[str, dict[str, np.ndarray]], label: str) -> None:
    """Plot the true and the predicted curves of each example in a panel."""
    require("matplotlib", "plots")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = -(-len(panels) // 3)
    figure = Figure(figsize=(9.5, 2.4 * rows + 0.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.subplots(rows, 3, squeeze=False, sharex=True, sharey=True)
    for axis, (title, curves) in zip(axes.flat, panels.items(), strict=False):
        for name, values in curves.items():
            style = {"color": "0.7"} if name == "truth" else {"linewidth": 1.3}
            axis.plot(t, values, label=name, **style)
        axis.set_title(title, fontsize=9)
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names), fontsize=8)
    figure.supylabel(label, fontsize=9)
    figure.savefig(path, dpi=130)
