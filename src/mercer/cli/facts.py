"""What there is to say of a model: its columns, what was chosen, and how good it is."""

from __future__ import annotations

from typing import Any

import click

from .terminal import columns_table

MOST = 20
"""Columns that are shown one by one."""


def facts_of(model: Any, as_json: bool = False) -> dict[str, Any]:
    """What there is to say of a model, for a table or for JSON."""
    kinds, outputs = model.spaces_, model.outputs_
    inputs = [name for name in model.inputs_.kinds_ if kinds[name] != "nothing"]
    found: dict[str, Any] = {
        "inputs": f"{', '.join(_short(inputs))} ({_kinds(model)})",
        "output": f"{', '.join(_short(outputs.columns_))} ({outputs.kind_})",
        "rows": model.n_rows_,
        "chosen": model.chosen_,
        f"{model.metric_name_}, left out": model.loo_score_,
    }
    if as_json:
        return found | {
            "columns": {str(name): kind for name, kind in kinds.items()},
            "baselines": dict(model.baselines_),
            "notes": list(model.notes_),
        }
    baselines = ", ".join(f"{name} {score:.3f}" for name, score in model.baselines_.items())
    notes = {f"note {i}": note for i, note in enumerate(model.notes_, 1)}
    return found | ({"baselines, left out": baselines} if baselines else {}) | notes


def verdict(model: Any) -> str:
    """The left-out score beside that of the best baseline, in a line."""
    rows = f"{model.metric_name_} of left-out rows: "
    if not model.baselines_:
        return f"{rows}mercer {model.loo_score_:.3f}"
    best = max(model.baselines_, key=lambda name: model.baselines_[name])
    score = model.baselines_[best]
    return f"{rows}baseline {score:.3f} ({best}), mercer {model.loo_score_:.3f}"


def show_columns(model: Any, table: Any, roles: dict[str, Any], err: bool) -> None:
    """What each column holds and is used as, and how to say otherwise."""
    rows = []
    for name in table.columns:
        role = "groups" if name == roles["groups"] else "id" if name == roles["id"] else ""
        role = role or ("output" if name in roles["outputs"] else "input")
        kind = model.spaces_.get(name, "")
        role = "not used" if kind == "nothing" else role
        rows.append((str(name), role, kind, model.found_.get(name, "")))
    rest = len(rows) - MOST
    if rest > 0:
        head = [*rows[: MOST // 2], ("…", "", "", f"{rest} more columns"), *rows[-MOST // 2 :]]
        rows = head
    columns_table(("column", "used as", "holds", "seen"), rows, err)
    click.echo("Say --space COLUMN=KIND where a column holds something else.", err=err)


def _kinds(model: Any) -> str:
    counts: dict[str, int] = {}
    for kind in model.inputs_.kinds_.values():
        counts[kind] = counts.get(kind, 0) + 1
    counts.pop("nothing", None)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{count} {kind}" for kind, count in counts.items())


def _short(names: list[Any]) -> list[str]:
    texts = [str(name) for name in names]
    return texts if len(texts) <= 4 else [*texts[:2], "…", texts[-1]]
