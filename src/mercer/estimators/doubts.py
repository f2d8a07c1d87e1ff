"""Warnings about a choice: the edge of a grid, pairs that come again, labels that never occur."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._base.arrays import count, dense, host
from .._base.user_warnings import warn
from ..problem import Problem
from ..spaces import LabelSets

GRID = 4
"""Values from which on a grid is a search whose end is worth a word."""
WORTH = 0.02
"""The share of the outputs' variance by which the end must be better than its neighbour."""
AGAIN = 0.2
"""The share of pairs that come again, in another group, from which on left-out risks mislead."""
FEWEST, LOOKED_AT = 20, 20_000
"""Pairs from which on, and up to which, that is looked for."""


def warn_at_edges(rows: list[dict[str, Any]], chosen: dict[str, Any], scales: bool) -> None:
    """Warn where the chosen ridge or length scale ends its grid and the next one was worse.

    Parameters
    ----------
    rows, chosen
        The trials as reported, and the one that was chosen.
    scales
        Whether length scales were given, not only ridges.
    """
    variance = max(row["risk"] for row in rows)  # about that of the mean, at the largest ridge
    path = [r for r in rows if all(r[k] == chosen[k] for k in SAME)]
    _warn_at_end([(r["alpha"], r["risk"]) for r in path], chosen["alpha"], variance, "alphas")
    own = _split(chosen["kernel"])
    if scales and own is not None:
        best: dict[float, float] = {}  # the least risk at each length scale
        for row in rows:
            form, scale = _split(row["kernel"]) or ("", 0.0)
            if form == own[0] and all(row[k] == chosen[k] for k in SAME[1:]):
                best[scale] = min(row["risk"], best.get(scale, np.inf))
        _warn_at_end([*best.items()], own[1], variance, "length scales of kernel")


LENGTH = re.compile(r"length_scale=([^,)]*)")
SAME = ("kernel", "output_kernel", "decoder", "loss")


def _warn_at_end(
    grid: Sequence[tuple[float, float]], chosen: float, variance: float, name: str
) -> None:
    grid = sorted(grid)
    values = [value for value, _ in grid]
    if len(grid) < GRID or chosen not in (values[0], values[-1]):
        return
    end, next_to = (0, 1) if chosen == values[0] else (-1, -2)
    if grid[next_to][1] - grid[end][1] > WORTH * variance:
        way = "smaller" if end == 0 else "larger"
        warn(
            f"the choice sits at the edge of the {name}, {chosen:.3g}, and was still getting "
            f"better there: give {way} ones too."
        )


def _split(kernel: str) -> tuple[str, float] | None:
    """A kernel in words without its one length scale, and the length scale."""
    found = LENGTH.search(kernel)
    try:
        return (LENGTH.sub("", kernel, count=1), float(found[1])) if found else None
    except ValueError:  # "median"
        return None


def warn_of_data(problem: Problem) -> None:
    """Warn of what is odd about the data."""
    for doubt in doubts_of(problem):
        warn(doubt)


def doubts_of(problem: Problem) -> Iterator[str]:
    """Labels that never occur, and pairs that come again where one is left out, in words."""
    space, y = problem.outputs.kernel.space, problem.outputs.items
    if isinstance(space, LabelSets) and getattr(y, "ndim", 1) == 2:
        absent = np.flatnonzero(~(host(dense(y)) > 0).any(axis=0))
        if len(absent):
            some = ", ".join(map(str, absent[:5]))
            yield (
                f"{len(absent)} of the labels never occur in y and will not be predicted (columns "
                f"{some}): leave them out, or give examples."
            )
    wide = any(issparse(side.items) for side in (problem.inputs, problem.outputs))
    if FEWEST <= count(y) <= LOOKED_AT and not (wide or problem.inputs.kernel.pairwise):
        share = _share_of_copies(problem)
        if share > AGAIN:
            yield (
                f"{share:.0%} of the pairs come again in another group that is left out alone, so "
                "that left-out scores are too good: remove copies, or give them one label in "
                "groups=."
            )


def _share_of_copies(problem: Problem) -> float:
    """Pairs equal in input and output whose groups differ: one is known when the other is left."""
    inputs, outputs = problem.inputs, problem.outputs
    numbers = [side.kernel.space.unique(side.items)[1] for side in (inputs, outputs)]
    pair = np.unique(np.stack(numbers, axis=1), axis=0, return_inverse=True)[1].ravel()
    both = np.unique(np.column_stack([pair, problem.left_out_labels]), axis=0)
    groups = np.bincount(both[:, 0])  # groups that each distinct pair is in
    return float((groups[pair] > 1).mean())
