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
from mercer.datasets._files import find_file
from mercer.metrics import kendall_tau, sample_f1

MULTI_TARGET = ("jura", "slump", "andro", "edm", "atp1d")
CURVES = ("gait", "growth", "weather", "dti")
LABEL_SETS = ("yeast", "enron", "emotions", "bibtex")
RANKINGS = ("wine", "glass", "iris", "vehicle", "authorship", "vowel", "housing")


@dataclass(frozen=True)
class DataSet:
    """A data set with its splits and the score of predictions.

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
        """Yield training and test rows: five folds of each shuffle, or the published split."""
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
        """The name of the metric that `score` returns."""
        names = {"numbers": "aRRMSE", "curves": "relative squared error", "labels": "F1"}
        return names.get(self.kind, "Kendall tau")

    def row_scores(self, test: np.ndarray, predicted: np.ndarray) -> list[float]:
        """Return the F1 of each test row, for paired errors; empty unless outputs are labels."""
        if self.kind != "labels":
            return []
        return [round(float(f), 5) for f in sample_f1(self.Y[test], predicted, average=False)]

    def score(self, train: np.ndarray, test: np.ndarray, predicted: np.ndarray) -> float:
        """Return the score of predictions for the test rows, relative to the training mean."""
        truth = self.Y[test]
        if self.kind in ("labels", "rankings"):
            return {"labels": sample_f1, "rankings": kendall_tau}[self.kind](truth, predicted)
        error = ((truth - predicted) ** 2).sum(axis=0)
        spread = ((truth - self.Y[train].mean(axis=0)) ** 2).sum(axis=0)
        if self.kind == "curves":
            return float(error.sum() / spread.sum())
        return float(np.sqrt(error / spread).mean())


def load(name: str) -> DataSet:
    """Load the data set of the given name."""
    if name in MULTI_TARGET:
        data = np.load(find_file("multi_target/multi_target.npz"))
        return DataSet(data[f"{name}_X"], data[f"{name}_Y"], "numbers")
    if name in RANKINGS:
        return DataSet(*load_label_ranking(name), "rankings")
    if name in LABEL_SETS:
        return _load_label_sets(name)
    return CURVE_LOADERS[name]()


def _load_label_sets(name: str) -> DataSet:
    """Load a multi-label set with its published split."""
    if name in ("emotions", "bibtex"):
        data = load_emotions() if name == "emotions" else load_bibtex()
        parts = (data.X_train, data.y_train, data.X_test, data.y_test)
        X, Y, new, truth = (part.toarray() for part in parts)
    else:
        arrays = np.load(find_file("label_sets_more/label_sets_more.npz"))
        keys = ("X_train", "Y_train", "X_test", "Y_test")
        X, Y, new, truth = (arrays[f"{name}_{key}"] for key in keys)
    Y = np.vstack([Y, truth]).astype(int)
    return DataSet(np.vstack([X, new]), Y, "labels", test=len(X))


def _load_gait() -> DataSet:
    """Load knee angles to predict from hip angles of walking children."""
    data = np.load(find_file("functional/gait.npz"))
    return DataSet(data["hip"], data["knee"], "curves")


def _load_growth() -> DataSet:
    """Load heights after the age of eight to predict from the heights before."""
    data = np.load(find_file("functional/growth.npz"))
    early = data["age"] <= 8
    return DataSet(data["height"][:, early], data["height"][:, ~early], "curves")


def _load_weather() -> DataSet:
    """Load daily precipitation to predict from daily temperature."""
    temperature, precipitation, _ = load_canadian_weather()
    return DataSet(temperature, precipitation, "curves")


def _load_dti() -> DataSet:
    """Load one tract of the brain to predict from another, with the subjects as groups."""
    X, Y, subject = load_dti()
    return DataSet(X, Y, "curves", subject)


CURVE_LOADERS: dict[str, Callable[[], DataSet]] = {
    "gait": _load_gait, "growth": _load_growth, "weather": _load_weather, "dti": _load_dti,
}  # fmt: skip
