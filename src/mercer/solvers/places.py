"""Fields to fields at low rank: every place of every example is an example of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, host, is_foreign, like, namespace
from .._base.linalg import PositiveDefinite
from ..embedding import Embedding
from ..operators.separable import fitted
from ..operators.shared import SINGLE, Shared
from ..problem import Problem, Want
from .factorization import (
    Cache,
    Factorization,
    LeftOut,
    LeftOutModels,
    Outputs,
    Solution,
    Variances,
)
from .place_moments import Moments, PlaceData, PlaceMap, joined
from .spectral import Spectral
from .window_inputs import WindowInputs, slots_of, window_part

CHOICE_RANK = 4000
"""The most landmarks that several ridges are chosen with; the last fit has all."""
HOST_CHOICE_RANK = 1000
"""The same without an accelerator."""
NOTHING = 1e-12
"""A share of the largest eigenvalue of an operator that counts as zero."""


class Places(Factorization):
    """Kernels that all places share, on landmarks among the windows; moments are streamed.

    Solutions have the rank asked for; several ridges are compared at a smaller one.
    """

    name, costs = "places", "low rank"

    def __init__(self, problem: Problem, kernel: Shared, outputs: Outputs):
        self.problem, self.kernel, self.outputs = problem, kernel, outputs
        self.data = PlaceData(problem, kernel, outputs)
        self.rank = int(self.data.marks.shown.shape[0])
        self.known: dict[float, Spectral] = {}

    @classmethod
    def accepts(cls, problem: Problem, want: Want) -> str | None:
        """A kernel over places, pairs held whole, the square loss."""
        if problem.inputs.features is not None:
            return f"{problem.kernel} draws landmarks itself: give rank= there, not features="
        if problem.loss is not None or want.judge != "closed":
            return f"{problem.kernel} goes with the square loss"
        return None

    @classmethod
    def factor(cls, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Choose what is open, draw landmarks, and gather the moments when they are needed."""
        from .place_choice import chosen

        outputs = cache.outputs(problem)
        kernel: Any = problem.kernel.for_outputs(tuple(problem.outputs.items.shape[1:]))
        if kernel.open:
            kernel = chosen(kernel, problem, outputs)
        problem = replace(problem, kernel=kernel)  # a model keeps what was chosen
        return cls(problem, settled(kernel, problem, outputs), outputs)

    @cached_property
    def full(self) -> Moments:
        """The moments of all landmarks."""
        return Moments(self.data, self.data.marks)

    @cached_property
    def small(self) -> Moments:
        """The moments of some, for a choice."""
        most = CHOICE_RANK if is_foreign(self.data.X) else HOST_CHOICE_RANK
        if self.rank <= most:
            return self.full
        return Moments(self.data, self.data.marks.first(most))

    @property
    def scale(self) -> float:
        """The mean of the diagonal over all places, as the small fit has it."""
        return self.kernel.scale * self.small.scale

    def _ridge(self, alpha: float) -> float:
        """The ridge of the kernel without the number that multiplies it."""
        return alpha / self.kernel.scale

    def solve(self, alpha: float) -> Solution:
        """The map g at one α."""
        full = self.full
        coef = self._coefficients(self._ridge(alpha))
        mean, offset = self.outputs.mean, None
        if mean is not None:
            explained = joined((full.means @ coef)[None, :, :], self.data.grid)
            offset = mean - explained[0, :]
        map = PlaceMap(self.kernel, full.marks, coef)
        return Solution(self._point_map(map, offset), self.kernel)

    @cached_property
    def channels(self) -> tuple[Array, list[float]] | None:
        """Eigenvectors and eigenvalues of the operator over channels; None for the identity."""
        B = self.kernel.channel_operator()
        if B is None:
            return None
        values, vectors = np.linalg.eigh(B)
        least = NOTHING * float(values[-1])  # where B is zero, the ridge takes all
        return like(vectors, self.data.X), [max(float(v), least) for v in values]

    def _coefficients(self, alpha: float) -> Array:
        """The coefficients of the landmarks; along an eigenvector of B the ridge is α / b."""
        full, xp = self.full, namespace(self.full.b)
        if self.channels is None:
            return PositiveDefinite(full.at(alpha)).solve(full.b)
        Q, values = self.channels
        turned, columns = full.b @ Q, []
        for j, b in enumerate(values):
            own = turned[:, j : j + 1]
            columns.append(PositiveDefinite(full.at(alpha / b)).solve(own))
        return xp.concat(columns, axis=1) @ xp.matrix_transpose(Q)

    # -- by parts: one ridge at the full rank, several at that of a choice ------------------------

    def at(self, alpha: float) -> Spectral:
        """The factorisation at one ridge, at the full rank; the last one is kept."""
        if alpha not in self.known:
            self.known = {alpha: self._parts(self.full, alpha)}
        return self.known[alpha]

    @cached_property
    def path(self) -> Spectral:
        """The factorisation for every ridge, at the rank of a choice."""
        return self._parts(self.small)

    def _parts(self, moments: Moments, alpha: float | None = None) -> Spectral:
        """One part for each eigenvalue of the operator over channels."""
        data, grid = self.data, self.data.grid
        T = namespace(data.T).reshape(data.T, (-1, data.T.shape[2]))
        if self.channels is None:
            scales, sets, Q = [self.kernel.scale], [slice(None)], None
            cross = moments.b
        else:
            turn, scales = self.channels
            sets = [slice(j, j + 1) for j in range(len(scales))]
            T, cross = T @ turn, moments.b @ turn
            Q = like(np.kron(np.eye(grid.size), host(turn)), T)
        parts = []
        for b, own in zip(scales, sets, strict=True):
            mine = T[:, own]
            slots = slots_of(self.kernel, data.n, int(mine.shape[1]))
            if alpha is None:
                inputs = WindowInputs.spectral(data, moments, slots)
            else:
                inputs = WindowInputs.at_ridge(data, moments, slots, alpha, b)
            columns = None if Q is None else np.arange(own.start, Q.shape[0], len(sets))
            scale = b * namespace(mine).ones_like(mine[0, :])
            parts.append(window_part(inputs, mine, cross[:, own], scale, columns))
        return Spectral(self.problem, self.kernel, self.outputs, parts, Q)

    @property
    def Q(self) -> Array | None:  # type: ignore[override]
        """The directions of the operator over channels at every location."""
        if self.channels is None:
            return None
        return like(np.kron(np.eye(self.data.grid.size), host(self.channels[0])), self.data.T)

    def residuals(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[Array]:
        """Those of all locations of a field (or group) together."""
        if len(alphas) == 1:
            return self.at(alphas[0]).residuals(alphas, averaged)
        return self.path.residuals(alphas, averaged)

    def left_out_points(self, E: Array) -> Embedding:
        """Points whose left-out residuals are E in the directions of the operator."""
        directions = self.Q
        if directions is not None:
            E = E @ namespace(E).matrix_transpose(directions)
        return self.outputs.points(self.outputs.coordinates - E, self.problem)

    def left_out_quickly(self, alpha: float) -> LeftOut:
        """Left-out predictions at the rank of a choice."""
        return self._left_out_at(alpha, next(self.path.residuals([alpha])))

    def moves(self, X: Items, alpha: float) -> Iterator[tuple[slice, Array]]:
        """How leaving each field's group out moves the points of new inputs."""
        return self.at(alpha).moves(X, alpha)

    def without(self, alpha: float) -> LeftOutModels:
        """Points of new inputs by models that leave fields out, each input its own."""
        return self.at(alpha).points_without(alpha, self.solve(alpha).points)

    def variances(self, alpha: float) -> Variances:
        """The posterior variance of every output component, for unit noise."""
        return self.at(alpha).variances(alpha)

    def noise(self, alpha: float) -> float:
        """The variance of the noise that makes the outputs most likely."""
        return self.at(alpha).noise(alpha)

    def left_out_noises(self, alpha: float) -> np.ndarray:
        """The variance of the noise along each direction, as left-out predictions show it."""
        return self.at(alpha).left_out_noises(alpha)

    def evidence(self, alpha: float) -> float:
        """The log evidence of the ridge, as at low rank."""
        return self.at(alpha).evidence(alpha)

    def density(self, alpha: float) -> float:
        """The log density of the outputs of every field given all others."""
        return self.at(alpha).density(alpha)


def settled(kernel: Shared, problem: Problem, outputs: Outputs) -> Shared:
    """The kernel, fitted on all inputs; large fits take distances in float32."""
    made: Shared = fitted(kernel, problem.inputs.items, outputs.rows, problem.weights)
    size = float(problem.n) * made.output_grid.size * made.rank * len(made.roots_)
    made.single_ = size > SINGLE and made.window_.radial is not None
    return made
