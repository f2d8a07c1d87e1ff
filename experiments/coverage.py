"""How often prediction sets hold the truth, and how much larger they are than they need be."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from sklearn.preprocessing import StandardScaler

from mercer import ConformalSets, KernelDependencyCV
from mercer._base.arrays import Items, count, take
from mercer.datasets import load_bibtex, load_dti, load_label_ranking, load_usps
from mercer.kernels import L2, RBF, Gaussian, Kendall, Labels, Linear, Tanimoto
from mercer.sets.forms import contain, size
from mercer.sets.radii import JackknifeRadii
from mercer.sets.row_weights import weighted_quantile

from .report import Report

ASKED = 0.9
SPLITS = 20
CALIBRATIONS = ("split", "jackknife+")
ALPHAS = np.logspace(-4, 1, 6)
TAGS = 10


@dataclass(frozen=True)
class Task:
    """Pairs, the model that is fitted to them, and the numbers of training and test groups."""

    name: str
    X: Items
    y: Items
    model: KernelDependencyCV
    train: int
    test: int
    groups: np.ndarray | None = None
    kind: str = "auto"
    candidates: Items | None = None
    ignore_groups: bool = False
    scaled: bool = False

    def split(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return training rows, and test rows of other groups.

        Splits in a row deal one shuffle out: no group is tested again before all others were.
        """
        labels = np.arange(count(self.y)) if self.groups is None else self.groups
        groups = np.unique(labels)
        shuffle, part = divmod(seed, len(groups) // self.test)
        names = np.random.default_rng(shuffle).permutation(groups)
        test, rest = np.split(np.roll(names, -part * self.test), [self.test])
        train = rest[: self.train]
        return np.flatnonzero(np.isin(labels, train)), np.flatnonzero(np.isin(labels, test))


def tags() -> Task:
    """Load texts of Bibtex with its ten most frequent tags; all 1024 tag sets are candidates."""
    data = load_bibtex()
    Y = np.asarray(data.y_train.todense())
    Y = Y[:, np.argsort(-Y.sum(axis=0), kind="stable")[:TAGS]]
    rows = np.flatnonzero(Y.any(axis=1))
    model = KernelDependencyCV(Tanimoto(), Labels(), ALPHAS, fit_intercept=True)
    every = np.array(list(product([0, 1], repeat=TAGS)), dtype=Y.dtype)
    return Task("Bibtex, ten tags", take(data.X_train, rows), Y[rows], model, 400, 300,
                candidates=every)  # fmt: skip


def rankings() -> Task:
    """Load Vehicle: rankings of four labels, with all 24 as candidates."""
    X, ranks = load_label_ranking("vehicle")
    kernels = [RBF(c * np.sqrt(X.shape[1])) for c in (0.3, 0.6, 1.0)]
    model = KernelDependencyCV(kernels, Kendall(), ALPHAS, fit_intercept=True)
    every = np.array([r for r in product(range(4), repeat=4) if len(set(r)) == 4])
    return Task("vehicle rankings", X, ranks, model, 500, 282, candidates=every, scaled=True)


def halves() -> Task:
    """Load the halves of USPS digits, for balls of images."""
    images, _, _, _ = load_usps()
    kernels = [RBF(scale) for scale in (3.0, 4.0, 6.0)]
    model = KernelDependencyCV(kernels, Linear(), ALPHAS, fit_intercept=True)
    return Task("USPS halves", images[:, :8], images[:, 8:], model, 300, 300)


def curves() -> list[Task]:
    """Load the tracts of DTI, for balls and bands, by subject and by row."""
    X, Y, subject = load_dti()
    kernels = [Gaussian(L2(), scale) for scale in (0.1, 0.2, 0.4)]
    model = KernelDependencyCV(kernels, L2(), ALPHAS, fit_intercept=True)
    tasks = []
    for kind in ("ball", "band"):
        task = Task(f"DTI {kind}s, by subject", X, Y, model, 97, 24, subject, kind)
        tasks += [task, replace(task, name=f"DTI {kind}s, by rows", ignore_groups=True)]
    return tasks


def trial(task: Task, calibration: str, seed: int) -> tuple[float, float, float]:
    """Return coverage, mean size, and the mean size of the smallest sets with that coverage.

    All three are those of a random row of a random test group, which is what sets promise.
    """
    train, test = task.split(seed)
    X, X_test, y_test = take(task.X, train), take(task.X, test), take(task.y, test)
    if task.scaled:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    groups = None if task.groups is None or task.ignore_groups else task.groups[train]
    sets = ConformalSets(task.model, ASKED, calibration, task.kind, task.candidates)
    with warnings.catch_warnings():  # the experiment measures what is not proven
        warnings.filterwarnings("ignore", "jackknife. proves no coverage")
        sets.fit(X, take(task.y, train), groups)
    predicted_sets = sets.predict(X_test)
    weights = _group_weights(test if task.groups is None else task.groups[test])
    kernel = sets.model_.output_kernel_
    covered = contain(predicted_sets, kernel.as_outputs(y_test), kernel.space)
    least = smallest_covering_sets(sets, X_test, y_test, weights)
    return float(weights @ covered), _mean_size(predicted_sets, weights), _mean_size(least, weights)


def smallest_covering_sets(sets: ConformalSets, X: Items, y: Items, weights: np.ndarray) -> list:
    """Return the sets of the smallest common radius that cover the test outputs."""
    points, score = sets.model_.embed(X), sets.score_
    scale: Any = sets.scale_
    if isinstance(sets.radii_, JackknifeRadii):
        scale = sets.radii_.scale
    unit = None if scale is None else scale.at(X)
    scores = score.scores(points, sets.model_.output_kernel_.as_outputs(y), unit)
    radius = weighted_quantile(scores, weights, ASKED) * (1.0 if unit is None else unit)
    return list(score.sets(points, np.broadcast_to(radius, (count(X), *np.shape(radius)[1:]))))


def run(folder: Path, console: Any, quick: bool = False) -> Report:
    """Report coverage and size of the sets over twenty splits of each data set."""
    tasks = [rankings(), *curves()[:2]] if quick else [tags(), rankings(), halves(), *curves()]
    names = [(task, how) for task in tasks for how in CALIBRATIONS]
    report = Report("coverage", wide=True, baseline="", lower_is_better=["mean size"])
    for task in tasks:
        report.settings[task.name] = f"{task.train} to learn from, {task.test} to test on"
    for task, how in track(names, "splits", console=console, transient=True):
        results = [trial(task, how, seed) for seed in range(2 if quick else SPLITS)]
        columns = ("coverage", "mean size", "smallest mean size")
        for metric, values in zip(columns, zip(*results, strict=True), strict=True):
            report.add(how, task.name, metric, scores=values)
    report.notes.append(
        f"Sets asked to hold the truth in {ASKED:.0%} of cases, over {2 if quick else SPLITS} "
        "random splits; kernel and ridge by leave-one-out on the rows learnt from. Sizes: the "
        "number of outputs in a list, the radius of a ball, the mean width of a band. The smallest "
        "mean size is that of sets of the same model and shape with the one radius that covers "
        f"{ASKED:.0%} of the test rows, which only somebody who knows their outputs could choose."
    )
    return report


def _group_weights(labels: np.ndarray) -> np.ndarray:
    """Return weights of rows, with sum one, that give each group the same weight."""
    _, numbers, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    return 1.0 / (len(sizes) * sizes[numbers])


def _mean_size(found: Sequence, weights: np.ndarray) -> float:
    """Return the weighted mean size of prediction sets."""
    return float(weights @ np.array([size(one) for one in found]))
