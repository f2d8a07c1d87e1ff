"""Output columns: what they hold, the kernel, decoder and metric that suit it, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

from .._arrays import Items, object_array
from ..decoders import Candidates, Decoder, Threshold
from ..kernels import L2, Delta, Fingerprint, Kendall, Kernel, Labels, Linear, Mapped, Normalized
from ..kernels import Spectrum as Letters
from ..metrics import accuracy, exact_match, kendall_tau, sample_f1
from ..spaces import Vectors
from ..tables.guess import guess
from ..tables.spaces import SPACES
from ..tables.table import Table
from .frames import Columns
from .inputs import numbers_of

FEW = 20
"""Distinct whole numbers or words up to which one column is a class."""
KINDS = ("number", "curve", "labels", "class", "ranking", "text", "smiles")


class Outputs(BaseEstimator):
    """How output columns are read, compared, scored and written.

    Parameters
    ----------
    kind
        What the columns hold: "number", "curve", "labels", "class", "ranking", "text" or "smiles";
        None for a guess.

    Attributes
    ----------
    kind_
        What they hold.
    columns_
        Their names.
    """

    def __init__(self, kind: str | None = None):
        self.kind = kind

    def fit(self, columns: Columns) -> Outputs:
        """Look at the cells of the training rows."""
        if self.kind is not None and self.kind not in KINDS:
            raise ValueError(f"{self.kind!r} is no kind of output: use one of {', '.join(KINDS)}.")
        self.columns_ = list(columns)
        self.kind_ = self.kind or output_kind(columns)
        self.space_ = None
        if self.kind_ in ("labels", "ranking") and not self._numeric(columns):
            self.space_ = SPACES[self.kind_]()
            self.space_.learn(_table(columns), self._names)
        return self

    @property
    def _names(self) -> list[str]:
        return [str(name) for name in self.columns_]

    def _numeric(self, columns: Columns) -> bool:
        return all(isinstance(cells, np.ndarray) for cells in columns.values())

    def read(self, columns: Columns) -> Items:
        """The outputs of some rows."""
        wanted = {name: columns[name] for name in self.columns_}
        missing = [name for name, cells in wanted.items() if _any_missing(cells)]
        if missing:
            raise ValueError(
                f"the output {missing[0]!r} is missing in some rows: leave those rows out."
            )
        if self.kind_ in ("number", "curve"):
            return np.hstack([numbers_of(cells, name) for name, cells in wanted.items()])
        if self.space_ is not None:
            return self.space_.parse(_table(wanted))
        if self.kind_ in ("labels", "ranking"):
            rows = np.hstack([cells.reshape(len(cells), -1) for cells in wanted.values()])
            self.first_ = int(rows.min()) if self.kind_ == "ranking" else 0
            return rows.astype(int) - self.first_
        (cells,) = wanted.values()
        return (
            np.asarray(cells)
            if self.kind_ == "class"
            else object_array([str(cell) for cell in cells])
        )

    def kernel(self) -> Kernel:
        """The output kernel."""
        if self.kind_ == "number":
            return Mapped(StandardScaler(), Linear(), Vectors(), inverse=True)
        kernels: dict[str, Callable[[], Kernel]] = {
            "curve": L2, "labels": Labels, "class": Delta, "ranking": Kendall,
            "text": lambda: Normalized(Letters(3, blended=True)), "smiles": Fingerprint,
        }  # fmt: skip
        return kernels[self.kind_]()

    def decoder(self) -> Decoder | None:
        """The decoder; None for the natural one."""
        if self.kind_ in ("text", "smiles", "class"):
            return Candidates()
        return Threshold() if self.kind_ == "labels" else None

    @property
    def metric_name(self) -> str:
        """What `score` returns."""
        names = {"number": "mean R²", "curve": "R²", "labels": "F1", "ranking": "Kendall tau",
                 "class": "accuracy"}  # fmt: skip
        return names.get(self.kind_, "exact match")

    def metric(self, truth: Items, predicted: Items) -> float:
        """How good predictions are; greater is better, 1 is best."""
        if self.kind_ in ("number", "curve"):
            return _explained(np.asarray(truth), np.asarray(predicted), self.kind_ == "number")
        metrics: dict[str, Callable] = {
            "labels": sample_f1, "ranking": kendall_tau, "class": accuracy,
        }  # fmt: skip
        return float(metrics.get(self.kind_, exact_match)(truth, predicted))

    def columns_of(self, predicted: Items) -> Columns:
        """Predictions as columns, in the form that the training columns had."""
        if self.space_ is not None and self.kind_ == "ranking":
            cells = [self.space_.cells(item) for item in predicted]
            return dict(zip(self.columns_, _transposed(cells), strict=True))
        if self.space_ is not None and len(self.columns_) > 1:  # indicators that are text
            cells = [self.space_.cells(item) for item in predicted]
            return dict(zip(self.columns_, _transposed(cells), strict=True))
        if self.kind_ in ("number", "curve", "labels", "ranking") and self.space_ is None:
            rows = np.asarray(predicted).reshape(len(predicted), -1)
            rows = rows + getattr(self, "first_", 0)
            if rows.shape[1] == len(self.columns_):
                return {name: rows[:, j] for j, name in enumerate(self.columns_)}
            return {self.columns_[0]: list(rows)}
        return {self.columns_[0]: list(predicted) if self.space_ is not None else predicted}

    def array_of(self, predicted: Items, flat: bool) -> Items:
        """Predictions as an array, where the training outputs were given as one."""
        if self.kind_ in ("number", "curve", "labels", "ranking") and self.space_ is None:
            rows = np.asarray(predicted) + getattr(self, "first_", 0)
            return rows[:, 0] if flat and rows.ndim == 2 and rows.shape[1] == 1 else rows
        return predicted


def output_kind(columns: Columns) -> str:
    """What output columns hold."""
    cells = next(iter(columns.values()))
    if len(columns) == 1 and isinstance(cells, np.ndarray) and cells.ndim == 1:
        few = cells.dtype.kind in "iu" and _few(cells)
        return "class" if cells.dtype.kind == "b" or few else "number"
    if len(columns) == 1 and all(isinstance(c, set | frozenset) for c in cells):
        return "labels"
    table = _table(columns)
    found = guess(table, list(table.columns), output=True)
    if found == "labels" and len(columns) == 1 and not isinstance(cells, np.ndarray):
        single = all(isinstance(c, str) for c in cells) and _one_each(table)
        return "class" if single else "labels"
    return {"vector": "number", "image": "number"}.get(found, found)


def _one_each(table: Table) -> bool:
    space: Any = SPACES["labels"]()
    space.learn(table, list(table.columns))
    return bool(space.single_)


def _few(cells: np.ndarray) -> bool:
    distinct = len(set(cells.tolist()))
    return distinct <= max(2, min(FEW, len(cells) // 5))


def _table(columns: Columns) -> Table:
    cells = {str(name): _listed(values) for name, values in columns.items()}
    return Table("the table", cells, range(1, len(next(iter(cells.values()))) + 1))


def _listed(values: Any) -> Any:
    if isinstance(values, list):
        return [sorted(map(str, v)) if isinstance(v, set | frozenset) else v for v in values]
    return values


def _any_missing(cells: Any) -> bool:
    if isinstance(cells, np.ndarray):
        return bool((cells != cells).any())
    return any(cell is None for cell in cells)


def _transposed(rows: list[dict[str, Any]]) -> list[list]:
    return [list(column) for column in zip(*(row.values() for row in rows), strict=True)]


def _explained(truth: np.ndarray, predicted: np.ndarray, by_column: bool) -> float:
    """1 - squared error / variance: the mean over columns, or of all values together."""
    truth, predicted = (A.reshape(len(A), -1) for A in (truth, predicted))
    error = ((truth - predicted) ** 2).sum(axis=0)
    spread = ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)
    if not by_column:
        return float(1.0 - error.sum() / spread.sum()) if spread.sum() > 0 else 0.0
    varies = spread > 0
    return float(np.mean(1.0 - error[varies] / spread[varies])) if varies.any() else 0.0


def columns_named(columns: Columns, wanted: Any) -> list[Hashable]:
    """Column names that were given as one name or as several; refuse one that is not there."""
    names = list(wanted) if isinstance(wanted, list | tuple | dict) else [wanted]
    absent = [name for name in names if name not in columns]
    if absent:
        raise ValueError(f"there is no column {absent[0]!r}: the columns are {list(columns)[:12]}.")
    return names
