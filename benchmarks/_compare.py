"""Shared by the scripts on accuracy: one table of scores over splits, paired differences below."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.console import Console
from rich.progress import track

from experiments.report import Report


def compare(report: Report, setting: str, metric: str, splits: Iterable, methods: dict) -> None:
    """Score every method on every split; a method is a function of a split."""
    splits = list(splits)
    for name, score in methods.items():
        scores = [
            score(*split)
            for split in track(splits, f"{setting}: {name}", transient=True, console=CONSOLE)
        ]
        report.add(name, setting, metric, scores=scores)


def show(report: Report, ratios: Callable[[Report], Iterable[str]] = lambda _: ()) -> None:
    for table in report.tables():
        CONSOLE.print(table.rich())
    for line in [*report.verdicts(), *ratios(report), *report.notes]:
        CONSOLE.print(line)


def mean(report: Report, method: str, setting: str) -> float:
    """The mean score of a method in a setting."""
    return next(r.mean for r in report.rows if (r.method, r.setting) == (method, setting))


CONSOLE = Console()
