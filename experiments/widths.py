"""How wide bands are that adapt to places and inputs, next to bands that follow places alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from rich.progress import track

from mercer import ConformalSets, KernelDependencyCV
from mercer.datasets import load_dti, load_usps
from mercer.datasets._files import find_file
from mercer.estimators.confidence import fit_value_model
from mercer.kernels import L2, RBF, Gaussian, Linear
from mercer.sets.row_weights import weighted_quantile

from .report import Report

ASKED = 0.9
SPLITS = 50
SCALES = {"by place": "auto", "residual": "residual", "flat": "flat"}
"""The bands that are compared; the first are those that mercer had before."""


@dataclass(frozen=True)
class Curves:
    """Pairs, the model that is fitted to them, and the numbers of training and test groups."""

    name: str
    X: np.ndarray
    Y: np.ndarray
    model: KernelDependencyCV
    test: int
    train: int | None = None
    groups: np.ndarray | None = None

    def split(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return training rows, and test rows of other groups."""
        labels = np.arange(len(self.Y)) if self.groups is None else self.groups
        names = np.random.default_rng([seed, 11]).permutation(np.unique(labels))
        test, rest = np.split(names, [self.test])
        rows = (np.flatnonzero(np.isin(labels, some)) for some in (rest[: self.train], test))
        train, tested = rows
        return train, tested


def dti() -> Curves:
    """Load one tract of the brain to predict from another, with subjects as groups."""
    X, Y, subject = load_dti()
    model = KernelDependencyCV([Gaussian(L2(), s) for s in (0.1, 0.2, 0.4)], L2())
    return Curves("DTI", X, Y, model, 24, None, subject)


def growth() -> Curves:
    """Load heights after the age of eight to predict from the heights before."""
    data = np.load(find_file("functional/growth.npz"))
    heights, ages = data["height"], data["age"]
    early = ages <= 8
    X, Y = heights[:, early], heights[:, ~early]
    scale = float(np.sqrt(X.var(axis=0).sum()))
    model = KernelDependencyCV([RBF(c * scale) for c in (0.5, 1.0, 2.0, 4.0)], Linear())
    return Curves("growth", X, Y, model, 20)


def usps() -> Curves:
    """Load the lower halves of USPS digits to predict from the upper halves."""
    images, _, _, _ = load_usps()
    model = KernelDependencyCV([RBF(s) for s in (3.0, 4.0, 6.0)], Linear())
    return Curves("USPS", images[:, :8], images[:, 8:], model, 300, 300)


def simulated() -> Curves:
    """Simulate curves with noise whose scale depends on the input."""
    rng, t = np.random.default_rng(1), np.linspace(0, 1, 30)
    X = rng.uniform(-1, 1, size=(20000, 1))
    size = np.exp(1.8 * X)
    smooth = np.stack([np.sin((k + 1) * np.pi * t) / (k + 1) for k in range(4)])
    noise = size * (rng.normal(size=(20000, 4)) @ smooth + 0.1 * rng.normal(size=(20000, 30)))
    model = KernelDependencyCV([RBF(s) for s in (0.3, 0.6, 1.2)], Linear())
    return Curves("simulated", X, np.sin(3 * (t + X)) + 0.3 * noise, model, 500, 400)


TASKS = {"DTI": dti, "growth": growth, "USPS": usps, "simulated": simulated}


def trial(name: str, seed: int) -> dict[str, np.ndarray]:
    """Return (error over half width, width, weight, difficulty) of test rows, by kind of band."""
    task, results = TASKS[name](), {}
    train, test = task.split(seed)
    groups = None if task.groups is None else task.groups[train]
    labels = test if task.groups is None else task.groups[test]
    _, numbers, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    weights = 1.0 / (len(sizes) * sizes[numbers])
    for kind, scale in SCALES.items():
        sets = ConformalSets(task.model, ASKED, kind="band", scale=scale, random_state=seed)
        sets.fit(task.X[train], task.Y[train], groups)
        bands: Any = sets.predict(task.X[test])
        half_widths = ((bands.upper - bands.lower) / 2).reshape(len(test), -1)
        errors = np.abs(task.Y[test] - (bands.upper + bands.lower) / 2).reshape(half_widths.shape)
        difficulties = difficulty(sets.model_, task.X[test])  # the model is the same for every kind
        results[kind] = np.stack(
            [
                (errors / half_widths).max(axis=1),
                2 * half_widths.mean(axis=1),
                weights,
                difficulties,
            ]
        )
    return results


def difficulty(model: KernelDependencyCV, X: np.ndarray) -> np.ndarray:
    """Return the rank, from 0 to 1, of the expected largest error of each input."""
    problem = model.fitted_.problem
    labels = np.unique(problem.left_out_labels, return_inverse=True)[1]
    errors = np.abs(model.outputs_ - model.loo_predict())
    sizes = errors.reshape(len(errors), -1).max(axis=1)
    expected = fit_value_model(
        problem.inputs.kernel, problem.inputs.items, np.log(sizes), labels
    ).predict(X)
    return (np.argsort(np.argsort(expected)) + 0.5) / len(X)


def summarize(rows: np.ndarray) -> dict[str, float]:
    """Return coverage, widths, and coverage in terciles of difficulty, by name."""
    ratio, width, weights, hard = rows
    weights = weights / weights.sum()
    factor = float(weighted_quantile(ratio, weights, ASKED))
    inside = ratio <= 1
    values = {"coverage": float(weights @ inside), "width": float(weights @ width)}
    values["width at equal coverage"] = factor * values["width"]
    third = np.digitize(hard, [1 / 3, 2 / 3])
    for k, name in enumerate(("easy", "middle", "hard")):
        own = third == k
        covered = float(weights[own] @ inside[own] / weights[own].sum()) if own.any() else np.nan
        values[f"coverage, {name}"] = covered
    return values


def run(
    folder: Path, console: Any, quick: bool = False, jobs: int = 1, repeats: int | None = None
) -> Report:
    """Report width and coverage of every kind of band on the same splits."""
    repeats = repeats or (2 if quick else SPLITS)
    names = ["growth"] if quick else list(TASKS)
    report = Report("widths", wide=True, baseline="", lower_is_better=["width"])
    tasks = [delayed(trial)(name, seed) for name in names for seed in range(repeats)]
    done = Parallel(jobs, return_as="generator")(tasks)
    done = iter(track(done, "splits", len(tasks), console=console, transient=True))
    for name in names:
        results = [next(done) for _ in range(repeats)]
        summaries = {kind: summarize(np.hstack([one[kind] for one in results])) for kind in SCALES}
        before = summaries[next(iter(SCALES))]["width at equal coverage"]
        for kind, values in summaries.items():
            values["share of the width before"] = values["width at equal coverage"] / before
            for metric, value in values.items():
                report.add(kind, name, metric, scores=[value])
    report.notes.append(
        f"Bands of level {ASKED:.0%}, {repeats} random splits; the same model, training, "
        "calibration and test rows for all. Equal coverage: all widths of a method times the one "
        f"number that makes it cover {ASKED:.0%} of all test rows. Terciles are of the largest "
        "error that a ridge model of left-out errors expects. Settings were tuned on other splits."
    )
    return report
