"""Warnings about a search: the edge of a grid, copies of pairs, labels that never occur."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone

from .._base.arrays import count, dense, host, is_array
from .._base.errors import warn
from .._base.parameters import fingerprint
from ..operators import OperatorKernel
from ..problem import Problem
from ..spaces import LabelSets

GRID = 4
"""The smallest number of values of a grid for a warning about its edge."""
SMALLEST_GAIN = 0.02
"""Warn if the edge is better than its neighbour by this fraction of the variance of outputs."""
MOST_COPIES = 0.2
"""The fraction of pairs with a copy in another group above which left-out risks mislead."""
FEWEST_PAIRS, MOST_PAIRS = 20, 20_000
"""The numbers of pairs between which copies are searched for."""
OTHER_CHOICES = ("kernel", "output_kernel", "decoder", "loss")


def warn_at_edges(
    rows: list[dict[str, Any]], chosen: dict[str, Any], kernels: Sequence[OperatorKernel]
) -> None:
    """Warn if the chosen ridge or length scale is at the edge of its grid and still improving.

    Parameters
    ----------
    rows, chosen
        The trials as reported, and the one that was chosen.
    kernels
        The kernels whose length scales were given.
    """
    variance = max(row["risk"] for row in rows)  # about that of the mean, at the largest ridge
    path = [r for r in rows if all(r[k] == chosen[k] for k in OTHER_CHOICES)]
    _warn_at_end([(r["alpha"], r["risk"]) for r in path], chosen["alpha"], variance, "alphas")
    scales = {str(kernel): _length_scale(kernel) for kernel in kernels}
    form, own = scales.get(chosen["kernel"]) or ("", 0.0)
    least: dict[float, float] = {}  # the least risk at each length scale
    for row in rows:
        other, scale = scales.get(row["kernel"]) or ("", 0.0)
        if form and other == form and all(row[k] == chosen[k] for k in OTHER_CHOICES[1:]):
            least[scale] = min(row["risk"], least.get(scale, np.inf))
    _warn_at_end([*least.items()], own, variance, "length scales of kernel")


def _warn_at_end(
    grid: Sequence[tuple[float, float]], chosen: float, variance: float, name: str
) -> None:
    """Warn if the chosen value is an end of the (value, risk) grid and the risk still falls."""
    grid = sorted(grid)
    values = [value for value, _ in grid]
    if len(grid) < GRID or chosen not in (values[0], values[-1]):
        return
    end, next_to = (0, 1) if chosen == values[0] else (-1, -2)
    if grid[next_to][1] - grid[end][1] > SMALLEST_GAIN * variance:
        way = "smaller" if end == 0 else "larger"
        warn(
            f"the choice is at the edge of the {name}, {chosen:.3g}, and was still getting better "
            f"there: give {way} ones too."
        )


def _length_scale(kernel: OperatorKernel) -> tuple[str, float] | None:
    """Return a key common to kernels that differ only in length scale, and the length scale."""
    for name, value in kernel.get_params().items():
        if name.rpartition("__")[2] == "length_scale" and isinstance(value, Real):
            return fingerprint(clone(kernel).set_params(**{name: 1.0})), float(value)
    return None


def warn_of_data(problem: Problem) -> None:
    """Warn of labels that never occur, and of equal pairs in several groups."""
    for note in notes_on_data(problem):
        warn(note)


def notes_on_data(problem: Problem) -> Iterator[str]:
    """Yield a message for labels that never occur, and for equal pairs in several groups."""
    space, y = problem.outputs.kernel.space, problem.outputs.items
    if isinstance(space, LabelSets) and is_array(y) and y.ndim == 2:
        absent = np.flatnonzero(~(host(dense(y)) > 0).any(axis=0))
        if len(absent):
            some = ", ".join(map(str, absent[:5]))
            yield (
                f"{len(absent)} of the labels never occur in y and will not be predicted (columns "
                f"{some}): leave them out, or give examples."
            )
    wide = any(issparse(side.items) for side in (problem.inputs, problem.outputs))
    if FEWEST_PAIRS <= count(y) <= MOST_PAIRS and not (wide or problem.inputs.kernel.pairwise):
        fraction = _fraction_of_copies(problem)
        if fraction > MOST_COPIES:
            yield (
                f"{fraction:.0%} of the pairs repeat in another group that is left out alone, so "
                "that left-out scores are too good: remove copies, or give them one label in "
                "groups=."
            )


def _fraction_of_copies(problem: Problem) -> float:
    """Return the fraction of pairs with an equal pair in another group."""
    inputs, outputs = problem.inputs, problem.outputs
    numbers = [side.kernel.space.unique(side.items)[1] for side in (inputs, outputs)]
    pair = np.unique(np.stack(numbers, axis=1), axis=0, return_inverse=True)[1].ravel()
    both = np.unique(np.column_stack([pair, problem.left_out_labels]), axis=0)
    groups = np.bincount(both[:, 0])  # groups that each distinct pair is in
    return float((groups[pair] > 1).mean())
