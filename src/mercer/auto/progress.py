"""The time that a fit takes: its limit, its progress, and an estimate of the rest."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .._base.progress import Report


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
        self.start = time.perf_counter()
        self.report: Report | None = None

    @property
    def spent(self) -> float:
        """The seconds since the clock was created."""
        return time.perf_counter() - self.start

    def allows_step(self, kind: str, fraction: float = 0.9) -> bool:
        """Return whether a step should end before `fraction` of the time limit.

        It is expected to take as long as the longest past step of the same `kind`, such as "ridge".
        """
        longest = max(self.took.get(kind, ()), default=0.0)
        return self.limit is None or self.spent + longest < fraction * self.limit

    def time_step(self, kind: str, run: Callable[[], Any]) -> Any:
        """Call `run` and return its result; time it as a step of `kind`, and report progress."""
        before = self.spent
        result = run()
        self.took.setdefault(kind, []).append(self.spent - before)
        self.left[kind] = max(0, self.left.get(kind, 0) - 1)
        if self.report is not None:
            rest = self.seconds_left()
            about = f"{rest:.0f} s" if rest < 100 else f"{rest / 60:.0f} min"
            fraction = min(0.99, self.spent / max(self.spent + rest, 1e-9))
            self.report.show(kind, fraction, f"about {about} left")
        return result

    def seconds_left(self) -> float:
        """Return an estimate of the seconds left, from the mean duration of past steps."""
        every = [seconds for took in self.took.values() for seconds in took]
        usual = sum(every) / max(len(every), 1)
        means = {kind: sum(took) / len(took) for kind, took in self.took.items()}
        rest = sum(count * means.get(kind, usual) for kind, count in self.left.items())
        return rest if self.limit is None else min(rest, max(0.0, self.limit - self.spent))

    def reporting(self, planned: dict[str, int], verbose: bool) -> AbstractContextManager:
        """Return a context manager that reports the progress of steps on standard error.

        Parameters
        ----------
        planned
            The number of steps of each kind.
        verbose
            Whether to write lines if standard error is not a terminal, which always shows a bar.
        """
        self.left = dict(planned)
        if verbose or (sys.stderr is not None and sys.stderr.isatty()):
            self.report = Report()
        return self.report.shown() if self.report else nullcontext()
