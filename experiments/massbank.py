"""Identify molecules from mass spectra: the best of the known molecules of the same formula."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.progress import track
from sklearn.model_selection import GroupKFold

from mercer import KernelDependency, KernelDependencyCV
from mercer.datasets import load_massbank
from mercer.datasets.molecules import MassBank
from mercer.decoders import Candidates
from mercer.kernels import Fingerprint, Kernel, MassSpectrum, Normalized, Precomputed
from mercer.kernels.fingerprint import FINGERPRINTS
from mercer.operators import as_operator_kernel
from mercer.problem import Problem, Side, Want
from mercer.solvers import factor

from .report import Report

ALPHAS = (0.03, 0.1, 0.3)
MIXTURES = (("peaks", "losses"), ("peaks", "losses", "differences"))
BACKWARD = (0.3, 1.0, 3.0)
"""Ridges of the model that predicts spectra of molecules."""
OTHER_WAY = "mercer, spectra of the candidates"
LEFT_IN = ", candidates left in"
"""Added to the name of a model that ranks lists some of whose members it was trained on."""
FOLDS = 5


def spectrum_kernel(of: str) -> Kernel:
    """Return the cosine kernel of peaks, of neutral losses, or of differences between peaks."""
    return Normalized(MassSpectrum(0.008, power=0.25, of=of))


def molecule_kernel(kind: str) -> Kernel:
    """Return the min/max kernel of one kind of fingerprint."""
    return Fingerprint(kind, radius=3 if kind == "paths" else 2)


class Task(NamedTuple):
    """Gram matrices of spectra and molecules, with true and candidate molecules as indices.

    Attributes
    ----------
    inputs
        The Gram matrix of the spectra, by mixture of what is compared.
    outputs
        The Gram matrix of the molecules: the mean over all kinds of fingerprint.
    truth
        The number of the molecule of each spectrum.
    candidates
        The numbers of all molecules of its formula.
    """

    inputs: dict[str, np.ndarray]
    outputs: np.ndarray
    truth: np.ndarray
    candidates: Callable[[int], list[int]]


def make_task(data: MassBank, step: Callable[[Any], Any] = iter) -> Task:
    """Return a `Task` with the Gram matrices of the spectra and of all molecules."""
    pools = [data.pool[formula] for formula in data.formulas]
    number = {y: i for i, y in enumerate(dict.fromkeys(y for pool in pools for y in pool))}
    parts = {of: spectrum_kernel(of)(data.spectra) for of in step(MIXTURES[-1])}
    mixed = {" + ".join(m): sum(parts[of] for of in m) / len(m) for m in MIXTURES}
    molecules = list(number)
    outputs = sum(molecule_kernel(kind)(molecules) for kind in step(FINGERPRINTS)) / len(
        FINGERPRINTS
    )
    truth = np.array([number[y] for y in data.molecules])
    return Task(mixed, outputs, truth, lambda x: [number[y] for y in pools[x]])


def choose_mixture(task: Task, train: np.ndarray, formulas: np.ndarray) -> tuple[str, float, float]:
    """Return the mixture of kernels and the ridge with the best left-out top-1, and its score."""
    labels = np.unique(formulas[train].astype(str), return_inverse=True)[1]
    outputs, truth = Precomputed(task.outputs), task.truth[train]
    decoder = Candidates(task.candidates).fit(outputs, truth)
    trials = []
    for mixture, gram in task.inputs.items():
        kernel = as_operator_kernel(Precomputed(gram))
        sides = Side(kernel.inputs, train), Side(outputs, truth)
        problem = Problem(*sides, kernel, labels=labels, given=train)
        left_out = factor(problem, Want(ALPHAS, left_out=True)).left_out(ALPHAS)
        for trial in left_out:
            hits = float(np.mean(decoder.decode(trial.embed()) == truth))
            trials.append((hits, mixture, trial.alpha))
    score, mixture, alpha = max(trials, key=lambda trial: trial[0])
    return mixture, alpha, score


def run(folder: Path, console: Any, quick: bool = False) -> Report:
    """Report top-1 among candidates of the same formula, in folds by formula and compound."""
    data = load_massbank()
    n = 150 if quick else len(data.spectra)
    spectra, molecules, formulas = (part[:n] for part in data[:3])
    data = MassBank(spectra, molecules, formulas, data.pool)
    start = time.perf_counter()
    task = make_task(data, lambda it: track(it, "Gram matrices", console=console, transient=True))
    report, choices = Report("massbank"), []
    for unit, groups in (("formula", data.formulas), ("compound", task.truth)):
        setting = f"{FOLDS} folds by {unit}"
        with console.status(setting):
            hits, chosen_by_fold = cross_validate(task, groups, data.formulas)
        choices.append(f"by {unit}: {'; '.join(chosen_by_fold)}")
        for (method, metric), lists in hits.items():
            mean = float(np.mean(np.concatenate(lists)))
            std = float(np.std([np.mean(values) for values in lists]))
            total = sum(map(len, lists))
            first = (unit, method, metric) == ("formula", "mercer", "top-1")
            seconds = time.perf_counter() - start if first else None
            report.add(method, f"{setting}, {total} spectra", metric, mean, std, seconds=seconds)
    report.notes.append(
        "Candidates are all molecules of the pool with the formula of the spectrum; lists of one "
        "do not count. Folds by formula share no formula, so that no candidate was trained on. "
        "Folds by compound train on other compounds of the same formula: those in a list are left "
        "out in closed form when it is ranked, and 'left in' is the whole model. 'Spectra of the "
        "candidates' predicts the spectrum of each and takes the nearest. Kernel and alpha "
        "by closed-form leave-formula-out on the decoded training predictions, fold by fold, "
        f"{'; '.join(choices)}."
    )
    return report


Hits = dict[tuple[str, str], list[float]]


def cross_validate(
    task: Task, groups: np.ndarray, formulas: np.ndarray
) -> tuple[dict[tuple[str, str], list[list[float]]], list[str]]:
    """Return the hits of every method in each fold, and the choices made in each fold."""
    has_choice = np.array([len(task.candidates(x)) > 1 for x in range(len(task.truth))])
    folds = GroupKFold(FOLDS, shuffle=True, random_state=0)
    hits: dict[tuple[str, str], list[list[float]]] = {}
    choices = []
    for train, test in folds.split(task.truth, groups=groups):
        test = test[has_choice[test]]
        mixture, alpha, _ = choose_mixture(task, train, formulas)
        back = fit_backward(task, train, formulas)
        choices.append(f"{mixture}, {alpha:g}, backward {back.alpha_:g}")
        hits_of_fold = evaluate_forward(task, train, test, mixture, alpha) | evaluate_backward(
            task, back, train, test
        )
        for name, values in hits_of_fold.items():
            hits.setdefault(name, []).append(values)
    return hits, choices


def evaluate_forward(
    task: Task, train: np.ndarray, test: np.ndarray, mixture: str, alpha: float
) -> Hits:
    """Return the hits on test spectra of mercer, of chance and of the nearest spectrum."""
    K, L = task.inputs[mixture], task.outputs
    model = KernelDependency(Precomputed(K), Precomputed(L), alpha=alpha, fit_intercept=False)
    model.fit(train, task.truth[train])
    pools, truth = [task.candidates(x) for x in test], task.truth[test]
    ranked = model.predict_top(test, 5, candidates=pools, leave_out_candidates=True)
    nearest = task.truth[train[K[np.ix_(test, train)].argmax(axis=1)]]
    likest = [pool[int(L[y, pool].argmax())] for y, pool in zip(nearest, pools, strict=True)]
    left_in: Hits = {}
    if _has_training_candidates(task, train, pools):
        whole = model.predict_top(test, 5, candidates=pools, leave_out_candidates=False)
        left_in = _hits("mercer" + LEFT_IN, whole, truth)
    return {
        **left_in,
        ("chance", "top-1"): [1.0 / len(pool) for pool in pools],
        ("nearest spectrum", "top-1"): [float(a == b) for a, b in zip(likest, truth, strict=True)],
        **_hits("mercer", ranked, truth),
    }


def evaluate_backward(
    task: Task, model: KernelDependencyCV, train: np.ndarray, test: np.ndarray
) -> Hits:
    """Return the hits of a model that predicts the spectrum of each candidate molecule."""
    pools, truth = [task.candidates(x) for x in test], task.truth[test]
    hits = _hits(OTHER_WAY, model.rank_inputs(test, pools, 5, leave_out_candidates=True), truth)
    if _has_training_candidates(task, train, pools):
        whole = model.rank_inputs(test, pools, 5, leave_out_candidates=False)
        hits |= _hits(OTHER_WAY + LEFT_IN, whole, truth)
    return hits


def _has_training_candidates(task: Task, train: np.ndarray, pools: list[list[int]]) -> bool:
    """Return whether some candidate of a test spectrum is in the training data."""
    seen = set(task.truth[train].tolist())
    return any(seen.intersection(pool) for pool in pools)


def fit_backward(task: Task, train: np.ndarray, formulas: np.ndarray) -> KernelDependencyCV:
    """Fit a model that predicts spectra from molecules, its ridge by leave-formula-out."""
    spectra, molecules = Precomputed([*task.inputs.values()][-1]), Precomputed(task.outputs)
    model = KernelDependencyCV(molecules, spectra, alphas=BACKWARD, fit_intercept=False)
    return model.fit(task.truth[train], train, groups=formulas[train].astype(str))


def _hits(name: str, ranked: list, truth: np.ndarray) -> Hits:
    """Return, for each spectrum, whether the true molecule is first and among the first five."""
    rows = [([y for y, _ in row], own) for row, own in zip(ranked, truth, strict=True)]
    return {
        (name, "top-1"): [float(row[0] == own) for row, own in rows],
        (name, "top-5"): [float(own in row) for row, own in rows],
    }
