"""How likely outputs are under the posterior, next to scikit-learn's Gaussian process."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from rich.progress import track
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor, kernels
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from mercer import KernelDependencyCV
from mercer.datasets._files import find_file
from mercer.kernels import RBF, Laplacian, Linear, Matern

from .report import Report

SETS = ("slump", "andro", "edm", "jura", "atp1d")
REPEATS = 3
"""Shuffles into five folds."""
SCALES = (0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.5, 4.0, 8.0)
ALPHAS = np.logspace(-4, 2, 13)
Predicted = tuple[np.ndarray, np.ndarray]


def predict_by_mercer(X: np.ndarray, Y: np.ndarray, X_new: np.ndarray) -> Predicted:
    """Return means and standard deviations by mercer, chosen by the left-out density."""
    d = X.shape[1]
    families: list[Any] = [RBF, lambda s: Matern(s, nu=1.5), lambda s: Matern(s, nu=0.5)]
    every = [kernel(c * np.sqrt(d)) for kernel in families for c in SCALES]
    every += [Laplacian(c * d) for c in (0.1, 0.3, 1.0, 3.0, 10.0)]
    model = KernelDependencyCV(every, Linear(), ALPHAS, criterion="density").fit(X, Y)
    points = model.embed(X_new)
    variance = points.variance(observed=True, noise="left out")
    return model.predict(X_new), np.sqrt(variance)


def predict_by_gp(X: np.ndarray, Y: np.ndarray, X_new: np.ndarray) -> Predicted:
    """Return means and standard deviations by a Gaussian process of scikit-learn."""
    scale = kernels.RBF(np.sqrt(X.shape[1]), (1e-2, 1e4))
    kernel = kernels.ConstantKernel() * scale + kernels.WhiteKernel(0.1, (1e-6, 10.0))
    model = GaussianProcessRegressor(
        kernel, normalize_y=True, n_restarts_optimizer=2, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mean, deviation = model.fit(X, Y).predict(X_new, return_std=True)
    return mean.reshape(len(X_new), -1), deviation.reshape(len(X_new), -1)


def predict_by_separate_gps(X: np.ndarray, Y: np.ndarray, X_new: np.ndarray) -> Predicted:
    """Return means and standard deviations by one Gaussian process for each target."""
    found = [predict_by_gp(X, y[:, None], X_new) for y in Y.T]
    return np.hstack([mean for mean, _ in found]), np.hstack([s for _, s in found])


METHODS = {
    "scikit-learn": predict_by_gp,
    "scikit-learn, one a target": predict_by_separate_gps,
    "mercer": predict_by_mercer,
}


def log_loss(y: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> float:
    """Return the mean negative log density of y under normal distributions."""
    return float(-norm.logpdf(y, mean, deviation).mean())


def crps(y: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> float:
    """Return the mean continuous ranked probability score of y under normal distributions."""
    z = (y - mean) / deviation
    each = deviation * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))
    return float(each.mean())


def score_fold(name: str, shuffle: int, number: int, method: str) -> tuple[float, float, float]:
    """Return log loss, CRPS and seconds of one method on one fold of a data set."""
    data = np.load(find_file("multi_target/multi_target.npz"))
    X, Y = data[f"{name}_X"], data[f"{name}_Y"]
    folds = KFold(5, shuffle=True, random_state=shuffle).split(X)
    train, test = list(folds)[number]
    inputs, outputs = StandardScaler().fit(X[train]), StandardScaler().fit(Y[train])
    start = time.process_time()
    A, B = inputs.transform(X[train]), outputs.transform(Y[train])
    predicted = METHODS[method](A, B, inputs.transform(X[test]))
    seconds, truth = time.process_time() - start, outputs.transform(Y[test])
    return log_loss(truth, *predicted), crps(truth, *predicted), seconds


def run(
    folder: Path, console: Any, quick: bool = False, jobs: int = 1, repeats: int | None = None
) -> Report:
    """Report log loss and CRPS of every method, in shuffled folds of every set."""
    shuffles = range(10, 10 + (repeats or (1 if quick else REPEATS)))
    names = SETS[:1] if quick else SETS
    combinations = [(name, method) for name in names for method in METHODS]
    folds = [(s, k) for s in shuffles for k in range(5)]
    tasks = [
        delayed(score_fold)(name, s, k, method) for name, method in combinations for s, k in folds
    ]
    done = Parallel(jobs, return_as="generator")(tasks)
    done = iter(track(done, "folds", len(tasks), console=console, transient=True))
    measures = ("negative log density", "CRPS")
    report = Report("densities", baseline="scikit-learn", lower_is_better=measures)
    for name, method in combinations:
        values = np.array([next(done) for _ in folds])
        for k, measure in enumerate(measures):
            seconds = float(values[:, 2].mean())
            report.add(method, name, measure, scores=values[:, k].tolist(), seconds=seconds)
    report.notes.append(
        "Inputs and outputs standardised on the training folds; one value a fold. mercer chooses "
        'kernel and ridge by the density of left-out outputs (criterion="density") and gives each '
        'target the noise that left-out predictions show (variance(noise="left out")). '
        "scikit-learn's process has an RBF kernel, a scale and a noise, fitted by its marginal "
        "likelihood from three starts, for all targets together or one by one. These shuffles were "
        "not used while the method was made."
    )  # fmt: skip
    return report
