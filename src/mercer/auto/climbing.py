"""The search for the best of an ordered list, such as kernels by their length scale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def climb(
    number: int,
    start: int,
    fit: Callable[[int], Any | None],
    compare: Callable[[Any, Any], tuple[bool, bool]],
) -> tuple[int, Any] | None:
    """Return the index and the model of the best of ordered choices, found by hill climbing.

    The search starts at one choice, and goes upwards, else downwards, until the next model is not
    better, or is better by less than a standard error.

    Parameters
    ----------
    number : int
        The number of choices.
    start : int
        The index of the first choice.
    fit : callable
        Returns the model of an index; None if there is no time left.
    compare : callable
        Returns whether a model is better than another, and whether it is clearly better.
    """
    model = fit(start)
    if model is None:
        return None
    for step in (1, -1):
        best, model = _climb_one_way(number, start, model, step, fit, compare)
        if best != start:
            return best, model
    return start, model


def _climb_one_way(
    number: int, at: int, model: Any, step: int, fit: Callable, compare: Callable
) -> tuple[int, Any]:
    """Fit choices from index `at` on while they improve; return the best index and its model.

    `step` is 1 or -1, the direction; the other arguments are those of `climb`.
    """
    while 0 <= at + step < number:
        other = fit(at + step)
        better, clearly = (False, False) if other is None else compare(other, model)
        if not better:
            break
        at, model = at + step, other
        if not clearly:
            break
    return at, model
