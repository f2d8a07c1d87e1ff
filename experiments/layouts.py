"""Rows and differences laid out as tables: long, one line each, or wide, one column a setting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .differences import Difference
from .tables import Table, format_interval, format_mean, format_number

WORDS = ("setting", "metric")
NUMBERS = ("mean", "std", "published", "seconds")


@dataclass(frozen=True)
class Row:
    """One method in one setting: mean and standard deviation of a metric."""

    method: str
    setting: str
    metric: str
    mean: float
    std: float | None = None
    published: float | None = None
    seconds: float | None = None


def long_table(rows: Sequence[Row], name: str) -> Table:
    """Return a table with one line per row; constant columns are moved to the title."""
    words = [c for c in WORDS if len({getattr(row, c) for row in rows}) > 1]
    same = [getattr(rows[0], c) for c in WORDS if c not in words]
    numbers = [c for c in NUMBERS if any(getattr(row, c) is not None for row in rows)]
    columns = ["method", *words, *numbers]
    cells = [[format_number(getattr(row, column)) for column in columns] for row in rows]
    return Table(", ".join([name, *same]), columns, cells, texts=1 + len(words))


def wide_tables(rows: Sequence[Row], name: str) -> Iterator[Table]:
    """Yield a table for each metric, with a line for each method and a column for each setting."""
    for metric in dict.fromkeys(row.metric for row in rows):
        some = [row for row in rows if row.metric == metric]
        found = {(row.method, row.setting): format_mean(row.mean, row.std) for row in some}
        settings = list(dict.fromkeys(row.setting for row in some))
        lines = [
            [
                m,
                _format_published(some, m),
                *(found.get((m, s), "–") for s in settings),
                _format_seconds(some, m),
            ]
            for m in dict.fromkeys(row.method for row in some)
        ]
        yield Table(f"{name}, {metric}", ["method", "published", *settings, "seconds"], lines)


def difference_tables(
    differences: Sequence[Difference], title: str, in_columns: bool
) -> Iterator[Table]:
    """Yield tables of differences from the baseline, with settings in lines or columns."""
    if differences and not in_columns:
        lines = [[d.method, d.setting, d.metric, _format_difference(d)] for d in differences]
        yield Table(title, ["method", "setting", "metric", "difference"], lines, texts=3)
        return
    for metric in dict.fromkeys(d.metric for d in differences):
        some = [d for d in differences if d.metric == metric]
        found = {(d.method, d.setting): _format_difference(d) for d in some}
        settings = list(dict.fromkeys(d.setting for d in some))
        lines = [
            [m, *(found.get((m, s), "–") for s in settings)]
            for m in dict.fromkeys(d.method for d in some)
        ]
        yield Table(f"{metric}: {title}", ["method", *settings], lines)


def _format_difference(d: Difference) -> str:
    """Return a difference with its interval and verdict, as text."""
    return format_interval(d.mean, d.low, d.high) + (
        "" if d.verdict == "nothing" else f" {d.verdict}"
    )


def _format_published(rows: Sequence[Row], method: str) -> str:
    """Return the published value of a method as text, a dash if there is none."""
    values = [row.published for row in rows if row.method == method and row.published is not None]
    return format_number(values[0] if values else None)


def _format_seconds(rows: Sequence[Row], method: str) -> str:
    """Return the total seconds of a method as text, a dash if unknown."""
    values = [row.seconds for row in rows if row.method == method and row.seconds is not None]
    return f"{sum(values):.2f}" if values else "–"
