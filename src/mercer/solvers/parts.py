"""Problems that fall apart into sets of output directions, factored once for every α."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Any

import numpy as np

from .._arrays import Array, Items, blocks, count, like, namespace, take
from .._arrays import part as part_of
from ..embedding import Embedding, PointMap
from ..operators import OperatorKernel
from ..problem import Problem
from .factorization import Factorization, LeftOut, LeftOutModels, Refused, Solution, _Points
from .left_out import LeaveOneOut, Part
from .outputs import Outputs
from .weights import weigher
from .without import moved

ENTRIES = 2**23
"""Numbers of the moves that are held at once."""
HELD = 2**21
"""Kernel values that a variance holds at once: few enough to stay near the processor."""


@dataclass(eq=False)
class Parts(Factorization):
    """A problem whose smoother falls apart into parts of output directions.

    Parameters
    ----------
    problem
        The problem.
    kernel
        The operator-valued kernel, fitted.
    outputs
        The outputs in coordinates.
    parts
        One `Part` for each set of directions that share E and s.
    Q
        The directions as columns in output coordinates; None where they are those.
    """

    problem: Problem
    kernel: OperatorKernel
    outputs: Outputs
    parts: list[Part]
    Q: Array | None

    @cached_property
    def order(self) -> np.ndarray | None:
        """Where each direction stands in the parts, one after the other; None where they do."""
        columns = [part.columns for part in self.parts if part.columns is not None]
        return np.argsort(np.concatenate(columns)) if columns else None

    # -- solve --------------------------------------------------------------------------------

    def solve(self, alpha: float) -> Solution:
        """The map g at one α."""
        (part,) = self.parts
        map, explained = part.inputs.map(self._turned_back(part.coefficients(alpha)))
        offset = None if self.outputs.mean is None else self.outputs.mean - explained
        frame = self.outputs.frame
        points = PointMap(map, offset, frame, weigher(self.problem, frame, alpha))
        return Solution(points, self.kernel)

    def _turned_back(self, C: Array) -> Array:
        """From the directions of the operator to output coordinates."""
        return C if self.Q is None else C @ namespace(self.Q).matrix_transpose(self.Q)

    def _in_order(self, columns: list[Array]) -> Array:
        """Columns of the parts in the order of the directions."""
        xp = namespace(*columns)
        joined = columns[0] if len(columns) == 1 else xp.concat(columns, axis=1)
        if self.order is None:
            return joined
        return xp.matrix_transpose(take(xp.matrix_transpose(joined), self.order))

    # -- left out -----------------------------------------------------------------------------

    def residuals(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[Array]:
        """Outputs minus their left-out predictions, in the directions of the operator."""
        if averaged:
            yield from map(self._averaged, alphas)
            return
        paths = [self._path(part, alphas) for part in self.parts]
        for columns in zip(*paths, strict=True):
            yield self.outputs.unweighted(self._in_order(list(columns)))

    def _path(self, part: Part, alphas: Sequence[float]) -> Iterable[Array]:
        """The left-out residuals of a part; where there are several, at once for all α."""
        path = LeaveOneOut(part, self.problem.groups).path(alphas)
        return path if len(self.parts) == 1 else list(path)

    def _averaged(self, alpha: float) -> Array:
        """The residuals of generalised cross-validation."""
        found = [LeaveOneOut(part).pooled(alpha) for part in self.parts]
        R = self._in_order([residuals for residuals, _ in found])
        mean = sum(rest for _, rest in found) / (R.shape[0] * R.shape[1])
        return self.outputs.unweighted(R) / mean

    def left_out(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[LeftOut]:
        """Left-out predictions for every α, all directions rotated back when points are asked."""
        for alpha, E in zip(alphas, self.residuals(alphas, averaged), strict=True):
            yield LeftOut(alpha, namespace(E).sum(E * E, axis=1), _Points(self, E))

    def left_out_points(self, E: Array) -> Embedding:
        """Points whose residuals are E."""
        return self.outputs.points(self.outputs.coordinates - self._turned_back(E), self.problem)

    def moves(self, X: Items, alpha: float) -> Iterator[tuple[slice, Array]]:
        """Σ_{i∈G} w_i(x) e_i in output coordinates, for the group G of each training example.

        (some inputs, n, q), block by block of inputs: what the model that leaves G out predicts
        is less by that.
        """
        E = next(self.residuals([alpha]))
        E = E if self.outputs.roots is None else E * self.outputs.roots
        n, q = E.shape
        labels = self.problem.left_out_labels
        together = None
        if self.problem.groups is not None:
            together = like(labels[:, None] == labels[None, :], E)
        projections = [part.inputs.project(X) for part in self.parts]
        for rows in blocks(projections[0].shape[0], max(1, ENTRIES // (n * q))):
            parts = self._moved([Z[rows, :] for Z in projections], alpha, E, together)
            D = namespace(E).stack(parts, axis=-1)
            yield rows, self._turned_back(D)

    def _moved(
        self, projections: list[Array], alpha: float, E: Array, together: Array | None
    ) -> list[Array]:
        """The moves of one block of inputs, one array a direction, in order."""
        moved: dict[int, Array] = {}
        for part, Z in zip(self.parts, projections, strict=True):
            directions = range(part.b.shape[0])
            own = part.columns if part.columns is not None else np.arange(part.b.shape[0])
            W = part.weights(Z, alpha, 0) if part.alike else None
            for j in directions:
                w = part.weights(Z, alpha, j) if W is None else W
                move = w * E[:, int(own[j])]
                moved[int(own[j])] = move if together is None else move @ together
        return [moved[j] for j in range(len(moved))]

    def without(self, alpha: float) -> LeftOutModels:
        """Points of new inputs by models that leave training examples out, each input its own."""
        map = self.solve(alpha).points
        residuals = [part.residuals(alpha) for part in self.parts]

        def points(X: Items, sets: Sequence[np.ndarray]) -> Embedding:
            parts = zip(self.parts, residuals, strict=True)
            moves = [moved(part, R, X, alpha, sets) for part, R in parts]
            less = self._turned_back(self._in_order(moves))
            return Embedding(map(X).coordinates - less, map.frame)

        return points

    # -- what the same spectra give -----------------------------------------------------------

    @property
    def scale(self) -> float:
        """(tr K_x / n) · tr(B S_vv) / tr S_vv, over all parts."""
        xp = namespace(self.outputs.rows)
        reached = sizes = 0.0
        for part in self.parts:
            lengths = xp.sum(part.T * part.T, axis=0)
            level = float(xp.sum(part.inputs.s)) / part.inputs.total
            reached += level * float(xp.sum(part.b * lengths))
            sizes += float(xp.sum(lengths))
        return reached / sizes if reached > 0 and sizes > 0 else 1.0

    @property
    def nbytes(self) -> float:
        """E and the outputs of every part, in float64."""
        size = self.outputs.rows.shape[0] * self.outputs.rows.shape[1]
        spectra = sum(part.inputs.E.shape[0] * part.inputs.E.shape[1] for part in self.parts)
        return 8.0 * (spectra + 3 * size)

    def evidence(self, alpha: float) -> float:
        """−½[N log(Σ c²/(bs + α)/N) + Σ log(bs + α)], c = EᵀT; with an intercept of n - 1 rows.

        Refused where outputs have no finite features: the number of directions is arbitrary then.
        """
        infinite = self.problem.outputs.kernel.features is None
        if infinite and self.problem.outputs.features is None:
            raise Refused(
                f"{self.problem.outputs.kernel} has infinitely many directions, over which the "
                "evidence is not defined: use finite output features."
            )
        misfit = logs = number = 0.0
        for part in self.parts:
            xp, (n, q) = namespace(part.T), part.T.shape
            D = part.inputs.s[:, None] * part.b[None, :] + alpha
            C = part.inside
            misfit += float(xp.sum(C * C / D))
            logs += float(xp.sum(xp.log(D)))
            rows = n - (part.inputs.N is not None)
            number += rows * q
            if not part.inputs.complete:  # directions that no feature reaches have eigenvalue α
                unseen = rows - part.inputs.s.shape[0]
                misfit += float(xp.sum(part.outside * part.T)) / alpha
                logs += unseen * q * log(alpha)
        weights = self.problem.weights
        extra = 0.0 if weights is None else 0.5 * float(np.log(weights).sum()) * part.T.shape[1]
        return -0.5 * (number * log(misfit / number) + logs) + extra

    def density(self, alpha: float) -> float:
        """−½ Σ_j [n log(2πσ_j²) + n - Σ_i log(1 - H_ii)]."""
        from .densities import left_out_density

        return left_out_density(self, alpha)

    def variance(self, X: Items, alpha: float) -> Array:
        """(b_j k(x,x) - Σ_p b_j² z_p²/(b_j s_p + α)) / α, and 1/Σw for an intercept."""
        return self._in_order(
            [unit_variance(part.inputs, part.b, part.inputs.share, X, alpha) for part in self.parts]
        )


def unit_variance(inputs: Any, b: Array, share: float, X: Items, alpha: float) -> Array:
    """The variance of g(x) along directions of eigenvalues b, one column each, for unit noise."""
    xp, found = namespace(b), []
    removed = b * b / (inputs.s[:, None] * b[None, :] + alpha)
    for rows in blocks(count(X), max(1, HELD // max(1, inputs.s.shape[0]))):
        Z, prior = inputs.both(part_of(X, rows))
        Z *= Z
        found.append(prior[:, None] * b[None, :] - Z @ removed)
    left = xp.concat(found)
    return xp.where(left > 0, left, xp.zeros_like(left)) / alpha + share**2
