"""The time that a fit takes: its limit, its progress, and an estimate of the rest."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

LINE = 5.0
"""Seconds between lines of a log."""


class Clock:
    """A timer with a time limit, the durations of past steps, and a progress report.

    Parameters
    ----------
    limit
        Seconds for the whole fit, or None.
    """

    def __init__(self, limit: float | None = None):
        self.limit = limit
        self.took: dict[str, list[float]] = {}
        self.left: dict[str, int] = {}
        self.start = self.reported = time.perf_counter()
        self.report: Callable[[str, float, str], None] | None = None

    @property
    def spent(self) -> float:
        """The seconds since the clock was created."""
        return time.perf_counter() - self.start

    def allows(self, kind: str, share: float = 0.9) -> bool:
        """Return whether a step of this kind would end before `share` of the time limit is used."""
        longest = max(self.took.get(kind, ()), default=0.0)
        return self.limit is None or self.spent + longest < share * self.limit

    def timed(self, kind: str, run: Callable[[], Any]) -> Any:
        """Call `run`, store its duration, report the progress, and return its result."""
        before = self.spent
        made = run()
        self.took.setdefault(kind, []).append(self.spent - before)
        self.left[kind] = max(0, self.left.get(kind, 0) - 1)
        if self.report is not None:
            rest = self.seconds_left()
            about = f"{rest:.0f} s" if rest < 100 else f"{rest / 60:.0f} min"
            share = min(0.99, self.spent / max(self.spent + rest, 1e-9))
            self.report(kind, share, f"about {about} left")
        return made

    def seconds_left(self) -> float:
        """Return an estimate of the seconds left, from the mean duration of past steps."""
        every = [seconds for took in self.took.values() for seconds in took]
        usual = sum(every) / max(len(every), 1)
        means = {kind: sum(took) / len(took) for kind, took in self.took.items()}
        rest = sum(count * means.get(kind, usual) for kind, count in self.left.items())
        return rest if self.limit is None else min(rest, max(0.0, self.limit - self.spent))

    @contextmanager
    def reporting(self, planned: dict[str, int], lines: bool) -> Iterator[None]:
        """Report progress on standard error in a `with` block: a bar in a terminal, else lines.

        Parameters
        ----------
        planned
            The number of steps of each kind.
        lines
            Whether to write lines if standard error is not a terminal.
        """
        self.left = dict(planned)
        if sys.stderr is None or not sys.stderr.isatty():
            self.report = self._line if lines else None
            yield
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        shown = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
        rest = TextColumn("{task.fields[rest]}")
        with Progress(*shown, rest, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("fitting", total=1.0, rest="")
            self.report = lambda kind, share, rest: bar.update(
                task, completed=share, description=kind, rest=rest
            )
            yield

    def _line(self, kind: str, share: float, rest: str) -> None:
        """Write the progress as one line, at most every `LINE` seconds.

        `share` is the fraction done; `rest` is a text on the time left.
        """
        if sys.stderr is not None and time.perf_counter() - self.reported >= LINE:
            self.reported = time.perf_counter()
            print(f"mercer: {share:.0%} done ({kind}), {rest}", file=sys.stderr, flush=True)
