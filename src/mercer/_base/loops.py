"""Compiled loops that run on all cores, from any thread and in forked processes.

Every function is compiled here, with bounds checks: an index beyond an array raises `IndexError`
whatever a model file holds. A called function does not inherit the flag, so no other module calls
`numba.njit`. Negative indices count from the end, as in numpy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numba
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.registry import CPUDispatcher

from .arrays import blocks
from .threads import cores, map_in_threads

_checked = partial(numba.njit, boundscheck=True, error_model="numpy")
inlined = _checked(inline="always")
"""Inline a function into the compiled one that calls it, so that it is not compiled on its own."""
PARTS_PER_CORE = 4
"""Parts for each core; with several, a slow part does not keep the other cores waiting."""
NOTICE = (
    "mercer: compiling, once in this environment; it takes some seconds. "
    "`mercer compile` does it ahead of time."
)


class _Cache(FunctionCache):
    """Cache of compiled code, which is emptied if it names classes that no longer exist.

    An upgrade of the package leaves the cache of the version before it, and numba reads the names
    of argument types before it finds out that the source is newer.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature; None if there is none that can be read."""
        try:
            return super().load_overload(sig, target_context)
        except (AttributeError, ImportError):
            self.flush()
            return None


class _Interruptible(CPUDispatcher):
    """A compiled function that a Ctrl-C ends with `KeyboardInterrupt`.

    numba calls Python functions without a look at the error that they raise, so that an interrupt
    there becomes a `SystemError`.
    """

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function; raise the interrupt that numba did not see."""
        try:
            return super().__call__(*arguments)
        except SystemError as error:
            cause: BaseException | None = error
            while isinstance(cause, SystemError):
                cause = cause.__cause__
            raise (cause if isinstance(cause, KeyboardInterrupt) else error) from None


def compiled(function: Callable, **options: Any) -> Any:
    """Compile a function on its first call, and cache its code on disk for all processes."""
    dispatcher = _checked(no_cfunc_wrapper=True, **options)(function)
    dispatcher._cache = _Cache(function)
    dispatcher.__class__ = _Interruptible
    return dispatcher


class _Notice(event.Listener):
    """A numba listener that prints one line to stderr before the first loop is compiled."""

    printed = False

    def on_start(self, event: Any) -> None:
        """Print the notice before the first compilation of a loop of this package."""
        name = event.data["dispatcher"].py_func.__module__
        if not self.printed and name.startswith("mercer."):
            self.printed = True
            print(NOTICE, file=sys.stderr)

    def on_end(self, event: Any) -> None:
        """Do nothing when a compilation ends."""


notice = _Notice()
event.register("numba:compile", notice)


def parallel(loop: Any) -> Callable:
    """Compile loop(start, stop, ...) and return a function that runs it on all cores.

    Round i of the loop fills row i of the last argument. The caller omits `start` and `stop`.
    Threads of Python run the loop, not `numba.prange`: that takes two to four times as long to
    compile, aborts when two threads start it at once, and does not survive a fork.
    """
    without_lock = compiled(loop, nogil=True)

    @wraps(loop)
    def run(*arguments: Any) -> None:
        """Run the loop over all rows of the last argument, in parallel threads."""
        rounds, number = len(arguments[-1]), cores()
        parts = PARTS_PER_CORE * number if number > 1 else 1
        map_in_threads(
            lambda part: without_lock(part.start, part.stop, *arguments),
            blocks(rounds, -(-rounds // parts)),
        )

    return run
