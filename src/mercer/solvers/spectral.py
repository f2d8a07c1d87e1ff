"""Scalar kernels times operators, by the spectra of the inputs and of the operator.

Problems fall apart into sets of output directions, each factored once for every α.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, blocks, like, namespace
from .._base.memory import ENTRIES
from .._base.plan import SPECTRAL_SQUARES
from ..embedding import Embedding, PointMap
from ..operators import Moments, OperatorKernel, Separable
from ..operators.separable import SpectralMoments
from ..problem import Problem, Want
from .densities import left_out_density, left_out_noise
from .factorization import Cache, Factorization, LeftOutModels, Outputs, Refused, Solution
from .inputs import ExactInputs, InputSpectrum
from .left_out import LeaveOneOut, Part, pooled
from .slotted import slot_moves, slots_without
from .variances import SpectralVariances, in_order
from .weights import stands_out
from .without import moved

REFINED = 1e-7
"""Ridges below this share of the largest eigenvalue lose digits to the rounding of a spectrum."""


@dataclass(eq=False)
class Spectral(Factorization):
    """The ridge equation B W S_uu + αW = S_vu by two symmetric eigendecompositions, exactly.

    The smoother falls apart into parts of output directions.

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

    Notes
    -----
    With √w K √w = E diag(s) Eᵀ and B = Q diag(b) Qᵀ the equation is diagonal: the dual
    coefficients along direction j are E (b_j s + α)⁻¹ Eᵀ (VQ)_j, and g(x) = B Σ_i k(x, x_i) c_i.
    E is complete, so that small eigenvalues lose nothing at new inputs. Once factored, every
    further α costs a matrix product.

    References
    ----------
    Proposition 1 of Kadri et al. (2013) states the same solution by an n² × n² inverse.
    """

    name = "spectral"
    problem: Problem
    kernel: OperatorKernel
    outputs: Outputs
    parts: list[Part]
    Q: Array | None

    @classmethod
    def factor(cls, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Factor both sides."""
        problem.require_room(SPECTRAL_SQUARES)
        kernel, X = problem.inputs.kernel, problem.inputs.items
        parts = kernel, X, problem.weights, problem.intercept
        inputs, outputs = cache.inputs(kernel, ExactInputs, *parts), cache.outputs(problem)
        EV = namespace(outputs.rows).matrix_transpose(inputs.E) @ outputs.rows
        return separated(problem, inputs, outputs, SpectralMoments(inputs.total, EV, inputs.s), EV)

    @cached_property
    def order(self) -> np.ndarray | None:
        """Where each direction stands in the parts, one after the other; None where they do."""
        columns = [part.columns for part in self.parts if part.columns is not None]
        return np.argsort(np.concatenate(columns)) if columns else None

    # -- solve --------------------------------------------------------------------------------

    def solve(self, alpha: float) -> Solution:
        """The map g at one α."""
        (part,) = self.parts
        fit = part.inputs.map(part_coefficients(part, alpha, self.Q))
        return self._solution(alpha, fit, self.kernel)

    def turned(self, V: Array) -> Array:
        """From output coordinates to the directions of the operator."""
        return V if self.Q is None else V @ self.Q

    def _turned_back(self, C: Array) -> Array:
        """From the directions of the operator to output coordinates."""
        return C if self.Q is None else C @ namespace(self.Q).matrix_transpose(self.Q)

    def _in_order(self, columns: list[Array]) -> Array:
        """Columns of the parts in the order of the directions."""
        return in_order(columns, self.order)

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
        if part.slots is not None:
            path = part.left_out_path(alphas, self.problem.left_out_labels)
            return map(part.joined, path)
        path = LeaveOneOut(part, self.problem.groups).path(alphas)
        return path if len(self.parts) == 1 else list(path)

    def _averaged(self, alpha: float) -> Array:
        """The residuals of generalised cross-validation."""
        found = [pooled(part, alpha) for part in self.parts]
        joined = [part.joined(R) for part, (R, _) in zip(self.parts, found, strict=True)]
        times = [self._times(part) for part in self.parts]
        rest = sum(float(rest @ t) for (_, rest), t in zip(found, times, strict=True))
        cells = sum(R.shape[0] * t.sum() for (R, _), t in zip(found, times, strict=True))
        return self.outputs.unweighted(self._in_order(joined)) / (rest / cells)

    def _times(self, part: Part) -> np.ndarray:
        """How many output directions each direction of a part stands for."""
        return np.ones(part.b.shape[0])

    def left_out_points(self, E: Array) -> Embedding:
        """Points whose residuals are E in the directions of the operator."""
        return self.outputs.points(self.outputs.coordinates - self._turned_back(E), self.problem)

    def moves(self, X: Items, alpha: float) -> Iterator[tuple[slice, Array]]:
        """Σ_{i∈G} w_i(x) e_i in output coordinates, for the group G of each training example.

        (some inputs, n, q), block by block of inputs: what the model that leaves G out predicts
        is less by that.
        """
        if self.parts[0].slots is not None:
            yield from self._slot_moves(X, alpha)
            return
        E = next(self.residuals([alpha]))
        E = E if self.outputs.roots is None else E * self.outputs.roots
        n, q = E.shape
        labels = self.problem.left_out_labels
        together = None
        if self.problem.groups is not None:
            together = like(labels[:, None] == labels[None, :], E)
        projections = [part.inputs.project(X) for part in self.parts]
        for rows in blocks(projections[0].shape[0], max(1, ENTRIES // (n * q))):
            W = self.weights_along([Z[rows, :] for Z in projections], alpha)
            moves = [w * E[:, j] for j, w in enumerate(W)]
            moves = moves if together is None else [move @ together for move in moves]
            D = namespace(E).stack(moves, axis=-1)
            yield rows, self._turned_back(D)

    def _slot_moves(self, X: Items, alpha: float) -> Iterator[tuple[slice, Array]]:
        """The same where the rows of parts are slots."""
        labels = self.problem.left_out_labels
        paths = [slot_moves(part, labels, X, alpha) for part in self.parts]
        for found in zip(*paths, strict=True):
            (rows, D), xp = found[0], namespace(found[0][1])
            flat = self._in_order([xp.reshape(A, (-1, A.shape[2])) for _, A in found])
            yield rows, xp.reshape(self._turned_back(flat), (*D.shape[:2], -1))

    def weights_along(self, projections: list[Array], alpha: float) -> list[Array]:
        """The weights of training outputs in g(x), one array a direction, in order."""
        found: dict[int, Array] = {}
        for part, Z in zip(self.parts, projections, strict=True):
            own = np.arange(part.b.shape[0]) if part.columns is None else part.columns
            alike = part.weights(Z, alpha, 0) if part.alike else None
            for j, column in enumerate(own):
                found[int(column)] = part.weights(Z, alpha, j) if alike is None else alike
        return [found[j] for j in range(len(found))]

    def without(self, alpha: float) -> LeftOutModels:
        """Points of new inputs by models that leave training examples out, each input its own."""
        return self.points_without(alpha, self.solve(alpha).points)

    def points_without(self, alpha: float, map: PointMap) -> LeftOutModels:
        """The same for a map that was solved already."""
        residuals = [part.residuals(alpha) for part in self.parts]

        def points(X: Items, sets: Sequence[np.ndarray]) -> Embedding:
            parts = zip(self.parts, residuals, strict=True)
            moves = [
                (moved if part.slots is None else slots_without)(part, R, X, alpha, sets)
                for part, R in parts
            ]
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
            lengths = part.lengths
            level = float(xp.sum(part.inputs.s)) / part.inputs.total
            reached += level * float(xp.sum(part.b * lengths))
            sizes += float(xp.sum(lengths))
        return reached / sizes if reached > 0 and sizes > 0 else 1.0

    def evidence(self, alpha: float) -> float:
        """−½[N log(Σ c²/(bs + α)/N) + Σ log(bs + α)], c = EᵀT; with an intercept of n - 1 rows.

        Refused where outputs have no finite features: the number of directions is arbitrary then.
        """
        outputs, weights = self.problem.outputs, self.problem.weights
        finite = outputs.kernel.features is not None or outputs.features is not None
        if not finite and self.problem.gathered is None:
            raise Refused(
                f"{outputs.kernel} has infinitely many directions, over which the "
                "evidence is not defined: use finite output features."
            )
        misfit = logs = number = extra = 0.0
        for part in self.parts:
            r, q = part.inside.shape
            misfit += part.misfit(alpha) / alpha
            # directions that no feature reaches have eigenvalue α
            logs += part.inputs.log_det(part.b, alpha) + (part.number - r) * q * log(alpha)
            number += part.number * q
            extra += 0.5 * q * part.log_weights(weights)
        misfit = max(misfit / number, np.finfo(float).tiny)  # zero where outputs are constant
        return -0.5 * (number * log(misfit) + logs) + extra

    def density(self, alpha: float) -> float:
        """−½ Σ_j [n log(2πσ_j²) + n - Σ_i log(1 - H_ii)]."""
        return left_out_density(self, alpha)

    def variance(self, X: Items, alpha: float) -> Array:
        """One part after the other, which may be too large to be held together."""
        return self._in_order([part.inputs.unit_variance(part.b, X, alpha) for part in self.parts])

    def variances(self, alpha: float) -> SpectralVariances:
        """The posterior variance along the directions of the operator, for unit noise."""
        parts = list(self.parts)
        inputs, scales = [part.inputs.without_rows() for part in parts], [p.b for p in parts]
        return SpectralVariances(inputs, scales, alpha, self.order)

    def noise(self, alpha: float) -> float:
        """σ² that makes the outputs most likely; with an intercept of one row less (REML)."""
        misfit = sum(part.misfit(alpha) for part in self.parts)
        return misfit / sum(part.number * part.inside.shape[1] for part in self.parts)

    def left_out_noises(self, alpha: float) -> np.ndarray:
        """σ² along each direction of the operator, as left-out predictions show it."""
        return left_out_noise(self, alpha)

    def by_directions(self) -> Spectral:
        """The factorisation itself, where output directions are not coupled."""
        if self.parts[0].slots is not None:
            raise Refused(f"{self.problem.kernel} couples all output components.")
        return self


def spectral_moments(inputs: InputSpectrum, V: Array, EV: Array) -> Any:
    """The moments of output rows V in the eigenbasis of the inputs, EV = EᵀV."""
    if inputs.complete:
        return SpectralMoments(inputs.total, EV, inputs.s)
    xp = namespace(EV)
    vu = xp.matrix_transpose(EV * xp.sqrt(inputs.s)[:, None])
    return Moments(inputs.total, inputs.s, vu, xp.matrix_transpose(V) @ V)


def separated(
    problem: Problem,
    inputs: InputSpectrum,
    outputs: Outputs,
    moments: Any,
    EV: Array,
    alpha: float | None = None,
) -> Spectral:
    """The factorisation of a scalar kernel times an operator, inputs factored already.

    With `alpha` the operator is learnt at that ridge first.
    """
    operator = problem.kernel.operator
    operator = operator if alpha is None else operator.learn(moments, alpha)
    b, Q = operator.eigh(moments)
    rows, inside = outputs.rows, EV if Q is None else EV @ Q
    part = Part(inputs, b, rows if Q is None else lambda: rows @ Q, inside)
    return Spectral(problem, Separable(problem.inputs.kernel, operator), outputs, [part], Q)


def part_coefficients(part: Part, alpha: float, Q: Array | None = None) -> Array:
    """D with g_j(x) = z(x) D_j: b_j (EᵀT)_pj / (b_j s_p + α); in output coordinates, D Qᵀ.

    At ridges so small that the rounding of E and s shows, though not lost in it, one step of
    iterative refinement with the Gram matrix itself makes up for it.
    """
    s, b = part.inputs.s, part.b[None, :]
    D = s[:, None] * b
    refined = part.inputs.refines and 0 not in D.shape  # one pair under an intercept has no row
    largest = float(namespace(D).max(D)) if refined else 0.0
    small = alpha < REFINED * largest and stands_out(alpha, int(s.shape[0]), largest)
    D += alpha
    C = part.inside / D
    if small:
        E = part.inputs.E
        dual = E @ C
        rest = part.T - part.inputs.times(dual) * b - alpha * dual
        C = C + (namespace(E).matrix_transpose(E) @ rest) / D
    C = C * b
    return C if Q is None else C @ namespace(Q).matrix_transpose(Q)
