"""The time that a fit takes: its limit, how far it is, and how long the rest will take."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

LINE = 5.0
"""Seconds between lines of a log."""


class Clock:
    """What is left of a time limit, and what steps of each kind took.

    Parameters
    ----------
    limit
        Seconds that all may take, or None.
    """

    def __init__(self, limit: float | None = None):
        self.limit = limit
        self.took: dict[str, list[float]] = {}
        self.left: dict[str, int] = {}
        self.start = self.told = time.perf_counter()
        self.tell: Callable[[str, float, str], None] | None = None

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self.start

    def allows(self, kind: str, share: float = 0.9) -> bool:
        """Whether another step of a kind is likely to end in time."""
        longest = max(self.took.get(kind, ()), default=0.0)
        return self.limit is None or self.spent + longest < share * self.limit

    def timed(self, kind: str, run: Callable[[], Any]) -> Any:
        """Run a step, remember how long it took, and tell of it where somebody listens."""
        before = self.spent
        made = run()
        self.took.setdefault(kind, []).append(self.spent - before)
        self.left[kind] = max(0, self.left.get(kind, 0) - 1)
        if self.tell is not None:
            rest = self.seconds_left()
            about = f"{rest:.0f} s" if rest < 100 else f"{rest / 60:.0f} min"
            share = min(0.99, self.spent / max(self.spent + rest, 1e-9))
            self.tell(kind, share, f"about {about} left")
        return made

    def seconds_left(self) -> float:
        """An estimate: the mean of steps of a kind, or of all where none of it was taken."""
        every = [seconds for took in self.took.values() for seconds in took]
        usual = sum(every) / max(len(every), 1)
        means = {kind: sum(took) / len(took) for kind, took in self.took.items()}
        rest = sum(count * means.get(kind, usual) for kind, count in self.left.items())
        return rest if self.limit is None else min(rest, max(0.0, self.limit - self.spent))

    @contextmanager
    def telling(self, planned: dict[str, int], lines: bool) -> Iterator[None]:
        """Tell on standard error how far the steps are: by a bar in a terminal, lines in a log.

        Parameters
        ----------
        planned
            How many steps of each kind there are to be.
        lines
            Whether to write lines where there is no terminal.
        """
        self.left = dict(planned)
        if sys.stderr is None or not sys.stderr.isatty():
            self.tell = self._line if lines else None
            yield
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        shown = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
        rest = TextColumn("{task.fields[rest]}")
        with Progress(*shown, rest, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("fitting", total=1.0, rest="")
            self.tell = lambda kind, share, rest: bar.update(
                task, completed=share, description=kind, rest=rest
            )
            yield

    def _line(self, kind: str, share: float, rest: str) -> None:
        if sys.stderr is not None and time.perf_counter() - self.told >= LINE:
            self.told = time.perf_counter()
            print(f"mercer: {share:.0%} done ({kind}), {rest}", file=sys.stderr, flush=True)
