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
    """One kind of prediction set on one kind of simulated data, a row of the table.

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
    """Draw pairs of two numbers, with noise that grows with the first input."""
    X = rng.normal(size=(n + 1, 2))
    noise = 0.1 + 0.4 * (X[:, :1] > 0)
    return X, np.sin(2 * X) + noise * rng.normal(size=(n + 1, 2)), None


def subjects(rng: np.random.Generator, n: int) -> Pairs:
    """Draw two to four pairs for each subject, which share an offset."""
    number = n // 3 + 2
    groups = np.repeat(np.arange(number), rng.integers(2, 5, size=number))
    X, Y, _ = vectors(rng, len(groups) - 1)
    return X, Y + 0.5 * rng.normal(size=(number, 1))[groups], groups


def repeated(rng: np.random.Generator, n: int) -> Pairs:
    """Draw pairs whose outputs have only nine distinct values."""
    X, Y, _ = vectors(rng, n)
    return X, np.clip(np.round(Y), -1, 1), None


def rankings(rng: np.random.Generator, n: int) -> Pairs:
    """Draw pairs whose outputs are rankings of four labels."""
    X = rng.normal(size=(n + 1, 3))
    W = np.random.default_rng(0).normal(size=(3, 4))
    return X, np.argsort(np.argsort(X @ W + rng.normal(size=(n + 1, 4)))), None


def label_sets(rng: np.random.Generator, n: int) -> Pairs:
    """Draw pairs whose outputs are sets of five labels."""
    X = rng.normal(size=(n + 1, 3))
    W = np.random.default_rng(0).normal(size=(3, 5))
    return X, (X @ W + rng.normal(size=(n + 1, 5)) > 0.3).astype(int), None


def words(rng: np.random.Generator, n: int) -> Pairs:
    """Draw pairs whose outputs are words of two to four letters, some of them unseen."""
    X = rng.normal(size=(n + 1, 2))
    return X, ["".join(rng.choice(list("ab"), size=rng.integers(2, 5))) for _ in X], None


def names(rng: np.random.Generator, n: int) -> Pairs:
    """Draw pairs whose outputs are one of three classes."""
    X = rng.normal(size=(n + 1, 2))
    places = np.digitize(X[:, 0] + rng.normal(size=n + 1), [-1, 1])
    return X, np.array(["a", "b", "c"])[places], None


def curves(rng: np.random.Generator, n: int) -> Pairs:
    """Draw pairs whose outputs are curves with noise that depends on input and position."""
    t, X = np.linspace(0, 1, 11), rng.uniform(-1, 1, size=(n + 1, 1))
    noise = np.exp(X) * (0.1 + t) * rng.normal(size=(n + 1, 1)) + 0.1 * rng.normal(size=(n + 1, 11))
    return X, np.sin(3 * (t + X)) + 0.3 * noise, None


def ranked_subjects(rng: np.random.Generator, n: int) -> Pairs:
    """Draw three rankings of four labels for each subject, which share an offset."""
    number = n // 3 + 2
    groups = np.repeat(np.arange(number), 3)
    X = rng.normal(size=(len(groups), 3))
    taste = rng.normal(size=(number, 4))[groups]
    W = np.random.default_rng(0).normal(size=(3, 4))
    scores = X @ W + taste + 0.5 * rng.normal(size=taste.shape)
    return X, np.argsort(np.argsort(scores)), groups


def spellings(rng: np.random.Generator, n: int) -> Pairs:
    """Draw words, and their spellings in capitals, in which one letter has two spellings."""
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
QUANTILES = {"kind": "intervals", "scale": "quantile"}
LOCAL = KernelDependency(Local(RBF(1.0), width=1.0), alpha=0.3)


def _listed_words(x: np.ndarray) -> list[str]:
    """Return the candidate words of an input: all words, or all but one."""
    return WORDS if x[0] > 0 else WORDS[1:]


LISTED = KernelDependency(RBF(1.0), Spectrum(2), decoder=Candidates(_listed_words))


def _sets(model: Any, *more: Any, **named: Any) -> ConformalSets:
    """Return unfitted prediction sets of the requested level around a model."""
    return ConformalSets(model, ASKED, *more, **{"random_state": None, **named})


def _positive(X: np.ndarray) -> np.ndarray:
    """Return whether the first number of each input is positive, as category."""
    return X[:, 0] > 0


def _equal_weights(X: np.ndarray) -> np.ndarray:
    """Return the weight one for each input, as weights of a covariate shift."""
    return np.ones(len(X))


def _with_features(features: Any) -> KernelDependency:
    """Return an RBF model with the given feature map."""
    return KernelDependency(RBF(1.0), features=features)


def table_cells() -> list[Cell]:
    """Return each combination of prediction sets and data in the table."""
    return [
        *_ball_cells(),
        *_ellipsoid_cells(),
        *_band_cells(),
        *_list_cells(),
        *_wrapper_cells(),
        *_risk_control_cells(),
    ]


def _ball_cells() -> list[Cell]:
    """Return the table rows on balls around vectors."""
    plus, by_covariance = "jackknife+", KernelDependency(RBF() * Covariance())
    conditional = KernelDependency(RBF() * ConditionalCovariance())
    median = KernelDependency(RBF("median"))
    return [
        Cell("balls, split", vectors, _sets(GIVEN)),
        Cell("balls, split, chosen", vectors, _sets(CHOSEN)),
        Cell("balls, split, covariance", vectors, _sets(by_covariance)),
        Cell("balls, split, unseeded map", vectors, _sets(_with_features(Nystroem(8)))),
        Cell("balls, split, by subject", subjects, _sets(GIVEN)),
        Cell("balls, split, by category", vectors, _sets(GIVEN, by=_positive)),
        Cell("balls, split, shift", vectors, _sets(GIVEN, shift=_equal_weights)),
        Cell("balls, split, posterior scale", vectors, _sets(GIVEN, scale="posterior")),
        Cell("balls, split, residual scale", vectors, _sets(GIVEN, scale="residual")),
        Cell("balls, jackknife+", vectors, _sets(GIVEN, plus)),
        Cell("balls, jackknife+, coupled", vectors, _sets(COUPLED, plus)),
        Cell("balls, jackknife+, by subject", subjects, _sets(GIVEN, plus)),
        Cell("balls, jackknife+, posterior scale", vectors,
             _sets(COUPLED, plus, scale="posterior")),
        Cell("balls, jackknife+, unseeded map", vectors,
             _sets(_with_features(RandomFourier(8)), plus)),
        Cell("balls, jackknife+, landmarks", vectors,
             _sets(_with_features(Nystroem(8)), plus), False),
        Cell("balls, jackknife+, chosen", vectors, _sets(CHOSEN, plus), False),
        Cell("balls, jackknife+, covariance", vectors, _sets(by_covariance, plus), False),
        Cell("balls, jackknife+, conditional covariance", vectors,
             _sets(conditional, plus), False),
        Cell("balls, jackknife+, median", vectors, _sets(median, plus), False),
        Cell("balls, jackknife+, residual scale", vectors,
             _sets(GIVEN, plus, scale="residual"), False),
        Cell("balls, split, decoder of candidates", vectors, _sets(DECODED)),
        Cell("balls, jackknife+, local kernel", vectors, _sets(LOCAL, plus)),
        Cell("balls, jackknife+, local kernel, median", vectors,
             _sets(KernelDependency(Local(width=1.0)), plus), False),
    ]  # fmt: skip


def _ellipsoid_cells() -> list[Cell]:
    """Return the table rows on ellipsoids around vectors."""
    around = {"kind": "ellipsoid"}
    return [
        Cell("ellipsoids, split", vectors, _sets(GIVEN, **around)),
        Cell("ellipsoids, split, by subject", subjects, _sets(GIVEN, **around)),
        Cell("ellipsoids, split, by category", vectors, _sets(GIVEN, by=_positive, **around)),
        Cell("ellipsoids, split, shift", vectors, _sets(GIVEN, shift=_equal_weights, **around)),
        Cell("ellipsoids, split, posterior scale", vectors,
             _sets(GIVEN, scale="posterior", **around)),
        Cell("ellipsoids, split, residual scale", subjects,
             _sets(GIVEN, scale="residual", **around), sizes=SIZES[1:2]),
        Cell("ellipsoids around ridge regression", curves, _sets(Ridge(), **around)),
    ]  # fmt: skip


def _band_cells() -> list[Cell]:
    """Return the table rows on bands around vectors and curves."""
    plus = "jackknife+"
    return [
        Cell("bands, split", vectors, _sets(GIVEN, kind="band")),
        Cell("bands, split, by subject", subjects, _sets(GIVEN, kind="band")),
        Cell("curves, split, posterior scale", curves,
             _sets(CURVES, kind="band", scale="posterior")),
        Cell("curves, split, residual scale", curves,
             _sets(CURVES, kind="band", scale="residual")),
        Cell("curves, split, residual scale, by subject", subjects,
             _sets(GIVEN, kind="band", scale="residual")),
        Cell("intervals of quantiles, split", vectors, _sets(GIVEN, **QUANTILES), sizes=SIZES[:2]),
        Cell("intervals of quantiles, split, by subject", subjects,
             _sets(GIVEN, **QUANTILES), sizes=SIZES[1:2]),
        Cell("flat bands, jackknife+", vectors, _sets(GIVEN, plus, kind="band", scale="flat")),
        Cell("flat curves, jackknife+", curves, _sets(CURVES, plus, kind="band", scale="flat")),
        Cell("flat bands, jackknife+, by subject", subjects,
             _sets(GIVEN, plus, kind="band", scale="flat")),
        Cell("bands, jackknife+, posterior scale", vectors,
             _sets(COUPLED, plus, kind="band", scale="posterior")),
        Cell("bands, jackknife+, posterior scale, by subject", subjects,
             _sets(COUPLED, plus, kind="band", scale="posterior")),
        Cell("bands, jackknife+", vectors, _sets(GIVEN, plus, "band"), False),
    ]  # fmt: skip


def _list_cells() -> list[Cell]:
    """Return the table rows on lists of candidates, such as rankings and words."""
    plus, listed = "jackknife+", {"kind": "candidates"}
    return [
        Cell("repeated outputs, split", repeated, _sets(GIVEN, **listed)),
        Cell("repeated outputs, jackknife+", repeated,
             _sets(GIVEN, plus, candidates=NINE, **listed)),
        Cell("repeated outputs, own pool, jackknife+", repeated,
             _sets(GIVEN, plus, **listed), False),
        Cell("vectors outside the pool, split", vectors, _sets(GIVEN, **listed)),
        Cell("rankings, split", rankings, _sets(RANKS)),
        Cell("rankings, split, by subject", ranked_subjects, _sets(RANKS)),
        Cell("rankings, jackknife+", rankings, _sets(RANKS, plus)),
        Cell("rankings, jackknife+, by subject", ranked_subjects, _sets(RANKS, plus)),
        Cell("label sets, split", label_sets, _sets(TAGS, **listed)),
        Cell("label sets, jackknife+", label_sets, _sets(TAGS, plus, **listed)),
        Cell("words, split", words, _sets(STRINGS, candidates=WORDS)),
        Cell("words, jackknife+", words, _sets(STRINGS, plus, candidates=WORDS)),
        Cell("words, lists of each input, split", words, _sets(LISTED)),
        Cell("words outside the pool, split", words, _sets(STRINGS)),
        Cell("words outside the pool, jackknife+", words, _sets(STRINGS, plus), False),
        Cell("classes, by class", names, _sets(LogisticRegression(), by="class")),
    ]  # fmt: skip


def _wrapper_cells() -> list[Cell]:
    """Return the table rows on prediction sets around other estimators, such as forests."""
    piped = make_pipeline(StandardScaler(), GIVEN)
    search = GridSearchCV(KernelDependency(RBF(1.0)), {"alpha": [0.1, 1.0]}, cv=3)
    forest = ForestDependency(n_trees=8)
    blend = Blend([GIVEN, forest])
    auto = AutoDependency(time_limit=0.2)
    return [
        Cell("around ridge regression", vectors, _sets(Ridge())),
        Cell("around a random forest", curves,
             _sets(RandomForestRegressor(5), kind="band"), sizes=SIZES[1:2]),
        Cell("around a pipeline", vectors, _sets(piped)),
        Cell("around a search", vectors, _sets(search), sizes=SIZES[1:2]),
        Cell("around a forest", vectors, _sets(forest), sizes=SIZES[1:2]),
        Cell("around a blend", vectors, _sets(blend), sizes=SIZES[1:2]),
        Cell("around AutoDependency", names, _sets(auto), sizes=SIZES[1:2]),
        Cell("around logistic regression", names, _sets(LogisticRegression())),
        Cell("around a transducer", spellings, _sets(SequenceTransducer(max_chunk=2)),
             sizes=SIZES[1:2]),
    ]  # fmt: skip


def _risk_control_cells() -> list[Cell]:
    """Return the table rows on lists whose expected loss is bounded."""
    edits = Cell("words, expected edits", words, _sets(STRINGS, loss="edit"))
    return [
        *([edits] if find_spec("rapidfuzz") else []),
        Cell("label sets, expected F1 loss", label_sets,
             _sets(TAGS, loss="f1", kind="candidates")),
        Cell("label sets, expected Hamming loss", label_sets,
             _sets(TAGS, loss="hamming", kind="candidates")),
    ]  # fmt: skip


def trial(cell: Cell, n: int, seed: int) -> tuple[float, float]:
    """Return the stated level, and one minus the loss on a row of a new group."""
    rng = np.random.default_rng(seed)
    X, y, groups = cell.draw(rng, n)
    labels = np.arange(len(X)) if groups is None else groups
    train, test = (
        np.flatnonzero(labels < labels[-1]),
        rng.choice(np.flatnonzero(labels == labels[-1])),
    )
    train_groups = None if groups is None else groups[train]
    np.random.seed(seed)  # noqa: NPY002 — sets and maps without a seed draw from here
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cell.sets.fit(_take_rows(X, train), _take_rows(y, train), train_groups)
    level = cell.sets.proven_coverage_
    if np.isnan(level) and not any("is NaN" in str(one.message) for one in caught):
        raise AssertionError(f"{cell.name} states no level and does not say why")
    return level, 1.0 - float(cell.sets.losses(_take_rows(X, [test]), _take_rows(y, [test]))[0])


def _take_rows(items: Any, index: Any) -> Any:
    """Return the items at the indices `index` of a list or an array."""
    return [items[i] for i in index] if isinstance(items, list) else items[index]


def p_value(levels: np.ndarray, hits: np.ndarray) -> float:
    """Return the probability of so few hits if the stated levels hold."""
    if set(np.unique(hits)) <= {0.0, 1.0}:
        return float(binom.cdf(round(hits.sum()), len(hits), levels.mean()))
    spread = max(float(hits.std(ddof=1)), 1e-12) / np.sqrt(len(hits))
    return float(norm.cdf((hits.mean() - levels.mean()) / spread))


def fill_unstated_levels(levels: np.ndarray, hits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Replace missing levels by the requested one, with a hit; unless nearly all are missing.

    That is what the theorem of risk control bounds: the loss times whether the bound was reached.
    """
    silent = np.isnan(levels)
    if silent.mean() > MOST_SILENT:
        return levels, hits
    return np.where(silent, ASKED, levels), np.where(silent, 1.0, hits)


def run_trials(number: int, n: int, seeds: list[int]) -> list[tuple[float, float]]:
    """Run the trials of the cell of index `number`, one for each seed."""
    cell = table_cells()[number]
    return [trial(cell, n, seed) for seed in seeds]


def run(
    folder: Path, console: Any, quick: bool = False, jobs: int = 1, repeats: int | None = None
) -> Report:
    """Report the stated and the reached level of each kind of set at each sample size."""
    repeats = repeats or (4 if quick else REPEATS)
    combinations = [(i, cell, n) for i, cell in enumerate(table_cells()) for n in cell.sizes]
    combinations = [one for one in combinations if not quick or one[2] == one[1].sizes[0]]
    report, broken = Report("guarantees", wide=True, baseline=""), []
    chunks = [list(range(a, min(a + CHUNK, repeats))) for a in range(0, repeats, CHUNK)]
    tasks = [delayed(run_trials)(i, n, seeds) for i, _, n in combinations for seeds in chunks]
    done = Parallel(jobs, return_as="generator")(tasks)
    done = iter(track(done, "repeats", len(tasks), console=console, transient=True))
    for _, cell, n in combinations:
        results = np.array([one for _ in chunks for one in next(done)])
        levels, hits = fill_unstated_levels(*results.T) if cell.stated else results.T
        report.add(cell.name, f"n = {n}", "met", scores=[float(hits.mean())])
        report.add(cell.name, f"n = {n}", "stated", scores=[float(levels.mean())])
        if np.isnan(levels).any() != (not cell.stated):
            broken.append(f"{cell.name}, n = {n}: a level is stated or missing against expectation")
        elif cell.stated and p_value(levels, hits) < SIGNIFICANCE / len(combinations):
            broken.append(
                f"{cell.name}, n = {n}: met {hits.mean():.3f}, stated {levels.mean():.3f}"
            )
    report.notes.append(
        f"Sets of level {ASKED:.0%}, one new group each, {repeats} repeats. "
        + (f"Broken: {'; '.join(broken)}." if broken else
           f"No cell of {len(combinations)} is below its level by a one-sided test at "
           f"{SIGNIFICANCE:.0%}, Bonferroni over all.")
    )  # fmt: skip
    return report
