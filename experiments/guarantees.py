"""Whether prediction sets hold the truth as often as they state, on simulated exchangeable data."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from rich.progress import track
from scipy.stats import binom, norm
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    AutoDependency,
    Blend,
    ConformalSets,
    ForestDependency,
    KernelDependency,
    KernelDependencyCV,
    SequenceTransducer,
)
from mercer.decoders import Candidates
from mercer.features import Nystroem, RandomFourier
from mercer.kernels import L2, RBF, Kendall, Labels, Spectrum
from mercer.operators import ConditionalCovariance, Covariance, Local, Matrix

from .report import Report

ASKED = 0.8
REPEATS = 500
SIZES = (30, 80, 200)
SIGNIFICANCE = 0.01
MOST_SILENT = 0.9
"""The fraction of repeats without a level from which on a cell counts as stating none."""
CHUNK = 25
"""Repeats that one process runs at a time."""
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
    sizes
        The numbers of pairs to learn from.
    """

    name: str
    draw: Callable[[np.random.Generator, int], Pairs]
    sets: ConformalSets
    stated: bool = True
    sizes: tuple[int, ...] = SIZES


def vectors(rng: np.random.Generator, n: int) -> Pairs:
    """Return two numbers, with noise that grows with the first input."""
    X = rng.normal(size=(n + 1, 2))
    noise = 0.1 + 0.4 * (X[:, :1] > 0)
    return X, np.sin(2 * X) + noise * rng.normal(size=(n + 1, 2)), None


def subjects(rng: np.random.Generator, n: int) -> Pairs:
    """Return two to four rows for each subject, which share an offset; the last subject is new."""
    number = n // 3 + 2
    groups = np.repeat(np.arange(number), rng.integers(2, 5, size=number))
    X, Y, _ = vectors(rng, len(groups) - 1)
    return X, Y + 0.5 * rng.normal(size=(number, 1))[groups], groups


def repeated(rng: np.random.Generator, n: int) -> Pairs:
    """Return outputs of which there are nine, each many times."""
    X, Y, _ = vectors(rng, n)
    return X, np.clip(np.round(Y), -1, 1), None


def rankings(rng: np.random.Generator, n: int) -> Pairs:
    """Return orders of four labels."""
    X = rng.normal(size=(n + 1, 3))
    W = np.random.default_rng(0).normal(size=(3, 4))
    return X, np.argsort(np.argsort(X @ W + rng.normal(size=(n + 1, 4)))), None


def label_sets(rng: np.random.Generator, n: int) -> Pairs:
    """Return sets of five labels."""
    X = rng.normal(size=(n + 1, 3))
    W = np.random.default_rng(0).normal(size=(3, 5))
    return X, (X @ W + rng.normal(size=(n + 1, 5)) > 0.3).astype(int), None


def words(rng: np.random.Generator, n: int) -> Pairs:
    """Return words of two to four letters: some were never seen."""
    X = rng.normal(size=(n + 1, 2))
    return X, ["".join(rng.choice(list("ab"), size=rng.integers(2, 5))) for _ in X], None


def names(rng: np.random.Generator, n: int) -> Pairs:
    """Return one of three classes."""
    X = rng.normal(size=(n + 1, 2))
    places = np.digitize(X[:, 0] + rng.normal(size=n + 1), [-1, 1])
    return X, np.array(["a", "b", "c"])[places], None


def curves(rng: np.random.Generator, n: int) -> Pairs:
    """Return curves of eleven points, with a scale of noise for each input and position."""
    t, X = np.linspace(0, 1, 11), rng.uniform(-1, 1, size=(n + 1, 1))
    noise = np.exp(X) * (0.1 + t) * rng.normal(size=(n + 1, 1)) + 0.1 * rng.normal(size=(n + 1, 11))
    return X, np.sin(3 * (t + X)) + 0.3 * noise, None


def ranked_subjects(rng: np.random.Generator, n: int) -> Pairs:
    """Return orders of four labels, three rows for each subject, with a taste of their own."""
    number = n // 3 + 2
    groups = np.repeat(np.arange(number), 3)
    X = rng.normal(size=(len(groups), 3))
    taste = rng.normal(size=(number, 4))[groups]
    W = np.random.default_rng(0).normal(size=(3, 4))
    scores = X @ W + taste + 0.5 * rng.normal(size=taste.shape)
    return X, np.argsort(np.argsort(scores)), groups


def spellings(rng: np.random.Generator, n: int) -> Pairs:
    """Return words and how they are spelt in capitals, one letter in two ways."""
    X = ["".join(rng.choice(list("abcn"), size=rng.integers(2, 6))) for _ in range(n + 1)]
    return X, [x.replace("c", rng.choice(["ks", "k"])).upper() for x in X], None


NINE = [[float(a), float(b)] for a in (-1, 0, 1) for b in (-1, 0, 1)]
WORDS = ["".join(w) for size in (2, 3, 4) for w in product("ab", repeat=size)]
GIVEN = KernelDependency(RBF(1.0), alpha=0.3)
COUPLED = KernelDependency(RBF(1.0) * Matrix([[1.0, 0.3], [0.3, 0.5]]), alpha=0.3)
CHOSEN = KernelDependencyCV([RBF(s) for s in (0.3, 1.0, 3.0)])
CURVES = KernelDependency(RBF(1.0), L2(), alpha=0.3)
RANKS = KernelDependency(RBF(2.0), Kendall())
TAGS = KernelDependency(RBF(2.0), Labels())
STRINGS = KernelDependency(RBF(1.0), Spectrum(2))
DECODED = KernelDependency(RBF(1.0), alpha=0.3, decoder=Candidates())
LOCAL = KernelDependency(Local(RBF(1.0), width=1.0), alpha=0.3)


def _own_list(x: np.ndarray) -> list[str]:
    """Return all words, or all but one, as an input has it."""
    return WORDS if x[0] > 0 else WORDS[1:]


LISTED = KernelDependency(RBF(1.0), Spectrum(2), decoder=Candidates(_own_list))


def _asked(model: Any, *more: Any, **named: Any) -> ConformalSets:
    return ConformalSets(model, ASKED, *more, **{"random_state": None, **named})


def _positive(X: np.ndarray) -> np.ndarray:
    return X[:, 0] > 0


def _same(X: np.ndarray) -> np.ndarray:
    return np.ones(len(X))


def _mapped(features: Any) -> KernelDependency:
    return KernelDependency(RBF(1.0), features=features)


def cells() -> list[Cell]:
    """Return every kind of set, by both calibrations, on the data that could break it."""
    return [*_balls(), *_bands(), *_lists(), *_around(), *_controlled()]


def _balls() -> list[Cell]:
    plus, by_covariance = "jackknife+", KernelDependency(RBF() * Covariance())
    conditional = KernelDependency(RBF() * ConditionalCovariance())
    median = KernelDependency(RBF("median"))
    return [
        Cell("balls, split", vectors, _asked(GIVEN)),
        Cell("balls, split, chosen", vectors, _asked(CHOSEN)),
        Cell("balls, split, covariance", vectors, _asked(by_covariance)),
        Cell("balls, split, unseeded map", vectors, _asked(_mapped(Nystroem(8)))),
        Cell("balls, split, by subject", subjects, _asked(GIVEN)),
        Cell("balls, split, by category", vectors, _asked(GIVEN, by=_positive)),
        Cell("balls, split, shift", vectors, _asked(GIVEN, shift=_same)),
        Cell("balls, split, posterior scale", vectors, _asked(GIVEN, scale="posterior")),
        Cell("balls, split, residual scale", vectors, _asked(GIVEN, scale="residual")),
        Cell("balls, jackknife+", vectors, _asked(GIVEN, plus)),
        Cell("balls, jackknife+, coupled", vectors, _asked(COUPLED, plus)),
        Cell("balls, jackknife+, by subject", subjects, _asked(GIVEN, plus)),
        Cell("balls, jackknife+, posterior scale", vectors,
             _asked(COUPLED, plus, scale="posterior")),
        Cell("balls, jackknife+, unseeded map", vectors, _asked(_mapped(RandomFourier(8)), plus)),
        Cell("balls, jackknife+, landmarks", vectors, _asked(_mapped(Nystroem(8)), plus), False),
        Cell("balls, jackknife+, chosen", vectors, _asked(CHOSEN, plus), False),
        Cell("balls, jackknife+, covariance", vectors, _asked(by_covariance, plus), False),
        Cell("balls, jackknife+, conditional covariance", vectors,
             _asked(conditional, plus), False),
        Cell("balls, jackknife+, median", vectors, _asked(median, plus), False),
        Cell("balls, jackknife+, residual scale", vectors,
             _asked(GIVEN, plus, scale="residual"), False),
        Cell("balls, split, decoder of candidates", vectors, _asked(DECODED)),
        Cell("balls, jackknife+, local kernel", vectors, _asked(LOCAL, plus)),
        Cell("balls, jackknife+, local kernel, median", vectors,
             _asked(KernelDependency(Local(width=1.0)), plus), False),
    ]  # fmt: skip


def _bands() -> list[Cell]:
    plus = "jackknife+"
    return [
        Cell("bands, split", vectors, _asked(GIVEN, kind="band")),
        Cell("bands, split, by subject", subjects, _asked(GIVEN, kind="band")),
        Cell("curves, split, posterior scale", curves,
             _asked(CURVES, kind="band", scale="posterior")),
        Cell("curves, split, residual scale", curves,
             _asked(CURVES, kind="band", scale="residual")),
        Cell("curves, split, residual scale, by subject", subjects,
             _asked(GIVEN, kind="band", scale="residual")),
        Cell("flat bands, jackknife+", vectors, _asked(GIVEN, plus, kind="band", scale="flat")),
        Cell("flat curves, jackknife+", curves, _asked(CURVES, plus, kind="band", scale="flat")),
        Cell("flat bands, jackknife+, by subject", subjects,
             _asked(GIVEN, plus, kind="band", scale="flat")),
        Cell("bands, jackknife+, posterior scale", vectors,
             _asked(COUPLED, plus, kind="band", scale="posterior")),
        Cell("bands, jackknife+, posterior scale, by subject", subjects,
             _asked(COUPLED, plus, kind="band", scale="posterior")),
        Cell("bands, jackknife+", vectors, _asked(GIVEN, plus, "band"), False),
    ]  # fmt: skip


def _lists() -> list[Cell]:
    plus, listed = "jackknife+", {"kind": "candidates"}
    return [
        Cell("repeated outputs, split", repeated, _asked(GIVEN, **listed)),
        Cell("repeated outputs, jackknife+", repeated,
             _asked(GIVEN, plus, candidates=NINE, **listed)),
        Cell("repeated outputs, own pool, jackknife+", repeated,
             _asked(GIVEN, plus, **listed), False),
        Cell("vectors outside the pool, split", vectors, _asked(GIVEN, **listed)),
        Cell("rankings, split", rankings, _asked(RANKS)),
        Cell("rankings, split, by subject", ranked_subjects, _asked(RANKS)),
        Cell("rankings, jackknife+", rankings, _asked(RANKS, plus)),
        Cell("rankings, jackknife+, by subject", ranked_subjects, _asked(RANKS, plus)),
        Cell("label sets, split", label_sets, _asked(TAGS, **listed)),
        Cell("label sets, jackknife+", label_sets, _asked(TAGS, plus, **listed)),
        Cell("words, split", words, _asked(STRINGS, candidates=WORDS)),
        Cell("words, jackknife+", words, _asked(STRINGS, plus, candidates=WORDS)),
        Cell("words, lists of each input, split", words, _asked(LISTED)),
        Cell("words outside the pool, split", words, _asked(STRINGS)),
        Cell("words outside the pool, jackknife+", words, _asked(STRINGS, plus), False),
        Cell("classes, by class", names, _asked(LogisticRegression(), by="class")),
    ]  # fmt: skip


def _around() -> list[Cell]:
    piped = make_pipeline(StandardScaler(), GIVEN)
    search = GridSearchCV(KernelDependency(RBF(1.0)), {"alpha": [0.1, 1.0]}, cv=3)
    forest = ForestDependency(n_trees=8)
    blend = Blend([GIVEN, forest])
    auto = AutoDependency(time_limit=0.2)
    return [
        Cell("around ridge regression", vectors, _asked(Ridge())),
        Cell("around a random forest", curves,
             _asked(RandomForestRegressor(5), kind="band"), sizes=SIZES[1:2]),
        Cell("around a pipeline", vectors, _asked(piped)),
        Cell("around a search", vectors, _asked(search), sizes=SIZES[1:2]),
        Cell("around a forest", vectors, _asked(forest), sizes=SIZES[1:2]),
        Cell("around a blend", vectors, _asked(blend), sizes=SIZES[1:2]),
        Cell("around AutoDependency", names, _asked(auto), sizes=SIZES[1:2]),
        Cell("around logistic regression", names, _asked(LogisticRegression())),
        Cell("around a transducer", spellings, _asked(SequenceTransducer(max_chunk=2)),
             sizes=SIZES[1:2]),
    ]  # fmt: skip


def _controlled() -> list[Cell]:
    edits = Cell("words, expected edits", words, _asked(STRINGS, loss="edit"))
    return [
        *([edits] if find_spec("rapidfuzz") else []),
        Cell("label sets, expected F1 loss", label_sets,
             _asked(TAGS, loss="f1", kind="candidates")),
        Cell("label sets, expected Hamming loss", label_sets,
             _asked(TAGS, loss="hamming", kind="candidates")),
    ]  # fmt: skip


def trial(cell: Cell, n: int, seed: int) -> tuple[float, float]:
    """Return the level that was stated, and one minus the loss on a row of a new group."""
    rng = np.random.default_rng(seed)
    X, y, groups = cell.draw(rng, n)
    labels = np.arange(len(X)) if groups is None else groups
    train, test = (
        np.flatnonzero(labels < labels[-1]),
        rng.choice(np.flatnonzero(labels == labels[-1])),
    )
    own = None if groups is None else groups[train]
    np.random.seed(seed)  # noqa: NPY002 — sets and maps without a seed draw from here
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cell.sets.fit(_rows(X, train), _rows(y, train), own)
    level = cell.sets.proven_coverage_
    if np.isnan(level) and not any("is NaN" in str(one.message) for one in caught):
        raise AssertionError(f"{cell.name} states no level and does not say why")
    return level, 1.0 - float(cell.sets.losses(_rows(X, [test]), _rows(y, [test]))[0])


def _rows(items: Any, index: Any) -> Any:
    return [items[i] for i in index] if isinstance(items, list) else items[index]


def p_value(levels: np.ndarray, hits: np.ndarray) -> float:
    """Return how likely so few hits are where the stated level holds."""
    if set(np.unique(hits)) <= {0.0, 1.0}:
        return float(binom.cdf(round(hits.sum()), len(hits), levels.mean()))
    spread = max(float(hits.std(ddof=1)), 1e-12) / np.sqrt(len(hits))
    return float(norm.cdf((hits.mean() - levels.mean()) / spread))


def claims(levels: np.ndarray, hits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return levels and hits where a repeat that states no level claims nothing, and cannot miss.

    That is what the theorem of risk control bounds: the loss times whether the bound was reached.
    """
    silent = np.isnan(levels)
    if silent.mean() > MOST_SILENT:
        return levels, hits
    return np.where(silent, ASKED, levels), np.where(silent, 1.0, hits)


def some_trials(number: int, n: int, seeds: list[int]) -> list[tuple[float, float]]:
    """Run some repeats of one cell, in a separate process."""
    cell = cells()[number]
    return [trial(cell, n, seed) for seed in seeds]


def run(
    folder: Path, console: Any, quick: bool = False, jobs: int = 1, repeats: int | None = None
) -> Report:
    """Report every cell at every size; the one-sided test is Bonferroni's over all of them."""
    repeats = repeats or (4 if quick else REPEATS)
    every = [(i, cell, n) for i, cell in enumerate(cells()) for n in cell.sizes]
    every = [one for one in every if not quick or one[2] == one[1].sizes[0]]
    report, broken = Report("guarantees", wide=True, baseline=""), []
    chunks = [list(range(a, min(a + CHUNK, repeats))) for a in range(0, repeats, CHUNK)]
    tasks = [delayed(some_trials)(i, n, seeds) for i, _, n in every for seeds in chunks]
    done = Parallel(jobs, return_as="generator")(tasks)
    done = iter(track(done, "repeats", len(tasks), console=console, transient=True))
    for _, cell, n in every:
        found = np.array([one for _ in chunks for one in next(done)])
        levels, hits = claims(*found.T) if cell.stated else found.T
        report.add(cell.name, f"n = {n}", "met", scores=[float(hits.mean())])
        report.add(cell.name, f"n = {n}", "stated", scores=[float(levels.mean())])
        if np.isnan(levels).any() != (not cell.stated):
            broken.append(f"{cell.name}, n = {n}: a level is stated or missing against expectation")
        elif cell.stated and p_value(levels, hits) < SIGNIFICANCE / len(every):
            broken.append(
                f"{cell.name}, n = {n}: met {hits.mean():.3f}, stated {levels.mean():.3f}"
            )
    report.notes.append(
        f"Sets of level {ASKED:.0%}, one new group each, {repeats} repeats. "
        + (f"Broken: {'; '.join(broken)}." if broken else
           f"No cell of {len(every)} is below its level by a one-sided test at "
           f"{SIGNIFICANCE:.0%}, Bonferroni over all.")
    )  # fmt: skip
    return report
