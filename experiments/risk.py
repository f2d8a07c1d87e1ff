"""Whether the expected loss of lists stays under the requested bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from rich.progress import track

from mercer import KernelDependencyCV, SequenceTransducer
from mercer._base.arrays import Items, count, take
from mercer.datasets import load_bibtex, load_cmudict
from mercer.datasets._files import find
from mercer.kernels import RBF, Labels, Tanimoto
from mercer.sets.lists import CandidateScore, RankedScore
from mercer.sets.risk import LOSSES, controlled_radius, loss_steps, risk_at
from mercer.sets.views import RankedView
from mercer.sets.weights import row_weights

from .report import Report

BOUND = 0.1
SPLITS = 200
CALIBRATION = 500
"""Pairs that determine the radius; the rest of those held out are tested."""


@dataclass(frozen=True)
class Held:
    """A fitted model, the pairs it has not seen, and the losses that are to be bounded."""

    model: Any
    X: Items
    y: Items
    losses: tuple[str, ...]


def bibtex(quick: bool) -> Held:
    """Return sets of tags from the words of a text, the lists out of the training sets."""
    data = load_bibtex()
    X, Y = data.X_train, np.asarray(data.y_train.todense()).astype(int)
    X_new, Y_new = data.X_test, np.asarray(data.y_test.todense()).astype(int)
    if quick:
        rows = np.arange(400)
        X, Y, X_new, Y_new = take(X, rows), Y[rows], take(X_new, rows), Y_new[rows]
    model = KernelDependencyCV(Tanimoto(), Labels()).fit(X, Y)
    return Held(model, X_new, Y_new, ("f1", "hamming"))


def yeast(quick: bool) -> Held:
    """Return functions of genes from their expression."""
    data, halves = np.load(find("label_sets_more/label_sets_more.npz")), ("train", "test")
    X, Y = (np.concatenate([data[f"yeast_{n}_{half}"] for half in halves]) for n in "XY")
    order = np.random.default_rng(0).permutation(len(X))
    X, Y = X[order], Y[order].astype(int)
    cut, end = (300, 900) if quick else (1200, len(X))
    scale = float(np.sqrt(X.var(axis=0).sum()))
    model = KernelDependencyCV([RBF(c * scale) for c in (0.7, 1.0, 1.4)], Labels())
    return Held(model.fit(X[:cut], Y[:cut]), X[cut:end], Y[cut:end], ("f1", "hamming"))


def cmudict(quick: bool) -> Held:
    """Return how words are said, from how they are spelt."""
    words, sounds = load_cmudict()[:2]
    order = np.random.default_rng(0).permutation(len(words))
    cut, end = (500, 900) if quick else (5000, 7000)
    train, new = order[:cut], order[cut:end]
    model = SequenceTransducer(unalignable="skip")
    model.fit([words[i] for i in train], [sounds[i] for i in train])
    return Held(model, [words[i] for i in new], [sounds[i] for i in new], ("edit",))


SETS: dict[str, Callable[[bool], Held]] = {"Bibtex": bibtex, "yeast": yeast, "CMUdict": cmudict}


def splits(name: str, quick: bool, repeats: int) -> dict[str, np.ndarray]:
    """Return the mean test loss and whether the bound was reached, for each loss and split."""
    held, found = SETS[name](quick), {}
    score: Any
    if isinstance(held.model, SequenceTransducer):
        view = RankedView.of_outputs(held.model, held.y)
        points, score, y = view.embed(held.X), RankedScore(view.output_kernel_.space), held.y
    else:
        kernel, points = held.model.output_kernel_, held.model.embed(held.X)
        score, y = CandidateScore(kernel, held.model.outputs_), kernel.as_outputs(held.y)
    for loss in held.losses:
        grown = loss_steps(score, points, y, LOSSES[loss])
        found[loss] = np.array([_split(grown, count(held.y), seed) for seed in range(repeats)])
    return found


def _split(grown: list, n: int, seed: int) -> tuple[float, float, float]:
    """Return the loss and the mean length of lists on test pairs, and whether they suffice."""
    order = np.random.default_rng(seed).permutation(n)
    some, rest = np.split(order, [min(CALIBRATION, n // 2)])
    weights = row_weights(np.arange(len(some)))
    radius = controlled_radius([grown[i] for i in some], weights, BOUND)
    tested = [grown[i] for i in rest]
    lengths = [np.searchsorted(gaps, radius, side="right") for gaps, _ in tested]
    return float(risk_at(tested, radius).mean()), float(np.mean(lengths)), np.isfinite(radius)


def run(
    folder: Path, console: Any, quick: bool = False, jobs: int = 1, repeats: int | None = None
) -> Report:
    """Fit once; calibrate and test on 200 splits of the pairs that were held out."""
    repeats = repeats or (10 if quick else SPLITS)
    tasks = [delayed(splits)(name, quick, repeats) for name in SETS]
    done = Parallel(min(jobs, len(SETS)), return_as="generator")(tasks)
    done = track(done, "sets", len(SETS), console=console, transient=True)
    report = Report("risk", baseline="", lower_is_better=["expected loss", "outputs in a list"])
    for name, found in zip(SETS, done, strict=True):
        for loss, rows in found.items():
            report.add(loss, name, "expected loss", scores=rows[:, 0].tolist())
            report.add(loss, name, "outputs in a list", scores=rows[:, 1].tolist())
            report.add(loss, name, "bound reached", scores=[float(rows[:, 2].mean())])
    report.notes.append(
        f"Lists whose best output is to have an expected loss of at most {BOUND:.0%}: one minus "
        f"F1, Hamming loss, edits over the longer length. One fit; {repeats} random splits of the "
        f"pairs held out into {CALIBRATION} (or half) that calibrate and the rest to test on. "
        "Where the bound is reached a level is stated; else it is NaN, with a warning."
    )
    return report
