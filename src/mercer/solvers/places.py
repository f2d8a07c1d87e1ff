"""Fields to fields at low rank: every location of every example is an example of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._base.arrays import Array, host, like, namespace
from ..operators.separable import fitted
from ..operators.shared import SINGLE, Shared
from ..problem import Problem, Want
from .factorization import Factorization
from .inputs import FittedMap
from .landmark_moments import FieldRows, LandmarkFieldMap, rows_on_grid
from .outputs import Basis, Cache, OutputRows
from .part import Part
from .window_inputs import Landmarks, WindowInputs, slots_of

NOTHING = 1e-12
"""A fraction of the largest eigenvalue of an operator that counts as zero."""


def place_refusal(problem: Problem, want: Want) -> str | None:
    """Return why a kernel shared by all locations does not accept a problem; None if it does."""
    if problem.inputs.features is not None:
        return f"{problem.kernel} draws landmarks itself: give rank= there, not features="
    if problem.loss is not None or want.judge != "closed":
        return f"{problem.kernel} goes with the square loss"
    return None


def places(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Factor a problem whose kernel is shared by all locations, after choosing open parameters."""
    from .shared_choice import with_chosen_parameters

    outputs = cache.outputs(problem)
    kernel: Any = problem.kernel.for_outputs(tuple(problem.outputs.items.shape[1:]))
    if kernel.open:
        kernel = with_chosen_parameters(kernel, problem, outputs)
    problem = replace(problem, kernel=kernel)  # a model keeps what was chosen
    return by_windows(problem, fitted_shared(kernel, problem, outputs), outputs)


def by_windows(
    problem: Problem, kernel: Shared, outputs: OutputRows, landmarks: Landmarks | None = None
) -> Factorization:
    """Factor the problem with windows as rows, in one part per eigenvalue of the channels."""
    landmarks = landmarks or Landmarks(FieldRows(problem, kernel, outputs))
    data, found = landmarks.data, channel_directions(kernel)
    T = namespace(data.T).reshape(data.T, (-1, data.T.shape[2]))
    if found is None:
        slots = slots_of(kernel, data.n, int(T.shape[1]))
        scale = kernel.scale * namespace(T).ones_like(T[0, :])
        parts = [Part(WindowInputs(landmarks, slots), scale, T)]
        return Factorization(problem, kernel, outputs, parts, join=_joining_function(kernel, None))
    scales, directions = found
    eigenvectors = like(directions, T)
    Q = like(np.kron(np.eye(data.grid.size), directions), T)
    slots, parts = slots_of(kernel, data.n, 1), []
    for j, b in enumerate(scales):
        own = eigenvectors[:, j : j + 1]
        inputs, columns = WindowInputs(landmarks, slots, own), np.arange(j, Q.shape[0], len(scales))
        parts.append(Part(inputs, like(np.array([b]), T), T @ own, columns=columns))
    return Factorization(
        problem, kernel, outputs, parts, Basis(Q), _joining_function(kernel, eigenvectors)
    )


def _joining_function(kernel: Shared, eigenvectors: Array | None) -> Any:
    """Return a function that joins the fitted maps of all channel directions into one map."""

    def join(fits: list[FittedMap]) -> FittedMap:
        xp = namespace(fits[0][0].coefficients)
        coef = _to_channels(xp.concat([map.coefficients for map, _ in fits], axis=1), eigenvectors)
        mean: Any = 0.0
        if not isinstance(fits[0][1], float):
            means = _to_channels(xp.concat([mean for _, mean in fits], axis=1), eigenvectors)
            mean = rows_on_grid(means[None, :, :], kernel.output_grid)[0, :]
        landmarks: Any = fits[0][0]
        return LandmarkFieldMap(kernel, landmarks.landmarks, coef), mean

    return join


def _to_channels(C: Array, eigenvectors: Array | None) -> Array:
    """Convert values C along the channel eigenvectors to channels."""
    return C if eigenvectors is None else C @ namespace(eigenvectors).matrix_transpose(eigenvectors)


def channel_directions(kernel: Shared) -> tuple[list[float], np.ndarray] | None:
    """Return eigenvalues and eigenvectors of the operator over channels; None for the identity."""
    B = kernel.channel_operator()
    if B is None:
        return None
    values, vectors = np.linalg.eigh(host(B))
    least = NOTHING * float(values[-1])  # where B is zero, the ridge takes all
    return [max(float(v), least) for v in values], vectors


def fitted_shared(kernel: Shared, problem: Problem, outputs: OutputRows) -> Shared:
    """Return the kernel fitted on all inputs; large problems use distances in float32."""
    made: Shared = fitted(kernel, problem.inputs.items, outputs.rows, problem.weights)
    size = float(problem.n) * made.output_grid.size * made.rank * len(made.roots_)
    made.single_ = size > SINGLE and made.window_.radial is not None
    return made
