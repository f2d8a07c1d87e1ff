"""Progress of a long fit: scikit-learn's callbacks if it has them, and a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from importlib.util import find_spec
from typing import Any, TypeVar

import sklearn

T = TypeVar("T")
WATCHERS = {"_skl_callbacks", "_parent_callback_ctx"}
"""Attributes that scikit-learn sets on an estimator with callbacks, also inside a search."""


class Observed:
    """An estimator that reports the progress of `fit` to callbacks, and by a bar if `verbose`."""

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
        return _support().set_callbacks(self, *callbacks)


class Steps:
    """The steps of a fit: ``for item in steps(items, "trial")`` reports each item.

    Nothing is reported unless `verbose` or callbacks are set.
    """

    def __init__(self, estimator: Observed, total: int):
        self.estimator, self.unreported = estimator, total
        self.context: Any = None
        if is_watched(estimator):
            self.context = _support()._init_callback_context(estimator, max_subtasks=total)
        self.bar = _bar() if estimator.verbose else None
        self.task = self.bar and self.bar.add_task(type(estimator).__name__, total=total or None)

    def __call__(self, items: Iterable[T], what: str) -> Iterator[T]:
        """Yield the items until a callback ends the fit."""
        if self.bar:
            self.bar.update(self.task, description=what)
        for item in items:
            context = self._subcontext(what)
            if context:
                context.call_on_fit_task_begin(estimator=self.estimator)
            yield item
            if self.bar:
                self.bar.advance(self.task)
            if context and context.call_on_fit_task_end(estimator=self.estimator):
                return

    def _subcontext(self, what: str) -> Any:
        """Return a callback context for the next step called `what`, or None if unannounced."""
        if self.context is None or not self.unreported:
            return None
        self.unreported -= 1
        return self.context.subcontext(task_name=what)


def observed(estimator: Observed, total: int, body: Callable[[Steps], T], X: Any, y: Any) -> T:
    """Run body(steps) as a fit on X and y that reports at most `total` steps; return its result."""

    def fit(estimator: Observed) -> T:
        steps = Steps(estimator, total)
        if steps.context:
            steps.context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        with steps.bar or nullcontext():
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


def _support() -> Any:
    """Return scikit-learn's mix-in class for callbacks."""
    from sklearn.callback import CallbackSupportMixin  # slow to import, seldom needed

    return CallbackSupportMixin


def _bar() -> Any:
    """Return a progress bar on standard error."""
    from rich.console import Console
    from rich.progress import Progress

    return Progress(console=Console(stderr=True), transient=True)
