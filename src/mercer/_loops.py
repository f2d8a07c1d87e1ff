"""Compiled loops that run on all cores, from any thread and in forked processes."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from threading import Lock
from types import FunctionType
from typing import Any

import numba

_one_at_a_time = Lock()
"""numba's workqueue layer aborts the process when two threads start parallel loops."""
_forked = False


def parallel(loop: Any) -> Callable:
    """Compile a loop over `numba.prange` for all cores.

    A process that was forked after a parallel loop had run has no worker threads, and numba ends
    it when it asks for them: there the loop is compiled for one core.
    """
    on_all_cores = numba.njit(cache=True, parallel=True)(loop)
    on_one_core = numba.njit(cache=True)(_renamed(loop))

    @wraps(loop)
    def run(*arguments: Any) -> Any:
        if _forked:
            return on_one_core(*arguments)
        with _one_at_a_time:
            return on_all_cores(*arguments)

    return run


def _renamed(loop: FunctionType) -> FunctionType:
    """Return a copy under another name: numba's cache on disk goes by name, not by options."""
    copy = FunctionType(loop.__code__, loop.__globals__, loop.__name__, loop.__defaults__)
    copy.__module__ = loop.__module__
    copy.__qualname__ = f"{loop.__qualname__}_on_one_core"
    return copy


def _after_fork() -> None:
    global _forked
    try:
        numba.threading_layer()
    except ValueError:  # no parallel loop has run yet
        return
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
