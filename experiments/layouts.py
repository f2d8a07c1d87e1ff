"""Rows and differences laid out as tables: long, one line each, or wide, one column a setting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .differences import Difference
from .tables import Table, between, number, spread

WORDS = ("setting", "metric")
NUMBERS = ("mean", "std", "published", "seconds")


@dataclass(frozen=True)
class Row:
    """One method in one setting: mean and spread of a metric, and the published value."""

    method: str
    setting: str
    metric: str
    mean: float
    std: float | None = None
    published: float | None = None
    seconds: float | None = None


def long(rows: Sequence[Row], name: str) -> Table:
    """Return one line a row, of the columns that have something to say; what is constant on top."""
    words = [c for c in WORDS if len({getattr(row, c) for row in rows}) > 1]
    same = [getattr(rows[0], c) for c in WORDS if c not in words]
    numbers = [c for c in NUMBERS if any(getattr(row, c) is not None for row in rows)]
    columns = ["method", *words, *numbers]
    cells = [[number(getattr(row, column)) for column in columns] for row in rows]
    return Table(", ".join([name, *same]), columns, cells, texts=1 + len(words))


def wide(rows: Sequence[Row], name: str) -> Iterator[Table]:
    """Yield one line a method, one column a setting; a table for each metric."""
    for metric in dict.fromkeys(row.metric for row in rows):
        some = [row for row in rows if row.metric == metric]
        found = {(row.method, row.setting): spread(row.mean, row.std) for row in some}
        settings = list(dict.fromkeys(row.setting for row in some))
        lines = [
            [m, _published(some, m), *(found.get((m, s), "–") for s in settings), _seconds(some, m)]
            for m in dict.fromkeys(row.method for row in some)
        ]
        yield Table(f"{name}, {metric}", ["method", "published", *settings, "seconds"], lines)


def compared(differences: Sequence[Difference], title: str, in_columns: bool) -> Iterator[Table]:
    """Yield differences from the baseline, in the layout of the results."""
    if differences and not in_columns:
        lines = [[d.method, d.setting, d.metric, _difference(d)] for d in differences]
        yield Table(title, ["method", "setting", "metric", "difference"], lines, texts=3)
        return
    for metric in dict.fromkeys(d.metric for d in differences):
        some = [d for d in differences if d.metric == metric]
        found = {(d.method, d.setting): _difference(d) for d in some}
        settings = list(dict.fromkeys(d.setting for d in some))
        lines = [
            [m, *(found.get((m, s), "–") for s in settings)]
            for m in dict.fromkeys(d.method for d in some)
        ]
        yield Table(f"{metric}: {title}", ["method", *settings], lines)


def _difference(d: Difference) -> str:
    return between(d.mean, d.low, d.high) + ("" if d.verdict == "nothing" else f" {d.verdict}")


def _published(rows: Sequence[Row], method: str) -> str:
    values = [row.published for row in rows if row.method == method and row.published is not None]
    return number(values[0] if values else None)


def _seconds(rows: Sequence[Row], method: str) -> str:
    values = [row.seconds for row in rows if row.method == method and row.seconds is not None]
    return f"{sum(values):.2f}" if values else "–"
