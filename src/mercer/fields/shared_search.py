"""Choice of the open parameters of `Shared` kernels by left-out error, with few landmarks.

A parameter is open if the user has not given its value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from .._base.arrays import blocks, is_foreign, namespace
from ..kernels import Matern
from ..problem import Problem
from ..solvers import Cache, LeaveOneOut, OutputRows, Part
from ..spaces import Fields
from .landmark_moments import TrainingWindows, fields_in_memory
from .window_spectrum import WindowSpectrum

if TYPE_CHECKING:
    from .shared import Shared

CHOICE_RIDGES = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""The ridges for each choice, relative to the number of fields times the mean Gram diagonal."""
GRIDS: dict[str, tuple] = {
    "window": (0.25, 0.5, 1.0, 2.0, 4.0),
    "position": (0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0),
    "width": (0.03, 0.06, 0.12, 0.25, 0.5),
    "floor": (0.0, 0.003, 0.01, 0.03, 0.1, 0.3),
}
"""The values of each parameter: length scales of windows in units of the median distance, and
lengths on the grid in units of the longest axis."""
START_POSITION = {"window": 2, "position": 3, "width": 3, "floor": 3}
STAGES = ((128, 600, 3), (1000, 1500, 1))
DEVICE_STAGES = ((250, 2000, 3), (1000, 4000, 1))
"""The stages of a choice: numbers of fields, of landmarks, and of rounds over the parameters; the
second constant is for accelerators."""
SCORED_FIELDS = 64
"""The largest number of left-out fields for the error at a grid position."""
GAIN = 1e-3
"""The smallest relative decrease of the error for which a step is taken."""


Position = dict[str, int]
"""The index of each open parameter's value in `GRIDS`, by parameter name."""


def with_chosen_parameters(kernel: Shared, problem: Problem, output_rows: OutputRows) -> Shared:
    """Return the kernel with its open parameters chosen by mean squared left-out error."""
    position = {name: START_POSITION[name] for name in kernel.open_parameters}
    first, last = DEVICE_STAGES if is_foreign(problem.inputs.items) else STAGES
    stages = [first, last] if problem.n > first[0] else [(*last[:2], first[2])]
    for fields, rank, rounds in stages:
        search = SharedSearch(kernel, problem, output_rows, fields, rank)
        position = coordinate_descent(search, position, rounds)
    return search.kernel_at(position)


def coordinate_descent(search: SharedSearch, position: Position, rounds: int) -> Position:
    """Minimise the risk over the parameter grid, one parameter at a time; return the position.

    Each of at most `rounds` rounds goes through all parameters.
    """
    best = search.risk(position)
    for _ in range(rounds):
        before = position
        for name in position:
            for step in (1, -1):
                moved, best = line_search(search, position, name, step, best)
                if moved != position:
                    position = moved
                    break
        if position == before:
            break
    return position


def line_search(
    search: SharedSearch, position: Position, name: str, step: int, best: float
) -> tuple[Position, float]:
    """Move `name` by `step` while the risk falls below `best`; return the position and risk."""
    while 0 <= position[name] + step < len(GRIDS[name]):
        moved = position | {name: position[name] + step}
        risk = search.risk(moved)
        if not risk < best * (1.0 - GAIN):
            break
        position, best = moved, risk
    return position, best


class SharedSearch:
    """The left-out error of kernels on a parameter grid, computed once per grid position.

    Parameters
    ----------
    kernel
        The kernel with open parameters.
    problem, output_rows
        The problem, and its outputs in coordinates.
    fields, rank
        The number of fields and of landmarks from which an error is computed.
    """

    def __init__(
        self, kernel: Shared, problem: Problem, output_rows: OutputRows, fields: int, rank: int
    ):
        self.kernel, self.problem, self.output_rows = kernel, problem, output_rows
        random, size = np.random.RandomState(0), min(problem.n, fields)
        drawn = np.sort(random.permutation(problem.n)[:size])
        self.scored = np.sort(random.permutation(size)[:SCORED_FIELDS])[:, None]
        self.sample = problem.subset(drawn)
        self.sample_outputs = Cache().output_rows(self.sample)
        self.rank = min(kernel.rank, rank)
        self.risks: dict[tuple, float] = {}
        self.medians: dict[tuple, float] = {}
        grid = (kernel.fields or Fields()).grid(tuple(problem.inputs.items.shape[1:]))
        self.extent = float(np.ptp(grid.coordinates, axis=0).max()) or 1.0

    def kernel_at(self, position: dict[str, int]) -> Shared:
        """Return the kernel with the parameter values at a grid position."""
        values: dict[str, Any] = {name: GRIDS[name][step] for name, step in position.items()}
        for name in ("width", "position"):
            if name in values:
                values[name] = values[name] * self.extent
        if "position" in values:
            values["position"] = Matern(values["position"])
        ratio = values.pop("window", None)
        kernel: Shared = clone(self.kernel).set_params(**values)
        if ratio is not None:
            kernel.set_params(window=Matern("median"))
            key = kernel.width, kernel.floor  # the median distance depends on these weights
            if key not in self.medians:
                fitted = kernel.fitted_on(self.problem, self.output_rows)
                self.medians[key] = fitted.window_.length_scale_
            kernel.set_params(window=Matern(ratio * self.medians[key]))
        return kernel

    def risk(self, position: dict[str, int]) -> float:
        """Return the mean squared left-out error at a grid position, for the best ridge."""
        key = tuple(position.items())
        if key not in self.risks:
            self.risks[key] = self._risk(self.kernel_at(position).set_params(rank=self.rank))
        return self.risks[key]

    def _risk(self, kernel: Shared) -> float:
        """Return the mean squared left-out error of a kernel, for the best ridge."""
        fitted = kernel.fitted_on(self.problem, self.output_rows)
        windows = TrainingWindows(self.sample, fitted, self.sample_outputs)
        xp, T = namespace(windows.T), windows.T
        spectrum = WindowSpectrum(windows, moments=windows.moments)
        level = (spectrum.mean_diagonal or 1.0) * self.sample.n
        alphas = [ridge * level for ridge in CHOICE_RIDGES]
        members = np.stack([spectrum.slots.of_items(field) for field in self.scored])
        points = members.shape[1]
        step = fields_in_memory(windows.X, points * max(points, self.rank))
        loo = LeaveOneOut(Part(spectrum, xp.ones_like(T[0, :]), T))
        errors = [
            loo.solve_groups(None, alphas, members[some]) for some in blocks(len(members), step)
        ]
        return float(xp.min(xp.mean(xp.concat(errors, axis=1) ** 2, axis=(1, 2))))
