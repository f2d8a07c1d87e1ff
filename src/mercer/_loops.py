"""Compiled loops that run on all cores, from any thread and in forked processes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numba

from ._arrays import blocks
from ._threads import cores, side_by_side

compiled = numba.njit(cache=True, no_cfunc_wrapper=True)
"""Compile a function once for all processes; without the wrapper for C that nobody calls."""
inlined = numba.njit(inline="always")
"""Write a function into the compiled one that calls it: alone it would be compiled once more."""
PARTS = 4
"""Parts for each core: rounds that take longer than others do not keep the rest waiting."""


def parallel(loop: Any) -> Callable:
    """Compile loop(start, stop, ...), and share its rounds among the cores.

    The last argument has a row for each round; the caller gives all but `start` and `stop`.
    Threads of Python run the loop, not `numba.prange`: that takes two to four times as long to
    compile, aborts when two threads start it at once, and does not survive a fork.
    """
    without_lock = numba.njit(cache=True, nogil=True, no_cfunc_wrapper=True)(loop)

    @wraps(loop)
    def run(*arguments: Any) -> None:
        rounds, number = len(arguments[-1]), cores()
        parts = PARTS * number if number > 1 else 1
        side_by_side(
            lambda part: without_lock(part.start, part.stop, *arguments),
            blocks(rounds, -(-rounds // parts)),
        )

    return run
