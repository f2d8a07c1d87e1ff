"""The content of a report, from what was found to examples with their explanations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from ..._base.errors import require
from ..._base.files import replacing
from ..describe import round_numbers
from .examples import examples_of, figures_or_rows

SHOWN_IMPORTANCES = 15
"""The largest number of columns whose importance is shown."""


@dataclass(frozen=True)
class Bar:
    """A horizontal bar of the report, with a length between 0 and 1."""

    share: float
    kind: str = ""


def check_report_packages() -> None:
    """Raise an error with the install command if a package for reports is missing."""
    require("jinja2", "plots")
    require("matplotlib", "plots")


def write_report(model: Any, path: Path) -> Path:
    """Write the HTML report of a fitted `AutoDependency` to `path`, and return the path."""
    check_report_packages()
    from jinja2 import Environment
    from markupsafe import Markup

    environment = Environment(autoescape=True, trim_blocks=True)
    environment.filters["shown"] = format_value
    template = environment.from_string(files(__package__).joinpath("report.html").read_text())
    style = Markup(files(__package__).joinpath("report.css").read_text())
    text = template.render(style=style, **_template_variables(model)).lstrip()
    with replacing(path) as draft:
        draft.write_bytes(text.encode("utf-8", "backslashreplace"))
    return path


def _template_variables(model: Any) -> dict[str, Any]:
    """Return the variables of the HTML template."""
    content = {
        "names": ", ".join(map(str, model.outputs_.columns_[:5])),
        "tiles": _headline_numbers(model),
        "notes": [f"Chosen: {model.chosen_}", *model.notes_],
        "columns": column_rows(model, model.spaces_),
        "metric": model.metric_name_,
        "candidates": _candidate_rows(model),
        "baselines": _baseline_rows(model),
    }
    return content | _error_variables(model)


def _headline_numbers(model: Any) -> dict[str, Any]:
    """Return the numbers at the top of the report, by caption."""
    tiles = {f"mercer, {model.metric_name_} of left-out rows": f"{model.loo_score_:.3f}"}
    if model.baselines_:
        best = max(model.baselines_, key=lambda name: model.baselines_[name])
        tiles[f"{best}, the best simple baseline"] = f"{model.baselines_[best]:.3f}"
    tiles[f"rows, fitted in {model.seconds_:.0f} s"] = f"{model.n_rows_:,}"
    return tiles


def column_rows(model: Any, names: Iterable[Any]) -> list[dict[str, str]]:
    """Return a row with name, role, kind and a description of the cells for each column."""
    used = dict.fromkeys(model.outputs_.columns_, "output")
    used |= {model.id: "id", model.groups: "groups"}
    rows = []
    for name in names:
        kind = model.spaces_.get(name, "")
        role = "not used" if kind == "nothing" else used.get(name, "input")
        seen = model.found_.get(name, "")
        rows.append({"column": str(name), "used as": role, "holds": kind, "seen": seen})
    return rows


def _candidate_rows(model: Any) -> list[dict[str, Any]]:
    """Return a row with family, model, training rows and left-out score for each candidate."""
    return [
        {"family": row["family"], "model": row["model"], "rows": row["rows"],
         model.metric_name_: row["score"], "": _bar_of(row["score"])}
        for row in model.board_
    ]  # fmt: skip


def _baseline_rows(model: Any) -> list[dict[str, Any]]:
    """Return a row with the left-out score for the model and for each baseline."""
    scores = sorted(model.baselines_.items(), key=lambda item: -item[1])
    metric = model.metric_name_
    return [
        {"model": "mercer", metric: model.loo_score_, "": _bar_of(model.loo_score_)},
        *({"model": name, metric: score, "": _bar_of(score, "base")} for name, score in scores),
    ]


def _importance_rows(model: Any) -> list[dict[str, Any]]:
    """Return a row with the importance of each of the most important input columns."""
    falls = model.importances_[:SHOWN_IMPORTANCES]
    largest = max(float(falls.max()), 1e-9) if len(falls) else 1.0
    return [
        {"column": str(name), f"fall of {model.metric_name_}": fall, "": _bar_of(fall / largest)}
        for name, fall in falls.items()
    ]


def _bar_of(score: float, kind: str = "") -> Bar:
    """Return a bar whose length is a score, clipped to [0, 1]; `kind` is its style."""
    return Bar(min(max(float(np.nan_to_num(score)), 0.0), 1.0), kind)


def _error_variables(model: Any) -> dict[str, Any]:
    """Return the template variables on left-out errors, or the reason why there are none.

    Saved models have no training rows, which these parts need.
    """
    if not model.has_training_rows_:
        return {"reason": "a model file does without the training rows."}
    pairs = model.training_.pairs
    try:
        left_out = model.best_estimator_.loo_predict()
    except ValueError as problem:  # of a model letter by letter
        return {"reason": str(problem)}
    errors = model.outputs_.row_errors(pairs.y, left_out)
    tables = model.diagnose()
    return {
        "importances": _importance_rows(model),
        "caption": model.outputs_.caption,
        "drawn": figures_or_rows(model, pairs.y, left_out, errors),
        "found": tables,
        "by_label": "label" in (tables["labels"] or [{}])[0],
        "examples": examples_of(model, pairs, left_out, errors),
    }


def format_value(value: Any, most: int = 160) -> str:
    """Return a value as text of at most `most` characters."""
    if isinstance(value, float):  # of numpy, too
        return f"{value:.3f}" if abs(value) < 1e4 else f"{value:.4g}"
    if isinstance(value, np.ndarray):
        value = [float(f"{v:.4g}") for v in value.ravel()[:8]] + ["…"] * (value.size > 8)
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value)) or "(none)"
    text = round_numbers(re.sub(r"\s+", " ", str(value)))
    return text if len(text) <= most else text[: most - 1] + "…"
