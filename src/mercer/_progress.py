"""What can be seen of a long fit: scikit-learn's callbacks where it has them, and a bar."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """No callbacks can be set."""

    def with_callbacks(method: Callable) -> Callable:
        """The method as it is."""
        return method


T = TypeVar("T")
WATCHED = ("_skl_callbacks", "_parent_callback_ctx")
"""What scikit-learn sets on an estimator that somebody watches."""


class Observed(CallbackSupportMixin):
    """An estimator whose fit can be watched: by callbacks, and by a bar where it is `verbose`."""

    verbose: bool = False


class Steps:
    """The steps of a fit: ``for item in steps(items, "trial")`` tells of one for each item.

    Nothing is printed, and no callback is called, where nobody asked.
    """

    def __init__(self, estimator: Observed, total: int):
        self.estimator = estimator
        watched = any(name in vars(estimator) for name in WATCHED)
        self.context = estimator._init_callback_context(max_subtasks=total) if watched else None
        self.bar = _bar() if estimator.verbose else None
        self.task = self.bar and self.bar.add_task(type(estimator).__name__, total=total or None)

    def __call__(self, items: Iterable[T], what: str) -> Iterator[T]:
        """The items, until there are no more or a callback says that it is enough."""
        if self.bar:
            self.bar.update(self.task, description=what)
        for item in items:
            context = self.context and self.context.subcontext(task_name=what)
            if context:
                context.call_on_fit_task_begin(estimator=self.estimator)
            yield item
            if self.bar:
                self.bar.advance(self.task)
            if context and context.call_on_fit_task_end(estimator=self.estimator):
                return

    def run(self, body: Callable[[Steps], T], X: Any, y: Any) -> T:
        """The fit itself, from its first step to its last."""
        if self.context:
            self.context.call_on_fit_task_begin(estimator=self.estimator, X=X, y=y)
        if self.bar is None:
            result = body(self)
        else:
            with self.bar:
                result = body(self)
        if self.context:
            self.context.call_on_fit_task_end(estimator=self.estimator, X=X, y=y)
        return result


@with_callbacks
def observed(
    estimator: Observed, total: int, body: Callable[[Steps], T], X: Any = None, y: Any = None
) -> T:
    """What `body` gives for the steps of a fit that has at most `total` of them."""
    return Steps(estimator, total).run(body, X, y)


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import Progress

    return Progress(console=Console(stderr=True), transient=True)
