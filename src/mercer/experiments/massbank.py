"""Identify molecules from mass spectra: the best of the known molecules of the same formula."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from sklearn.metrics import make_scorer
from sklearn.model_selection import GroupKFold

from .. import KernelDependencyCV
from ..datasets import load_massbank
from ..datasets.molecules import MassBank
from ..decoders import Candidates
from ..kernels import Fingerprint, Kernel, MassSpectrum, Normalized
from ..metrics import exact_match
from .report import Report

ALPHAS = (0.03, 0.1, 0.3)
KINDS = ("morgan", "functions", "pairs", "torsions", "paths", "maccs")
FOLDS = 5


def input_kernel() -> Kernel:
    """The mean overlap of peaks, of neutral losses and of differences between peaks."""
    sides = ("peaks", "losses", "differences")
    parts = [Normalized(MassSpectrum(0.008, power=0.25, of=side)) for side in sides]
    return (1.0 / len(parts)) * sum(parts)  # type: ignore[arg-type, return-value]


def output_kernel() -> Kernel:
    """The mean min/max similarity over all kinds of fingerprint."""
    parts = [Fingerprint(kind, radius=3 if kind == "paths" else 2) for kind in KINDS]
    return (1.0 / len(parts)) * sum(parts)  # type: ignore[arg-type, return-value]


def run(folder: Path, console: Any, quick: bool = False) -> Report:
    """Top-1 over same-formula candidates, five folds by formula; alpha by leave-formula-out."""
    data = load_massbank()
    n = 400 if quick else len(data.spectra)
    spectra, molecules, formulas = (part[:n] for part in data[:3])
    hard = np.array([len(data.pool[formula]) > 1 for formula in formulas])
    folds = GroupKFold(FOLDS, shuffle=True, random_state=0).split(spectra, groups=formulas)
    hits: dict[str, list[float]] = {"chance": [], "nearest spectrum": [], "mercer": []}
    top5, chosen, start = [], [], time.perf_counter()
    for train, test in track(list(folds), "fitting", console=console, transient=True):
        test = test[hard[test]]
        model = fitted(data, spectra[train], molecules[train], formulas[train])
        chosen.append(model.alpha_)
        ranked = model.predict_top(spectra[test], 5)
        truth = molecules[test]
        found = [[y for y, _ in row] for row in ranked]
        hits["mercer"] += [row[0] == y for row, y in zip(found, truth, strict=True)]
        top5 += [y in row for row, y in zip(found, truth, strict=True)]
        hits["chance"] += [1.0 / len(data.pool[formula]) for formula in formulas[test]]
        nearest = molecules[train][
            model.input_kernel_(spectra[test], spectra[train]).argmax(axis=1)
        ]
        hits["nearest spectrum"] += _most_similar(data, nearest, formulas[test], truth)
    report = Report("massbank")
    setting = f"{FOLDS} folds by formula, {len(hits['mercer'])} spectra"
    for method, values in hits.items():
        seconds = time.perf_counter() - start if method == "mercer" else None
        report.add(method, setting, "top-1", float(np.mean(values)), seconds=seconds)
    report.add("mercer", setting, "top-5", float(np.mean(top5)))
    report.notes.append(
        "Candidates are all molecules of the pool with the formula of the spectrum, where there "
        "are at least two; folds never share a formula, so that no candidate was trained on. "
        f"Alpha by closed-form leave-formula-out on decoded predictions: {chosen}."
    )
    return report


def fitted(data: MassBank, X: Any, y: Any, groups: Any) -> KernelDependencyCV:
    """A model with alpha chosen on decoded left-out predictions, whole formulas left out."""
    return KernelDependencyCV(
        input_kernel(),
        output_kernel(),
        alphas=ALPHAS,
        scoring=make_scorer(exact_match),
        decoder=Candidates(lambda spectrum: data.pool[spectrum.formula]),
    ).fit(X, y, groups=groups)


def _most_similar(data: MassBank, nearest: Any, formulas: Any, truth: Any) -> list[bool]:
    """Whether the candidate most like the molecule of the nearest spectrum is the true one."""
    kernel = output_kernel()
    pools = [data.pool[formula] for formula in formulas]
    best = [pool[int(kernel([y], pool).argmax())] for y, pool in zip(nearest, pools, strict=True)]
    return [a == b for a, b in zip(best, truth, strict=True)]
