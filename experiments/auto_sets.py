"""The data sets that `AutoDependency` is measured on, in raw units, each with its splits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import GroupKFold, KFold

from mercer.datasets import (
    load_bibtex,
    load_canadian_weather,
    load_dti,
    load_emotions,
    load_label_ranking,
)
from mercer.datasets._files import find
from mercer.metrics import kendall_tau, sample_f1

MULTI_TARGET = ("jura", "slump", "andro", "edm", "atp1d")
CURVES = ("gait", "growth", "weather", "dti")
LABEL_SETS = ("yeast", "enron", "emotions", "bibtex")
RANKINGS = ("wine", "glass", "iris", "vehicle", "authorship", "vowel", "housing")


@dataclass(frozen=True)
class DataSet:
    """Inputs and outputs, how they are split, and how predictions are scored.

    Attributes
    ----------
    X, Y, groups
        The data; groups are None where rows are independent.
    kind
        "numbers", "curves", "labels" or "rankings".
    test
        The first row of the test part of a published split; None for folds.
    """

    X: np.ndarray
    Y: np.ndarray
    kind: str
    groups: np.ndarray | None = None
    test: int | None = None

    def splits(self, shuffles: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield five folds for each shuffle, groups whole; or the published split."""
        rows = np.arange(len(self.X))
        if self.test is not None:
            yield rows[: self.test], rows[self.test :]
            return
        for seed in range(shuffles):
            if self.groups is None:
                yield from KFold(5, shuffle=True, random_state=seed).split(self.X)
            else:
                folds = GroupKFold(5, shuffle=True, random_state=seed)
                yield from folds.split(self.X, groups=self.groups)

    @property
    def metric(self) -> str:
        """The name of the score."""
        names = {"numbers": "aRRMSE", "curves": "relative squared error", "labels": "F1"}
        return names.get(self.kind, "Kendall tau")

    def row_scores(self, test: np.ndarray, predicted: np.ndarray) -> list[float]:
        """Return the F1 of every test row, for paired errors; empty for other outputs."""
        if self.kind != "labels":
            return []
        return [round(float(f), 5) for f in sample_f1(self.Y[test], predicted, average=False)]

    def score(self, train: np.ndarray, test: np.ndarray, predicted: np.ndarray) -> float:
        """Score predictions of the test rows; errors are relative to those of the training mean."""
        truth = self.Y[test]
        if self.kind in ("labels", "rankings"):
            return {"labels": sample_f1, "rankings": kendall_tau}[self.kind](truth, predicted)
        error = ((truth - predicted) ** 2).sum(axis=0)
        spread = ((truth - self.Y[train].mean(axis=0)) ** 2).sum(axis=0)
        if self.kind == "curves":
            return float(error.sum() / spread.sum())
        return float(np.sqrt(error / spread).mean())


def load(name: str) -> DataSet:
    """Return one of the sets, by name."""
    if name in MULTI_TARGET:
        data = np.load(find("multi_target/multi_target.npz"))
        return DataSet(data[f"{name}_X"], data[f"{name}_Y"], "numbers")
    if name in RANKINGS:
        return DataSet(*load_label_ranking(name), "rankings")
    if name in LABEL_SETS:
        return _label_sets(name)
    return CURVE_LOADERS[name]()


def _label_sets(name: str) -> DataSet:
    if name in ("emotions", "bibtex"):
        data = load_emotions() if name == "emotions" else load_bibtex()
        parts = (data.X_train, data.y_train, data.X_test, data.y_test)
        X, Y, new, truth = (part.toarray() for part in parts)
    else:
        arrays = np.load(find("label_sets_more/label_sets_more.npz"))
        keys = ("X_train", "Y_train", "X_test", "Y_test")
        X, Y, new, truth = (arrays[f"{name}_{key}"] for key in keys)
    Y = np.vstack([Y, truth]).astype(int)
    return DataSet(np.vstack([X, new]), Y, "labels", test=len(X))


def _gait() -> DataSet:
    data = np.load(find("functional/gait.npz"))
    return DataSet(data["hip"], data["knee"], "curves")


def _growth() -> DataSet:
    """Load heights from 8 years on from those before."""
    data = np.load(find("functional/growth.npz"))
    early = data["age"] <= 8
    return DataSet(data["height"][:, early], data["height"][:, ~early], "curves")


def _weather() -> DataSet:
    temperature, precipitation, _ = load_canadian_weather()
    return DataSet(temperature, precipitation, "curves")


def _dti() -> DataSet:
    X, Y, subject = load_dti()
    return DataSet(X, Y, "curves", subject)


CURVE_LOADERS: dict[str, Callable[[], DataSet]] = {
    "gait": _gait, "growth": _growth, "weather": _weather, "dti": _dti,
}  # fmt: skip
