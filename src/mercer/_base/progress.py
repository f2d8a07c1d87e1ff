"""Progress of a long fit, for scikit-learn's callbacks if it has them, and on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from typing import Any, TypeVar

import sklearn

T = TypeVar("T")
WATCHERS = {"_skl_callbacks", "_parent_callback_ctx"}
"""Attributes that scikit-learn sets on an estimator with callbacks, also inside a search."""
LINE = 5.0
"""Seconds between lines of a log."""


class Observed:
    """Mix-in for estimators that report the progress of a fit to callbacks.

    With `verbose` they also show it on standard error.
    """

    verbose: bool = False

    def set_callbacks(self, *callbacks: Any) -> Any:
        """Set scikit-learn callbacks, such as `ProgressBar`, for the next fits.

        Parameters
        ----------
        *callbacks
            Objects that are called at the start and the end of a fit and of its steps.
        """
        if find_spec("sklearn.callback") is None:
            raise ImportError(
                f"scikit-learn has callbacks from 1.9 on, and this is {sklearn.__version__}: "
                "upgrade it, or use verbose=True where the estimator has it."
            )
        return _callback_mixin().set_callbacks(self, *callbacks)


class Report:
    """The progress of a fit on standard error: a bar in a terminal, else lines of a log."""

    def __init__(self) -> None:
        self.bar, self.written = _progress_bar(), time.perf_counter()

    def shown(self) -> AbstractContextManager[Any]:
        """Return the context in which the bar is shown; one without effect if there is no bar."""
        return self.bar or nullcontext()

    def show(self, what: str, done: float, note: str) -> None:
        """Show the name of a step, the fraction of the fit that is done, and a note.

        A line is written at most every `LINE` seconds.
        """
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], description=what, completed=done, note=note)
        elif sys.stderr is not None and time.perf_counter() - self.written >= LINE:
            self.written = time.perf_counter()
            print(f"mercer: {done:.0%} done ({what}), {note}", file=sys.stderr, flush=True)


class Steps:
    """The steps of a fit, each of which is reported as progress.

    ``for item in steps(items, "trial")`` reports each item. Nothing is reported unless `verbose` or
    callbacks are set. What is assigned to `note` is shown at the end of a step, instead of the
    number of steps.
    """

    note = ""

    def __init__(self, estimator: Observed, total: int):
        self.estimator, self.total, self.unreported, self.ended = estimator, total, total, 0
        self.context: Any = None
        if is_watched(estimator):
            self.context = _callback_mixin()._init_callback_context(estimator, max_subtasks=total)
        self.report = Report() if estimator.verbose else None

    def __call__(self, items: Iterable[T], what: str) -> Iterator[T]:
        """Yield the items, each as a step called `what`, until a callback ends the fit."""
        self._show(what)
        for item in items:
            context = self._subcontext(what)
            if context:
                context.call_on_fit_task_begin(estimator=self.estimator)
            yield item
            self.ended += 1
            self._show(what)
            if context and context.call_on_fit_task_end(estimator=self.estimator):
                return

    def _show(self, what: str) -> None:
        """Show how many steps have ended; `what` names the current one."""
        if self.report is not None:
            total = max(self.total, self.ended, 1)
            note = self.note or f"step {self.ended} of at most {total}"
            self.report.show(what, self.ended / total, note)

    def _subcontext(self, what: str) -> Any:
        """Return a callback context for the next step; None if none is to be announced."""
        if self.context is None or not self.unreported:
            return None
        self.unreported -= 1
        return self.context.subcontext(task_name=what)


def run_observed(estimator: Observed, total: int, body: Callable[[Steps], T], X: Any, y: Any) -> T:
    """Run the fit body(steps) and report its steps, at most `total`; return its result."""

    def fit(estimator: Observed) -> T:
        """Run the body and call the callbacks of the estimator before and after it."""
        steps = Steps(estimator, total)
        if steps.context:
            steps.context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        with steps.report.shown() if steps.report else nullcontext():
            result = body(steps)
        if steps.context:
            steps.context.call_on_fit_task_end(estimator=estimator, X=X, y=y)
        return result

    if not is_watched(estimator):
        return fit(estimator)
    from sklearn.callback import with_callbacks

    return with_callbacks(fit)(estimator)  # callbacks are called at the end, also after an error


def is_watched(estimator: Observed) -> bool:
    """Return whether an estimator has callbacks of scikit-learn."""
    return bool(WATCHERS & vars(estimator).keys())


def _callback_mixin() -> Any:
    """Return scikit-learn's mix-in class for callbacks."""
    from sklearn.callback import CallbackSupportMixin  # slow to import, seldom needed

    return CallbackSupportMixin


def _progress_bar() -> Any:
    """Return a progress bar on standard error; None outside of terminals and notebooks."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    console = Console(stderr=True)
    if sys.stderr is None or not (console.is_terminal or console.is_jupyter):
        return None
    name, note = TextColumn("{task.description}"), TextColumn("{task.fields[note]}")
    columns = name, BarColumn(), TaskProgressColumn(), note
    bar = Progress(*columns, console=console, transient=True)
    bar.add_task("fitting", total=1.0, note="")
    return bar
