"""The page: learn from a file that is dropped on it, and predict by a form."""

from __future__ import annotations

import base64
import binascii
import re
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ... import AutoDependency, save
from ...auto.kinds.guess import INPUT_KINDS, input_kind, output_kind, with_guesses
from ...auto.kinds.registry import output_kinds
from ...tables import BadTable, Table, read
from .plain import sentence_of, to_json_types

FIT_SECONDS = 60.0
"""The time limit of a fit on the page, in seconds."""
TABLE_COVERAGE = 0.9
FEWEST_ROWS_FOR_SETS = 20
"""The smallest number of rows for prediction sets; with fewer rows, sets are too wide to help."""
MOST_COLUMNS = 300
CHOICES = 50
"""The largest number of values of a category that the form lists."""
LISTED_OUTPUTS = 12
"""The largest number of outputs of a prediction set that are listed; others are counted."""


class BackgroundFit:
    """Fit of a model that runs in a background thread."""

    def __init__(self, model: AutoDependency, table: Table):
        self.model, self.table = model, table
        self.error = ""
        self.begun = time.monotonic()
        self.thread = threading.Thread(target=self._fit_model, daemon=True)
        self.thread.start()

    def _fit_model(self) -> None:
        """Fit the model; if that raises an error, store its message in `error`."""
        try:
            self.model.fit(self.table)
            self.model.baselines_  # noqa: B018 (they are computed when read)
        except (ValueError, TypeError, ArithmeticError, MemoryError, ImportError) as problem:
            self.error = sentence_of(problem) or type(problem).__name__

    @property
    def running(self) -> bool:
        """Whether the fit has not ended yet."""
        return self.thread.is_alive()


class TablePage:
    """The uploaded table of the page, and the model that is fitted to it.

    Parameters
    ----------
    path : str or Path, default=None
        The file of the first table; None for no table until one is uploaded.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.table: Table | None = None if path is None else _check_width(read(path))
        self.job: BackgroundFit | None = None
        self.started: BackgroundFit | None = None  # the last fit, also of an earlier table
        self.lock = threading.Lock()

    def upload(self, request: dict) -> dict:
        """Read an uploaded file; return its columns, their kinds, and the first rows.

        Without a file, return the current table, or no columns if there is none.
        """
        table = self.table  # another upload may replace it at any time
        if "file" in request:
            self.table = self.job = None  # also if the new file cannot be read
            table = _check_width(
                _read_upload(str(request.get("name", "table.csv")), request["file"])
            )
            self.table = table
        if table is None:
            return {"columns": []}
        columns = table.columns
        return {
            "name": Path(table.source).name,
            "rows": len(table),
            "read_as": table.read_as,
            "columns": [{"name": name, **_kinds_by_role(table, name)} for name in columns],
            "kinds": {
                "input": [kind for kind in INPUT_KINDS if kind != "nothing"],
                "output": output_kinds(),
            },
            "first": [[to_json_types(cells[i]) for cells in columns.values()]
                      for i in range(min(4, len(table)))],
        }  # fmt: skip

    def fit(self, request: dict) -> dict:
        """Start a background fit of the output columns on the input columns."""
        table = self.table
        if table is None:
            raise ValueError("Drop a table on the page first.")
        outputs, inputs = (
            table.names(_column_names(request, role)) for role in ("outputs", "inputs")
        )
        if not outputs or not inputs:
            raise ValueError("Choose at least one input column and one output column.")
        both = [name for name in inputs if name in outputs]
        if both:
            raise ValueError(f"{both[0]!r} cannot be both input and output.")
        kinds = _requested_kinds(request, [*inputs, *outputs])
        unused = {name: "nothing" for name in table.columns if name not in (*inputs, *outputs)}
        chosen = {name: kinds[name] for name in outputs if name in kinds}
        model = AutoDependency(
            inputs=unused | {name: kinds[name] for name in inputs if name in kinds},
            output=with_guesses(table, outputs, chosen) if chosen else outputs,
            coverage=TABLE_COVERAGE if len(table) >= FEWEST_ROWS_FOR_SETS else None,
            time_limit=FIT_SECONDS,
            random_state=0,
        )
        with self.lock:
            if self.started is not None and self.started.running:
                raise ValueError("Another fit is running: wait until it has ended.")
            self.job = self.started = BackgroundFit(model, table)
        return {"rows": len(table)}

    def progress(self, request: dict) -> dict:
        """Return the seconds that the fit has taken, and its results once it has ended."""
        job = self.job
        if job is None:
            return {"state": "none"}
        if job.running:
            return {
                "state": "running",
                "seconds": time.monotonic() - job.begun,
                "limit": FIT_SECONDS,
            }
        if job.error:
            return {"state": "failed", "why": job.error}
        model = job.model
        return {
            "state": "done",
            "kind": model.outputs_.kind_,
            "metric": model.metric_name_,
            "score": model.loo_score_,
            "baselines": dict(model.baselines_),
            "rows": model.n_rows_,
            "left_out": len(job.table) - model.n_rows_,
            "seconds": model.seconds_,
            "form": [{"name": name, "kind": kind,
                      "values": model.inputs_.values_.get(name, [])[:CHOICES]}
                     for name, kind in model.inputs_.kinds_.items() if kind != "nothing"],
        }  # fmt: skip

    def row(self, request: dict) -> dict:
        """Return the inputs and the outputs of one row of the table, to fill the form."""
        job = self._finished_fit()
        number = int(request.get("number", 0)) % len(job.table)
        cells = {name: to_json_types(cells[number]) for name, cells in job.table.columns.items()}
        inputs = {name: cells[name] for name in job.model.inputs_.kinds_}
        truth = {str(name): cells[name] for name in job.model.outputs_.columns_}
        return {"number": number, "inputs": inputs, "truth": truth}

    def predict(self, request: dict) -> dict:
        """Return the prediction for the values of the form, with a prediction set."""
        model = self._finished_fit().model
        given = request["row"]
        if not isinstance(given, dict):
            raise ValueError("A row must be an object from column names to cells.")
        row = {
            name: [_parse_entry(given.get(name), kind)]
            for name, kind in model.inputs_.kinds_.items()
        }
        return prediction_for_page(model, row)

    def report(self) -> bytes:
        """Return the HTML report of the model as bytes."""
        with TemporaryDirectory() as folder:
            return self._finished_fit().model.report(Path(folder) / "report.html").read_bytes()

    def model_file(self) -> bytes:
        """Return the model as the bytes of a file for `mercer.load`."""
        with TemporaryDirectory() as folder:
            return save(self._finished_fit().model, Path(folder) / "model.mercer").read_bytes()

    def _finished_fit(self) -> BackgroundFit:
        """Return the finished fit; raise an error if there is none or if it failed."""
        job = self.job
        if job is None or job.running or job.error:
            raise ValueError("There is no model yet: fit one first.")
        return job


def prediction_for_page(model: AutoDependency, row: dict[Any, list]) -> dict:
    """Return the prediction for one row as JSON: the output, the best five, and the set."""
    output = {str(name): to_json_types(cells[0]) for name, cells in model.predict(row).items()}
    answer: dict[str, Any] = {
        "kind": model.outputs_.kind_,
        "output": output,
        "coverage": model.coverage,
    }
    if model.outputs_.is_array:
        if model.coverage is not None:
            sets = model.predict_set(row)
            answer["band"] = [
                _band_end([sets[f"{end} {name}"][0] for name in model.outputs_.columns_])
                for end in ("lower", "upper")
            ]
        return answer
    if model.ranks_outputs_:
        answer["top"] = [
            [_format_output(y), to_json_types(score)] for y, score in model.predict_top(row, k=5)[0]
        ]
    if model.coverage is not None and "sets_" in vars(model):
        members = _texts_of_set(model, row)
        answer["set"], answer["members"] = members[:LISTED_OUTPUTS], len(members)
    return answer


def _band_end(ends: list) -> Any:
    """Return the lower or the upper end of a prediction band, in types that JSON supports."""
    return to_json_types(ends[0] if len(ends) == 1 and np.ndim(ends[0]) else ends)


def _texts_of_set(model: AutoDependency, row: dict[Any, list]) -> list[str]:
    """Return the members of the prediction set of a row as texts."""
    sets = model.predict_set(row)
    columns = {name: cells[0] for name, cells in sets.items() if name != model.id}
    return model.outputs_.members(columns, _format_output)


def _read_upload(name: str, encoded: Any) -> Table:
    """Read the table in a base64-encoded file; special characters in its name are replaced."""
    try:
        data = base64.b64decode(str(encoded), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("A file must be sent in base64.") from None
    safe = re.sub(r"[^\w.\- ]", "_", Path(name).name)[-60:].lstrip(".") or "table.csv"
    return read(safe, data=data)


def _check_width(table: Table) -> Table:
    """Return the table; raise an error if it has too many columns for the page."""
    if len(table.columns) > MOST_COLUMNS:
        raise BadTable(
            f"The table has {len(table.columns)} columns, and this page takes {MOST_COLUMNS}",
            "use Python: AutoDependency(output=...).fit(table)",
        )
    return table


def _column_names(request: dict, role: str) -> list[str]:
    """Return the column names under the key `role` of a request, after a check."""
    names = request[role]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{role} must be a list of column names.")
    return names


def _requested_kinds(request: dict, used: list) -> dict[Any, str]:
    """Return the kinds that a request sets for columns in `used`, by column name."""
    kinds = request.get("kinds", {})
    if not isinstance(kinds, dict) or not all(isinstance(kind, str) for kind in kinds.values()):
        raise ValueError("kinds must be an object from column names to kinds.")
    return {name: kinds[name] for name in used if kinds.get(name)}


def _kinds_by_role(table: Table, name: Any) -> dict[str, str]:
    """Return the kind of a column as input and as output; an error message if it is unclear."""
    kinds = {}
    for role, kind in (("input", input_kind), ("output", output_kind)):
        try:
            kinds[role] = kind(table, name)
        except ValueError as problem:
            kinds[role] = sentence_of(problem)
    return kinds


def _parse_entry(value: Any, kind: str) -> Any:
    """Convert an entry of the page's form to a table cell: None for a blank, a list for labels."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if kind == "labels" and isinstance(value, str):
        return [part.strip() for part in re.split("[;,]", value) if part.strip()]
    if not isinstance(value, str | int | float | list):
        raise ValueError("A cell must be text, a number or a list.")
    return value


def _format_output(output: Any) -> str:
    """Return an output as text, with the values of lists and records separated by dots."""
    value = to_json_types(output)
    if isinstance(value, dict):
        return " · ".join(f"{name}: {cell}" for name, cell in value.items())
    return " · ".join(map(str, value)) if isinstance(value, list) else str(value)
