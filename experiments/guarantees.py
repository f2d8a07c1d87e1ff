"""Whether prediction sets hold the truth as often as they state, on simulated exchangeable data."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from scipy.stats import binom, norm
from sklearn.linear_model import LogisticRegression, Ridge

from mercer import ConformalSets, KernelDependency, KernelDependencyCV
from mercer.features import Nystroem, RandomFourier
from mercer.kernels import RBF, Kendall, Labels, Spectrum
from mercer.operators import Covariance

from .report import Report

ASKED = 0.8
REPEATS = 500
SIZES = (30, 80, 200)
SIGNIFICANCE = 0.01
Pairs = tuple[Any, Any, np.ndarray | None]


@dataclass(frozen=True)
class Cell:
    """One way to make sets, on one kind of data.

    Attributes
    ----------
    name
        What the table calls it.
    draw
        Returns n + some pairs, and their groups where there are any; the last group is tested.
    sets
        What is fitted.
    stated
        Whether a level is to be stated; else it must be NaN, with a warning.
    """

    name: str
    draw: Callable[[np.random.Generator, int], Pairs]
    sets: ConformalSets
    stated: bool = True


def vectors(rng: np.random.Generator, n: int) -> Pairs:
    """Two numbers, with noise that grows with the first input."""
    X = rng.normal(size=(n + 1, 2))
    noise = 0.1 + 0.4 * (X[:, :1] > 0)
    return X, np.sin(2 * X) + noise * rng.normal(size=(n + 1, 2)), None


def subjects(rng: np.random.Generator, n: int) -> Pairs:
    """Two to four rows for each subject, which share an offset; the last subject is new."""
    number = n // 3 + 2
    groups = np.repeat(np.arange(number), rng.integers(2, 5, size=number))
    X, Y, _ = vectors(rng, len(groups) - 1)
    return X, Y + 0.5 * rng.normal(size=(number, 1))[groups], groups


def repeated(rng: np.random.Generator, n: int) -> Pairs:
    """Outputs of which there are nine, each many times."""
    X, Y, _ = vectors(rng, n)
    return X, np.clip(np.round(Y), -1, 1), None


def rankings(rng: np.random.Generator, n: int) -> Pairs:
    """Orders of four labels."""
    X = rng.normal(size=(n + 1, 3))
    W = np.random.default_rng(0).normal(size=(3, 4))
    return X, np.argsort(np.argsort(X @ W + rng.normal(size=(n + 1, 4)))), None


def label_sets(rng: np.random.Generator, n: int) -> Pairs:
    """Sets of five labels."""
    X = rng.normal(size=(n + 1, 3))
    W = np.random.default_rng(0).normal(size=(3, 5))
    return X, (X @ W + rng.normal(size=(n + 1, 5)) > 0.3).astype(int), None


def words(rng: np.random.Generator, n: int) -> Pairs:
    """Words of two to four letters: some were never seen."""
    X = rng.normal(size=(n + 1, 2))
    return X, ["".join(rng.choice(list("ab"), size=rng.integers(2, 5))) for _ in X], None


def names(rng: np.random.Generator, n: int) -> Pairs:
    """One of three classes."""
    X = rng.normal(size=(n + 1, 2))
    return (
        X,
        np.array(["a", "b", "c"])[np.digitize(X[:, 0] + rng.normal(size=n + 1), [-1, 1])],
        None,
    )


NINE = [[float(a), float(b)] for a in (-1, 0, 1) for b in (-1, 0, 1)]
GIVEN = KernelDependency(RBF(1.0), alpha=0.3)
CHOSEN = KernelDependencyCV([RBF(s) for s in (0.3, 1.0, 3.0)])


def _asked(model: Any, *more: Any, **named: Any) -> ConformalSets:
    return ConformalSets(model, ASKED, *more, **{"random_state": None, **named})


def cells() -> list[Cell]:
    """Every kind of set, by both calibrations, on the data that could break it."""
    flat = {"kind": "band", "scale": "flat"}
    listed = {"kind": "candidates"}
    return [
        Cell("balls, split", vectors, _asked(GIVEN)),
        Cell("balls, split, chosen", vectors, _asked(CHOSEN)),
        Cell("balls, split, covariance", vectors, _asked(KernelDependency(RBF() * Covariance()))),
        Cell("balls, split, unseeded map", vectors,
             _asked(KernelDependency(RBF(1.0), features=Nystroem(8)))),
        Cell("balls, jackknife+", vectors, _asked(GIVEN, "jackknife+")),
        Cell("balls, jackknife+, unseeded map", vectors,
             _asked(KernelDependency(RBF(1.0), features=RandomFourier(8)), "jackknife+")),
        Cell("balls, jackknife+, chosen", vectors, _asked(CHOSEN, "jackknife+"), stated=False),
        Cell("balls, split, by subject", subjects, _asked(GIVEN)),
        Cell("balls, jackknife+, by subject", subjects, _asked(GIVEN, "jackknife+")),
        Cell("bands, split", vectors, _asked(GIVEN, kind="band")),
        Cell("flat bands, jackknife+", vectors, _asked(GIVEN, "jackknife+", **flat)),
        Cell("bands, jackknife+", vectors, _asked(GIVEN, "jackknife+", "band"), stated=False),
        Cell("balls, posterior scale", vectors, _asked(GIVEN, scale="posterior")),
        Cell("bands, residual scale", vectors, _asked(GIVEN, kind="band", scale="residual")),
        Cell("balls, by category", vectors, _asked(GIVEN, by=lambda X: X[:, 0] > 0)),
        Cell("balls, around ridge regression", vectors, _asked(Ridge())),
        Cell("repeated outputs, split", repeated, _asked(GIVEN, **listed)),
        Cell("repeated outputs, jackknife+", repeated,
             _asked(GIVEN, "jackknife+", candidates=NINE, **listed)),
        Cell("rankings, split", rankings, _asked(KernelDependency(RBF(2.0), Kendall()))),
        Cell("rankings, jackknife+", rankings,
             _asked(KernelDependency(RBF(2.0), Kendall()), "jackknife+")),
        Cell("label sets, split", label_sets,
             _asked(KernelDependency(RBF(2.0), Labels()), **listed)),
        Cell("words outside the pool, split", words,
             _asked(KernelDependency(RBF(1.0), Spectrum(2)))),
        Cell("words outside the pool, jackknife+", words,
             _asked(KernelDependency(RBF(1.0), Spectrum(2)), "jackknife+"), stated=False),
        Cell("classes, around logistic regression", names, _asked(LogisticRegression())),
        Cell("label sets, expected F1 loss", label_sets,
             _asked(KernelDependency(RBF(2.0), Labels()), loss="f1", **listed)),
    ]  # fmt: skip


def trial(cell: Cell, n: int, seed: int) -> tuple[float, float]:
    """The level that was stated, and one minus the loss on a row of a new group."""
    rng = np.random.default_rng(seed)
    X, y, groups = cell.draw(rng, n)
    labels = np.arange(len(X)) if groups is None else groups
    train, test = (
        np.flatnonzero(labels < labels[-1]),
        rng.choice(np.flatnonzero(labels == labels[-1])),
    )
    own = None if groups is None else groups[train]
    np.random.seed(seed)  # noqa: NPY002 — sets and maps without a seed draw from here
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        cell.sets.fit(X[train], [y[i] for i in train] if isinstance(y, list) else y[train], own)
    level = cell.sets.proven_coverage_
    if np.isnan(level) and not any("is NaN" in str(one.message) for one in told):
        raise AssertionError(f"{cell.name} states no level and does not say why")
    truth = [y[test]] if isinstance(y, list) else y[[test]]
    return level, 1.0 - float(cell.sets.losses(X[[test]], truth)[0])


def p_value(levels: np.ndarray, hits: np.ndarray) -> float:
    """How likely so few hits are where the stated level holds."""
    if set(np.unique(hits)) <= {0.0, 1.0}:
        return float(binom.cdf(round(hits.sum()), len(hits), levels.mean()))
    spread = max(float(hits.std(ddof=1)), 1e-12) / np.sqrt(len(hits))
    return float(norm.cdf((hits.mean() - levels.mean()) / spread))


def run(folder: Path, console: Any, quick: bool = False) -> Report:
    """Every cell at every size; the one-sided test is Bonferroni's over all of them."""
    repeats, sizes = (4, SIZES[:1]) if quick else (REPEATS, SIZES)
    every = [(cell, n) for cell in cells() for n in sizes]
    report, broken = Report("guarantees", wide=True, baseline=""), []
    for cell, n in track(every, "cells", console=console, transient=True):
        found = np.array([trial(cell, n, seed) for seed in range(repeats)])
        levels, hits = found[:, 0], found[:, 1]
        report.add(cell.name, f"n = {n}", "met", scores=[float(hits.mean())])
        report.add(cell.name, f"n = {n}", "stated", scores=[float(levels.mean())])
        if np.isnan(levels).all() != (not cell.stated):
            broken.append(f"{cell.name}, n = {n}: a level is stated or missing against expectation")
        elif cell.stated and p_value(levels, hits) < SIGNIFICANCE / len(every):
            broken.append(
                f"{cell.name}, n = {n}: met {hits.mean():.3f}, stated {levels.mean():.3f}"
            )
    report.notes.append(
        f"Sets asked for {ASKED:.0%}, one new group each, {repeats} repeats. "
        + (f"Broken: {'; '.join(broken)}." if broken else
           f"No cell of {len(every)} is below its level by a one-sided test at "
           f"{SIGNIFICANCE:.0%}, Bonferroni over all.")
    )  # fmt: skip
    return report
