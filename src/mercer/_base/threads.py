"""Threads for operations on large arrays, which numpy would run on one core."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from .arrays import blocks

HELD = 2**16
"""Numbers of an array that fit in the cache of a core."""
THREADED_ENTRIES = 2**20
"""Numbers of an array from which on threads are faster."""
AT_ONCE = 2**19
"""Numbers in a block if several threads work: on smaller ones they would wait for each other."""
LEAST_ROWS, MOST_BLOCK_ROWS = 1024, 4096
"""Limits to the rows of such a block: to add the sums of smaller blocks takes too long."""
Part = TypeVar("Part")
Done = TypeVar("Done")


WORKER = "mercer worker"
"""The start of the names of the threads that `map_in_threads` runs, each on a core."""


def in_worker_thread() -> bool:
    """Return whether this thread is one of those that `map_in_threads` runs."""
    return threading.current_thread().name.startswith(WORKER)


def cores() -> int:
    """Return the number of threads to use for linear algebra, from the environment or the CPU."""
    if in_worker_thread():
        return 1
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        given = os.environ.get(name, "")
        if given.isdecimal() and int(given) > 0:
            return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def map_in_threads(work: Callable[[Part], Done], parts: Iterable[Part]) -> list[Done]:
    """Return [work(part) for part in parts], computed in parallel threads."""
    parts = list(parts)
    number = min(cores(), len(parts))
    if number < 2:
        return [work(part) for part in parts]
    results: list[Any] = [None] * len(parts)
    remaining = iter(range(len(parts)))

    def work_until_done() -> None:
        """Work on one part after the other until none is left."""
        for i in remaining:
            results[i] = work(parts[i])

    contexts = [copy_context() for _ in range(number)]  # with numpy's errstate
    futures = [_pool(number).submit(context.run, work_until_done) for context in contexts]
    try:
        for future in futures:
            future.result()
    finally:
        for _ in remaining:  # after an error nothing new begins, and what has begun ends first
            pass
        wait(futures)
    return results


@cache
def _pool(number: int) -> ThreadPoolExecutor:
    """Return a pool of `number` threads, cached."""
    return ThreadPoolExecutor(number, thread_name_prefix=WORKER)


def _forget_pool() -> None:
    """Forget the thread pool after a fork, because threads do not survive it."""
    _pool.cache_clear()
    _Limit.lock, limits = threading.Lock(), _Limit.limits
    if _Limit.users:
        _Limit.users = 0
        limits.restore_original_limits()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


def run_in_cache_blocks(work: Callable[[slice], Any], rows: int, columns: int) -> None:
    """Call work(rows) for blocks of rows that fit in the cache, in threads if there are many."""
    if in_worker_thread() and rows * columns <= THREADED_ENTRIES:
        work(slice(0, rows))  # short calls: threads would wait for Python's lock
        return
    parts = blocks(rows, HELD // max(1, columns))
    if rows * columns < THREADED_ENTRIES:
        for part in parts:
            work(part)
    else:
        map_in_threads(work, parts)


def map_row_blocks(work: Callable[[list[slice]], Done], rows: int, step: int) -> list[Done]:
    """Call `work` once per thread with a list of slices of the rows; return the results.

    Blocks have about `step` rows, and there are no more threads than such blocks.
    The same blocks go to the same thread in every run, so that sums are the same too.
    """
    number = max(1, min(cores(), round(rows / max(1, step))))
    rounds = max(1, round(rows / (max(1, step) * number)))
    parts = list(blocks(rows, -(-rows // (rounds * number)) or 1))  # as many for each
    number = min(number, len(parts))
    if number < 2:
        return [work(parts)]
    with one_thread_each():
        return map_in_threads(work, [parts[i::number] for i in range(number)])


def rows_at_once(columns: int) -> int:
    """Return the number of rows of a block for `map_row_blocks`, given the number of columns."""
    return min(MOST_BLOCK_ROWS, max(LEAST_ROWS, AT_ONCE // max(1, columns)))


class _Limit:
    """The number of active `one_thread_each` contexts, and the limit of threads that they share."""

    lock = threading.Lock()
    users = 0
    limits: Any = None


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Limit linear algebra libraries to one thread per call inside this context.

    For threads that each compute products, and for products so small that the threads of numpy and
    scipy would only keep each other waiting.
    """
    with _Limit.lock:
        if _Limit.users == 0:
            _Limit.limits = _libraries().limit(limits=1)
        _Limit.users += 1
    try:
        yield
    finally:
        with _Limit.lock:
            _Limit.users -= 1
            if _Limit.users == 0:
                _Limit.limits.restore_original_limits()


@cache
def _libraries() -> ThreadpoolController:
    """Return the controller of the thread pools of linear algebra libraries, cached."""
    import scipy.linalg  # noqa: F401  so that it is among them

    return ThreadpoolController()
