"""What was found, tried and chosen, as one HTML file without anything from elsewhere."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from .._files import replacing

STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse;margin:1em 0}td,th{padding:.25em .8em;text-align:left;"
    "border-bottom:1px solid #ddd}td.n{text-align:right}i.bar{display:inline-block;height:.8em;"
    "background:#4a7ab5;vertical-align:middle}"
)


def write_report(model: Any, path: Path) -> Path:
    """Write the report of a fitted `AutoDependency`."""
    metric = "score" if model.scoring is not None else model.outputs_.metric_name
    rows = [(row["family"], row["model"], row["rows"], row["score"]) for row in model.leaderboard_]
    best = max((score for score in model.baselines_.values()), default=None)
    ahead = "" if best is None else f"baseline {best:.3f}, mercer {model.loo_score_:.3f} ({metric})"
    body = [
        f"<h1>{escape(', '.join(map(str, model.outputs_.columns_[:5])))}</h1>",
        f"<p>{model.n_rows_} rows, fitted in {model.seconds_:.1f} s. {ahead}</p>",
        "<h2>Columns</h2>",
        _table(("column", "holds"), list(model.spaces_.items())[:200]),
        f"<h2>Candidates by left-out {escape(metric)}</h2>",
        _table(("family", "model", "rows", metric), rows, bars=True),
        "<h2>Baselines, rows left out in five folds</h2>",
        _table(("model", metric), list(model.baselines_.items()), bars=True),
    ]
    text = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>mercer</title>'
        f"<style>{STYLE}</style>{''.join(body)}</html>"
    )
    with replacing(path) as draft:
        draft.write_bytes(text.encode())
    return path


def _table(head: tuple, rows: list[tuple], bars: bool = False) -> str:
    cells = "".join(f"<th>{escape(str(name))}</th>" for name in head)
    lines = "".join(
        "<tr>" + "".join(_cell(value) for value in row) + (_bar(row[-1]) if bars else "") + "</tr>"
        for row in rows
    )
    return f"<table><tr>{cells}</tr>{lines}</table>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f'<td class="n">{value:.4f}</td>'
    return f"<td>{escape(str(value))}</td>"


def _bar(score: float) -> str:
    return f'<td><i class="bar" style="width:{120 * min(max(score, 0.0), 1.0):.0f}px"></i></td>'
