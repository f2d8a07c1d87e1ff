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
from mercer.datasets._files import find_file
from mercer.kernels import RBF, Labels, Tanimoto
from mercer.sets.lists import CandidateScore, RankedScore
from mercer.sets.risk import NAMED_LOSSES, controlled_radius, loss_steps, risk_at
from mercer.sets.row_weights import row_weights
from mercer.sets.views import RankedView

from .report import Report

BOUND = 0.1
SPLITS = 200
CALIBRATION = 500
"""Pairs that determine the radius; the rest of those held out are tested."""


@dataclass(frozen=True)
class HeldOut:
    """A fitted model, the pairs that it was not fitted to, and the losses to be bounded."""

    model: Any
    X: Items
    y: Items
    losses: tuple[str, ...]


def bibtex(quick: bool) -> HeldOut:
    """Fit tags to the words of texts, and return the model with the test texts."""
    data = load_bibtex()
    X, Y = data.X_train, np.asarray(data.y_train.todense()).astype(int)
    X_new, Y_new = data.X_test, np.asarray(data.y_test.todense()).astype(int)
    if quick:
        rows = np.arange(400)
        X, Y, X_new, Y_new = take(X, rows), Y[rows], take(X_new, rows), Y_new[rows]
    model = KernelDependencyCV(Tanimoto(), Labels()).fit(X, Y)
    return HeldOut(model, X_new, Y_new, ("f1", "hamming"))


def yeast(quick: bool) -> HeldOut:
    """Fit functions of genes to their expression, and return the model with held-out genes."""
    data, halves = np.load(find_file("label_sets_more/label_sets_more.npz")), ("train", "test")
    X, Y = (np.concatenate([data[f"yeast_{n}_{half}"] for half in halves]) for n in "XY")
    order = np.random.default_rng(0).permutation(len(X))
    X, Y = X[order], Y[order].astype(int)
    cut, end = (300, 900) if quick else (1200, len(X))
    scale = float(np.sqrt(X.var(axis=0).sum()))
    model = KernelDependencyCV([RBF(c * scale) for c in (0.7, 1.0, 1.4)], Labels())
    return HeldOut(model.fit(X[:cut], Y[:cut]), X[cut:end], Y[cut:end], ("f1", "hamming"))


def cmudict(quick: bool) -> HeldOut:
    """Fit pronunciations to spellings, and return the model with held-out words."""
    words, sounds = load_cmudict()[:2]
    order = np.random.default_rng(0).permutation(len(words))
    cut, end = (500, 900) if quick else (5000, 7000)
    train, new = order[:cut], order[cut:end]
    model = SequenceTransducer(unalignable="skip")
    model.fit([words[i] for i in train], [sounds[i] for i in train])
    return HeldOut(model, [words[i] for i in new], [sounds[i] for i in new], ("edit",))


SETS: dict[str, Callable[[bool], HeldOut]] = {"Bibtex": bibtex, "yeast": yeast, "CMUdict": cmudict}


def test_splits(name: str, quick: bool, repeats: int) -> dict[str, np.ndarray]:
    """Return the test loss, list length and success of calibration, by loss and split."""
    held_out, results = SETS[name](quick), {}
    score: Any
    if isinstance(held_out.model, SequenceTransducer):
        view = RankedView.of_outputs(held_out.model, held_out.y)
        points, score, y = (
            view.embed(held_out.X),
            RankedScore(view.output_kernel_.space),
            held_out.y,
        )
    else:
        kernel, points = held_out.model.output_kernel_, held_out.model.embed(held_out.X)
        score, y = CandidateScore(kernel, held_out.model.outputs_), kernel.as_outputs(held_out.y)
    for loss in held_out.losses:
        steps = loss_steps(score, points, y, NAMED_LOSSES[loss])
        results[loss] = np.array(
            [_test_split(steps, count(held_out.y), seed) for seed in range(repeats)]
        )
    return results


def _test_split(steps: list, n: int, seed: int) -> tuple[float, float, float]:
    """Return mean loss and length of lists on test pairs, and whether the loss could be bounded."""
    order = np.random.default_rng(seed).permutation(n)
    calibration_rows, test_rows = np.split(order, [min(CALIBRATION, n // 2)])
    weights = row_weights(np.arange(len(calibration_rows)))
    radius = controlled_radius([steps[i] for i in calibration_rows], weights, BOUND)
    tested = [steps[i] for i in test_rows]
    lengths = [np.searchsorted(gaps, radius, side="right") for gaps, _ in tested]
    return float(risk_at(tested, radius).mean()), float(np.mean(lengths)), np.isfinite(radius)


def run(
    folder: Path, console: Any, quick: bool = False, jobs: int = 1, repeats: int | None = None
) -> Report:
    """Report the loss of calibrated lists on 200 splits of the held-out pairs."""
    repeats = repeats or (10 if quick else SPLITS)
    tasks = [delayed(test_splits)(name, quick, repeats) for name in SETS]
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
