"""How far a fit is, and how long it will take: a bar in a terminal, lines in a log."""

from __future__ import annotations

import sys
import time
from typing import Any

LINE = 5.0
"""Seconds between lines of a log."""


class Progress:
    """Steps of several kinds, of which each takes about as long as others of its kind did.

    Parameters
    ----------
    planned
        How many steps of each kind there are to be.
    limit
        Seconds that all may take, or None.
    """

    def __init__(self, planned: dict[str, int], limit: float | None = None):
        self.left = dict(planned)
        self.limit = limit
        self.took: dict[str, list[float]] = {}
        self.start = self.told = time.perf_counter()
        self.bar: Any = None

    def __enter__(self) -> Progress:
        if sys.stderr is not None and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TaskProgressColumn, TextColumn
            from rich.progress import Progress as Bar

            shown = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
            self.bar = Bar(
                *shown, TextColumn("{task.fields[rest]}"), console=Console(stderr=True),
                transient=True,
            )  # fmt: skip
            self.bar.start()
            self.task = self.bar.add_task("fitting", total=1.0, rest="")
        return self

    def __exit__(self, *_: Any) -> None:
        if self.bar is not None:
            self.bar.stop()

    def step(self, kind: str, seconds: float) -> None:
        """Tell of a step that has ended."""
        self.left[kind] = max(0, self.left.get(kind, 0) - 1)
        self.took.setdefault(kind, []).append(seconds)
        spent = time.perf_counter() - self.start
        rest = self.seconds_left(spent)
        share = min(0.99, spent / max(spent + rest, 1e-9))
        if self.bar is not None:
            self.bar.update(self.task, completed=share, description=kind, rest=_about(rest))
        elif sys.stderr is not None and time.perf_counter() - self.told >= LINE:
            self.told = time.perf_counter()
            print(f"mercer: {share:.0%} done ({kind}), {_about(rest)}", file=sys.stderr, flush=True)

    def seconds_left(self, spent: float) -> float:
        """An estimate: the mean of steps of a kind, or of all where none of it was taken."""
        every = [seconds for kind in self.took.values() for seconds in kind]
        usual = sum(every) / max(len(every), 1)
        means = {kind: sum(took) / len(took) for kind, took in self.took.items()}
        rest = sum(count * means.get(kind, usual) for kind, count in self.left.items())
        return rest if self.limit is None else min(rest, max(0.0, self.limit - spent))


def _about(seconds: float) -> str:
    return f"about {seconds:.0f} s left" if seconds < 100 else f"about {seconds / 60:.0f} min left"
