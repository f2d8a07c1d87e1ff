"""`Shared` kernels, with one kernel for all grid points: windows of fields are the examples.

The input spectrum is of low rank, in kernel values with landmark windows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._base.arrays import host, like, namespace
from ..problem import Problem
from ..solvers import Basis, Cache, Factorization, FittedMap, OutputRows, Part, Parts
from .landmark_moments import TrainingWindows
from .shared_search import with_chosen_parameters
from .window_spectrum import LandmarkFieldMap, WindowSpectrum

if TYPE_CHECKING:
    from .shared import Shared

NOTHING = 1e-12
"""The fraction of the largest eigenvalue of an operator below which eigenvalues are zero."""


def factor_shared(problem: Problem, cache: Cache) -> Factorization:
    """Factor a problem with a `Shared` kernel, after choosing parameters left open by the user."""
    output_rows = cache.output_rows(problem)
    kernel: Any = problem.kernel.for_outputs(tuple(problem.outputs.items.shape[1:]))
    if kernel.random_state is None:  # further fits of the model draw the same landmarks
        seed = check_random_state(None).randint(2**31 - 1)
        kernel = clone(kernel).set_params(random_state=seed)
    if kernel.open_parameters:
        kernel = with_chosen_parameters(kernel, problem, output_rows)
    problem = replace(problem, kernel=kernel)  # so that models store the chosen parameters
    return factor_windows(problem, kernel.fitted_on(problem, output_rows), output_rows)


def factor_windows(problem: Problem, kernel: Shared, output_rows: OutputRows) -> Factorization:
    """Factor a problem with windows as rows, one part per eigenvector of the channel operator."""
    windows = TrainingWindows(problem, kernel, output_rows)
    T, B = windows.T, kernel.channel_operator()
    if B is None:
        b = kernel.scale * namespace(T).ones_like(T[0, :])
        return Parts(problem, kernel, output_rows, [Part(WindowSpectrum(windows), b, T)])
    values, vectors = np.linalg.eigh(host(B))
    values = np.maximum(values, NOTHING * values[-1])  # where B is zero, predictions are zero
    Q = np.kron(np.eye(kernel.output_grid.size), vectors)
    parts = []
    for j in range(len(values)):
        direction, b = like(vectors[:, j : j + 1], T), like(values[j : j + 1], T)
        parts.append(Part(WindowSpectrum(windows, direction), b, T @ direction))
    # Parts have a column for each grid point, and Q has the channels of a grid point together.
    order = np.arange(len(Q)).reshape(len(values), -1).T.reshape(-1)
    basis = Basis(like(Q, T), order)
    return Parts(problem, kernel, output_rows, parts, basis, sum_of_maps)


def sum_of_maps(fits: list[FittedMap]) -> FittedMap:
    """Return the sum of fitted maps along several channel directions, and the sum of means."""
    maps: Any = [fit.map for fit in fits]
    coef = sum(map.coefficients for map in maps)
    map = LandmarkFieldMap(maps[0].kernel, maps[0].landmarks, coef)
    return FittedMap(map, sum(fit.mean for fit in fits))
