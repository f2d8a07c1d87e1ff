"""Turned faces to the front: Table 3 and Figure 2 of the paper, on people not seen in training."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress
from scipy.spatial.distance import cdist

from mercer.datasets import Faces, WrongData, load_cmu_faces

from .baselines import fit_and_predict
from .face_files import load_faces
from .face_models import METHODS, Fit
from .face_ranks import CORTES, Run, draw, name_of_run, sentences_on_claims, sweep
from .pictures import grid
from .report import Report

PUBLISHED = {
    "JKM, patches, margin": 0.1257,
    CORTES: 0.1773,
    "covariance": 0.1570,
    "conditional covariance": 0.1130,
}
SETTINGS = {"paper": "the paper's parameters", "chosen": "chosen by leaving people out"}
METRIC, LARGE = "mean squared error", "error, all turned views"
SIDE, SPLITS, LARGE_SPLITS = 32, 10, 3
TRAIN, TEST, ROWS, FEWEST = 20, 80, 60, 6
"""People to train and to test on, training rows at most, and people at least."""
COMPARED = (30, 100, None)
"""Ranks whose differences from Cortes on all examples are worth a line."""
PROTOCOL = (
    "People are kept apart between training and test. The paper's 1,200 training and 200 test "
    "images do not seem to be: of 200 people in 7 views, 1,200 are all turned images of everybody."
)
Split = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Study:
    """Pairs of turned and frontal images as rows, with their people and the image shape."""

    X: np.ndarray
    Y: np.ndarray
    people: np.ndarray
    shape: tuple[int, int]

    @classmethod
    def of(cls, faces: Faces, views: list[str] | None = None) -> Study:
        """Return the pairs of the given views, or of all turned views."""
        X, Y, people, _ = faces.pairs(views)
        return cls(X.reshape(len(X), -1), Y.reshape(len(Y), -1), people, X.shape[1:])

    def fit(self, fit: Fit, rows: np.ndarray) -> Any:
        """Return the model that the function `fit` returns for the pairs `rows`."""
        return fit(self.X[rows], self.Y[rows], self.people[rows], self.shape)

    def error(self, model: Any, rows: np.ndarray) -> float:
        """Return the mean squared error per pixel of a model on the pairs `rows`."""
        return float(((model.predict(self.X[rows]) - self.Y[rows]) ** 2).mean())

    def hindsight_error(self, own: np.ndarray, others: np.ndarray) -> float:
        """Return the error if each test face is replaced by the best training face."""
        D2 = cdist(self.Y[others], self.Y[own], "sqeuclidean")
        return float(D2.min(axis=1).mean() / self.Y.shape[1])

    def images(self, flat: np.ndarray) -> np.ndarray:
        """Return rows of pixels as images."""
        return flat.reshape(-1, *self.shape)

    def splits(self, number: int, train: int, test: int, rows: int) -> Iterator[Split]:
        """Yield training and test rows of different people."""
        for seed in range(number):
            rng = np.random.default_rng(seed)
            people = rng.permutation(np.unique(self.people))
            rows_by_person = [
                rng.permutation(np.flatnonzero(self.people == who)) for who in people[:train]
            ]
            each = max(1, rows // train)
            left = np.flatnonzero(np.isin(self.people, people[train : train + test]))
            yield np.sort(np.concatenate([pairs[:each] for pairs in rows_by_person])), left


def run(folder: Path, console: Any, quick: bool = False, faces: str | Path | None = None) -> Report:
    """Run both experiments, on the CMU faces or on those of a file or folder."""
    all_faces = load_cmu_faces() if faces is None else load_faces(faces)
    small = all_faces.shrunk(SIDE)
    people = len(np.unique(small.subject))
    if people < FEWEST:
        raise WrongData(f"people are kept apart: {FEWEST} are needed at least, got {people}.")
    report = Report(
        "faces", title="Turned faces to the front", baseline=CORTES,
        lower_is_better=[METRIC, LARGE], wide=True, attribution=all_faces.attribution,
    )  # fmt: skip
    views = None if faces is None else [small.nearest]
    report.settings["views in the table"] = "all turned" if views is None else f"view {views[0]}"
    report.settings["frontal view"] = small.frontal
    with Progress(console=console, transient=True) as progress:
        _report_table(report, folder, Study.of(small, views), progress, quick)
        _report_figure(report, folder, Study.of(small), progress, quick)
    return report


def numbers_of_people(people: int) -> tuple[int, int]:
    """Return the numbers of training and test people: 20 and 80 if there are enough."""
    train = TRAIN if people >= 3 * TRAIN else max(2, int(0.6 * people))
    return train, min(TEST, people - train)


def _report_table(report: Report, folder: Path, study: Study, progress: Any, quick: bool) -> None:
    """Add the rows of Table 3 to the report, and draw the predicted faces."""
    train, test = numbers_of_people(len(np.unique(study.people)))
    parts = list(study.splits(1 if quick else SPLITS, train, test, TRAIN if quick else ROWS))
    cells = [(method, name) for method, fits in METHODS.items() for name in fits]
    task = progress.add_task("table", total=len(parts) * len(cells))
    shown = parts[0][1][:: max(1, len(parts[0][1]) // 6)][:6]
    pictures = {"turned": study.images(study.X[shown]), "truth": study.images(study.Y[shown])}
    gaps = []
    for method, name in cells:
        models, scores, start = [], [], time.perf_counter()
        for train_rows, test_rows in parts:
            models.append(study.fit(METHODS[method][name], train_rows))
            scores.append(study.error(models[-1], test_rows))
            progress.advance(task)
        seconds = time.perf_counter() - start
        published = PUBLISHED.get(method) if name == "paper" else None
        setting = SETTINGS[name]
        report.add(method, setting, METRIC, published=published, seconds=seconds, scores=scores)
        if name == "chosen":
            pictures[method] = study.images(models[0].predict(study.X[shown]))
        if method.startswith("JKM"):
            gaps += [model.dual_gap_ / model.objective_ for model in models]
    _report_baselines(report, study, parts, quick)
    best = [study.hindsight_error(train_rows, test_rows) for train_rows, test_rows in parts]
    report.add("best training face in hindsight", SETTINGS["chosen"], METRIC, scores=best)
    grid(folder / "faces.png", pictures)
    report.captions["faces.png"] = "Test people of the first split, parameters chosen."
    report.settings |= _describe_settings(study, parts, train, test)
    report.settings["largest duality gap of JKM"] = f"{max(gaps):.1%} of the objective"


def _report_baselines(report: Report, study: Study, parts: list[Split], quick: bool) -> None:
    """Add rows of scikit-learn's regressors, tuned by leaving people out."""
    results: dict[str, list[tuple[float, float]]] = {}
    for train_rows, test_rows in parts:
        X, Y, new = study.X[train_rows], study.Y[train_rows], study.X[test_rows]
        for name, predicted, seconds in fit_and_predict(X, Y, new, study.people[train_rows], quick):
            error = float(((predicted - study.Y[test_rows]) ** 2).mean())
            results.setdefault(name, []).append((error, seconds))
    for name, rows in results.items():
        scores, times = ([row[i] for row in rows] for i in (0, 1))
        report.add(name, SETTINGS["chosen"], METRIC, seconds=sum(times), scores=scores)


def _describe_settings(study: Study, parts: list[Split], train: int, test: int) -> dict[str, str]:
    """Return the settings of the table by name, for the report."""
    height, width = study.shape
    rows = round(float(np.mean([len(own) for own, _ in parts])))
    return {
        "images": f"{height} × {width}, grey from {study.X.min():.2g} to {study.X.max():.2g}",
        "people": f"{train} to train ({rows} pairs), {test} to test, never shared",
        "splits": str(len(parts)),
        "patches": "10 × 10, overlapping by 5, the last flush with the border",
    }


def _report_figure(report: Report, folder: Path, study: Study, progress: Any, quick: bool) -> None:
    """Add the rows of Figure 2 to the report, and draw it."""
    everyone = len(np.unique(study.people))
    train, rows = everyone // 2, len(study.X)
    number = 1 if quick else LARGE_SPLITS
    parts = list(study.splits(number, train, everyone - train, rows // (3 if quick else 1)))
    runs: list[Run] = []
    for seed, (train_rows, test_rows) in enumerate(progress.track(parts, description="figure")):
        runs.extend(sweep(study.X, study.Y, study.people, train_rows, test_rows, seed))
    for name in dict.fromkeys(map(name_of_run, runs)):
        same = [run for run in runs if name_of_run(run) == name]
        scores, seconds = [run.error for run in same], float(np.mean([run.seconds for run in same]))
        if same[0].size in COMPARED:
            report.add(name, "mean over splits", LARGE, seconds=seconds, scores=scores)
        else:
            mean, std = float(np.mean(scores)), float(np.std(scores))
            report.add(name, "mean over splits", LARGE, mean, std, seconds=seconds)
    rows = round(float(np.mean([len(train_rows) for train_rows, _ in parts])))
    draw(folder / "ranks.png", runs, rows)
    report.captions["ranks.png"] = (
        f"Conditional covariance at low rank, and the identity on some of {rows} examples: "
        f"means over {len(parts)} splits by person."
    )
    report.notes += [*sentences_on_claims(runs), PROTOCOL]
