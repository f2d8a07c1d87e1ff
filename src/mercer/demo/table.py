"""The table tab: learn from a file that is dropped on the page, and ask the model by a form."""

from __future__ import annotations

import base64
import binascii
import json
import re
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from .. import AutoDependency, save
from .._arrays import take
from ..auto.kinds.guess import input_kind
from ..tables import BadTable, Table, read

SECONDS = 60.0
"""What a fit may take on the page; `mercer fit` and Python have no limit."""
COVERAGE = 0.9
FEWEST = 20
"""Rows from which on sets are predicted: fewer make them too wide to be of use."""
COLUMNS = 300
CHOICES = 50
"""Values of a category that the form lists."""


class Watched(AutoDependency):
    """An `AutoDependency` that notes every score that it computes, to show progress."""

    scores: list[float]

    def _metric(self, truth: Any, predicted: Any, made: Any = None) -> float:
        self.scores.append(super()._metric(truth, predicted, made))
        return self.scores[-1]


class Fit:
    """A fit in a thread of its own."""

    def __init__(self, model: Watched, table: Table, left_out: int):
        self.model, self.table, self.left_out = model, table, left_out
        self.error = ""
        self.begun = time.monotonic()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.model.fit(self.table)
        except (ValueError, TypeError, ArithmeticError, MemoryError, ImportError) as problem:
            self.error = str(problem) or type(problem).__name__

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        return self.thread.is_alive()


class Tables:
    """The table looked at last and the model that was fitted on it.

    Parameters
    ----------
    path
        A file to begin with.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.table: Table | None = None if path is None else _checked(read(path))
        self.job: Fit | None = None

    def look(self, request: dict) -> dict:
        """What is in a file: columns, what they hold, and the first rows.

        Without a file, the one that the page was started with; nothing where there is none.
        """
        if "file" in request:
            self.table = _checked(_read(str(request.get("name", "table.csv")), request["file"]))
            self.job = None
        if self.table is None:
            return {"columns": []}
        columns = self.table.columns
        kinds = {name: _kind(self.table, name) for name in columns}
        return {
            "name": Path(self.table.source).name,
            "rows": len(self.table),
            "read_as": self.table.read_as,
            "columns": [{"name": name, "holds": kinds[name]} for name in columns],
            "first": [[plain(cells[i]) for cells in columns.values()]
                      for i in range(min(4, len(self.table)))],
        }  # fmt: skip

    def fit(self, request: dict) -> dict:
        """Begin to learn the output columns from the input columns."""
        if self.table is None:
            raise ValueError("drop a table on the page first.")
        table = self.table
        if self.job is not None and self.job.running:
            raise ValueError("a fit is running: wait until it has ended.")
        outputs, inputs = (table.names(_names(request, role)) for role in ("outputs", "inputs"))
        if not outputs or not inputs:
            raise ValueError("choose at least one input column and one output column.")
        if set(outputs) & set(inputs):
            both = next(name for name in inputs if name in outputs)
            raise ValueError(f"{both!r} is both input and output.")
        filled = table.filled(outputs, drop=True)
        model = Watched(
            inputs=inputs, output=outputs, time_limit=SECONDS, random_state=0,
            coverage=COVERAGE if len(filled) >= FEWEST else None,
        )  # fmt: skip
        model.scores = []
        self.job = Fit(model, filled, len(table) - len(filled))
        return {"rows": len(filled)}

    def progress(self, request: dict) -> dict:
        """How far the fit is; when it has ended, what was found."""
        if self.job is None:
            return {"state": "none"}
        job, model = self.job, self.job.model
        if job.running:
            best = max(model.scores, default=None)
            return {"state": "running", "tried": len(model.scores), "best": best,
                    "seconds": time.monotonic() - job.begun, "limit": SECONDS}  # fmt: skip
        if job.error:
            return {"state": "failed", "why": job.error}
        return {
            "state": "done",
            "kind": model.outputs_.kind_,
            "metric": model.outputs_.metric_name,
            "score": plain(model.loo_score_),
            "baselines": plain(model.baselines_),
            "rows": model.n_rows_,
            "left_out": job.left_out,
            "seconds": model.seconds_,
            "form": [{"name": name, "kind": kind,
                      "values": model.inputs_.values_.get(name, [])[:CHOICES]}
                     for name, kind in model.inputs_.kinds_.items() if kind != "nothing"],
        }  # fmt: skip

    def row(self, request: dict) -> dict:
        """The inputs of a row of the table, to fill the form, and its outputs."""
        job = self._fitted()
        model, number = job.model, int(request.get("number", 0)) % len(job.table)
        truth = model.outputs_.cells_.write(take(model.training_.pairs.y, [number]))
        cells = {name: job.table.columns[name][number] for name in model.inputs_.kinds_}
        return {
            "number": number,
            "inputs": {name: plain(cell) for name, cell in cells.items()},
            "truth": {name: plain(column[0]) for name, column in truth.items()},
        }

    def predict(self, request: dict) -> dict:
        """The output of a filled form, with the set that holds it with 90 %."""
        model = self._fitted().model
        given = request["row"]
        if not isinstance(given, dict):
            raise ValueError("a row is an object from column names to cells.")
        row = {name: [_cell(given.get(name), kind)] for name, kind in model.inputs_.kinds_.items()}
        return answer_of(model, row)

    def report(self) -> bytes:
        """The report of the model, as a page."""
        with TemporaryDirectory() as folder:
            return self._fitted().model.report(Path(folder) / "report.html").read_bytes()

    def file(self) -> bytes:
        """The model as a file for `mercer.load`."""
        model = AutoDependency.__new__(AutoDependency)
        model.__dict__ = {k: v for k, v in vars(self._fitted().model).items() if k != "scores"}
        with TemporaryDirectory() as folder:
            return save(model, Path(folder) / "model.mercer").read_bytes()

    def _fitted(self) -> Fit:
        if self.job is None or self.job.running or self.job.error:
            raise ValueError("there is no model yet: fit one first.")
        return self.job


def _read(name: str, encoded: Any) -> Table:
    try:
        data = base64.b64decode(str(encoded), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("a file is sent in base64.") from None
    safe = re.sub(r"[^\w.\- ]", "_", Path(name).name)[-60:].lstrip(".") or "table.csv"
    return read(safe, data=data)


def _checked(table: Table) -> Table:
    if len(table.columns) > COLUMNS:
        raise BadTable(
            f"the table has {len(table.columns)} columns; this page takes {COLUMNS}. Use Python: "
            "AutoDependency(output=...).fit(table)."
        )
    return table


def _names(request: dict, role: str) -> list[str]:
    names = request[role]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{role} must be a list of column names.")
    return names


def _kind(table: Table, name: Any) -> str:
    try:
        return input_kind(table, name)
    except ValueError as problem:
        return str(problem)


def _cell(value: Any, kind: str) -> Any:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if kind == "labels" and isinstance(value, str):
        return [part.strip() for part in re.split("[;,]", value) if part.strip()]
    if not isinstance(value, str | int | float | list):
        raise ValueError("a cell is text, a number or a list.")
    return value


LISTED = 12
"""Members of a set that are named; of the others their number is told."""


def answer_of(model: AutoDependency, row: dict[Any, list]) -> dict:
    """What a model says of one row: the output, the best five, and the set that holds it."""
    kind = model.outputs_.kind_
    output = {str(name): plain(cells[0]) for name, cells in model.predict(row).items()}
    answer: dict[str, Any] = {"kind": kind, "output": output, "coverage": model.coverage}
    if kind in ("number", "curve", "image"):
        if model.coverage is not None:
            found = model.predict_set(row)
            answer["band"] = [
                _joined([found[f"{end} {name}"][0] for name in model.outputs_.columns_])
                for end in ("lower", "upper")
            ]
        return answer
    try:
        answer["top"] = [[_text(y), plain(score)] for y, score in model.predict_top(row, k=5)[0]]
    except (ValueError, TypeError):
        pass  # a decoder with one answer for each input
    if model.coverage is not None and "sets_" in vars(model):
        members = _members(model, row)
        answer["set"], answer["members"] = members[:LISTED], len(members)
    return answer


def _joined(ends: list) -> Any:
    """Return the ends of several columns as a list; those of one array alone."""
    return plain(ends[0] if len(ends) == 1 and np.ndim(ends[0]) else ends)


def _members(model: AutoDependency, row: dict[Any, list]) -> list[str]:
    """Return the outputs in the prediction set of a row, in words."""
    found = model.predict_set(row)
    columns = [cells[0] for name, cells in found.items() if name != model.id]
    if model.outputs_.kind_ == "labels":
        return [_text(cell) for cell in columns]
    return [_text(y) for y in columns[0]]


def _text(output: Any) -> str:
    value = plain(output)
    return " · ".join(map(str, value)) if isinstance(value, list) else str(value)


def plain(value: Any) -> Any:
    """A value as JSON has it; what is no finite number is None."""
    return json.loads(json.dumps(value, default=_simple), parse_constant=lambda name: None)


def _simple(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return sorted(map(str, value)) if isinstance(value, set | frozenset) else str(value)
