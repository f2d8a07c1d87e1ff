"""The identity at low rank for outputs without coordinates: points are weights on the outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, blocks, count, host, like, namespace, part, put, take
from .._base.memory import ENTRIES
from .._base.plan import LEFT_OUT_SQUARES, require_exact
from ..embedding import Embedding, PointMap, SpanFrame
from ..features import FeatureMap
from ..kernels import Kernel
from ..problem import Problem, Want
from .factorization import Cache, Factorization, LeftOut, LeftOutModels, Solution
from .left_out import LeaveOneOut, Part, members_by_size, unit_columns
from .low_rank import low_rank_rows, needs_no_coordinates
from .low_rank_inputs import LowRankInputs, LowRankRows
from .weights import factored
from .without import reweighted

CANCELLED = 1e-6
"""Below this share of a squared length a difference of squares has lost more than six digits."""


class LowRankWeights(FeatureMap):
    """√w ∘ U (UᵀU + αI)⁻¹ u(x): the weights of the identity on the training outputs.

    Parameters
    ----------
    at
        The training inputs in coordinates U, centred where there is an intercept.
    inverse
        (UᵀU + αI)⁻¹.
    """

    def __init__(self, at: LowRankRows, inverse: Array):
        self.at = at
        self.inverse = inverse

    def transform(self, A: Items) -> Array:
        """The weights of g(a), one row an input."""
        u, mean, w = self.at.map.transform(A), self.at.mean, self.at.weights
        C = ((u if mean is None else u - mean) @ self.inverse) @ self.at.rows.T
        C = C if w is None else C * like(np.sqrt(w), C)
        if mean is None:
            return C
        if w is not None:
            return C + like(w / w.sum(), C)
        return C - namespace(C).mean(C, axis=1)[:, None] + 1.0 / C.shape[1]

    @property
    def coefficients(self) -> Array:
        """The matrix that follows the kernel's values, in full."""
        return self.at.map.compose(self.inverse @ self.at.rows.T).coefficients

    def weights(self, X: Items, C: Array) -> Array:
        """As a weigher: the coordinates are the weights."""
        return C

    def without_training_data(self, map: FeatureMap) -> LowRankWeights:
        """Kept: it is the map itself."""
        return self


class OutputGram:
    """L, the Gram matrix of the outputs times the roots of weights, by its products and entries.

    With `center` it is that of the outputs less their weighted mean.
    """

    def __init__(self, problem: Problem):
        self.kernel: Kernel = problem.outputs.kernel
        self.y = self.kernel.check(problem.outputs.items, "y")
        self.center, self.w = problem.intercept, problem.weights

    def _times(self, M: Array) -> Array:
        n = count(self.y)
        parts = [
            self.kernel._gram(part(self.y, rows), self.y) @ M for rows in blocks(n, ENTRIES // n)
        ]
        return namespace(*parts).concat(parts, axis=0)

    def times(self, M: Array) -> Array:
        """√w ∘ L̄ (√w ∘ M), for M orthogonal to the constants where `center`."""
        xp, n = namespace(M), M.shape[0]
        roots = None if self.w is None else like(np.sqrt(self.w)[:, None], M)
        M = M if roots is None else roots * M
        if self.center:
            share = np.full(n, 1.0 / n) if self.w is None else self.w / self.w.sum()
            share = like(share[:, None], M)
            LM = self._times(xp.concat([M, share], axis=1))
            self.means = LM[:, -1]
            self.level = float(share[:, 0] @ self.means)
            LM = LM[:, :-1] - xp.matrix_transpose(share) @ LM[:, :-1]
        else:
            LM = self._times(M)
        return LM if roots is None else roots * LM

    def diagonal(self) -> Array:
        """The squared lengths of the (centred) outputs, without weights; after `times`."""
        diagonal = self.kernel.diag(self.y)
        return diagonal - 2.0 * self.means + self.level if self.center else diagonal

    def square(self, own: np.ndarray) -> Array:
        """The weighted block over some outputs, after `times`."""
        some = take(self.y, own)
        L = self.kernel._gram(some, some)
        if self.center:
            means = take(self.means, own)
            L = L - means[:, None] - means[None, :] + self.level
        if self.w is None:
            return L
        roots = like(np.sqrt(self.w[own]), L)
        return roots[:, None] * L * roots[None, :]


class SpannedLowRank(Factorization):
    """Inputs of low rank, outputs of any kind: the Gram matrix of the outputs is never factored.

    Notes
    -----
    With H = E diag(f) Eᵀ + NNᵀ, f_p = s_p / (s_p + α), the left-out residual of example i has the
    weights (e_i - H_i) / (1 - H_ii) on the outputs, and its squared length is

        (L_ii - 2 (HL)_ii + (HLH)_ii) / (1 - H_ii)²,

    for which LE (n × m) and EᵀLE (m × m), made once, serve every α. A group g has
    (I - H_gg)⁻¹ (E_g - H_g). Lengths need n × m numbers, the points themselves n².
    """

    name = "low rank"

    def __init__(self, problem: Problem, want: Want, cache: Cache):
        self.problem, self.single = problem, want.single
        self.at: LowRankRows = cache.inputs(problem.inputs.kernel, low_rank_rows, problem)
        self.frame = SpanFrame(problem.outputs.kernel, problem.outputs.items)
        self.gram = OutputGram(problem)

    @classmethod
    def accepts(cls, problem: Problem, want: Want) -> str | None:
        """A multiple of the identity, outputs without coordinates."""
        return None if needs_no_coordinates(problem, want) else "outputs have coordinates"

    @cached_property
    def part(self) -> Part:
        """The smoother of the inputs; outputs without coordinates have no targets."""
        inputs = LowRankInputs(self.at)
        none = inputs.E[:, :0]
        inside = namespace(none).matrix_transpose(inputs.E) @ none
        return Part(inputs, namespace(none).ones_like(none[0, :]), none, inside)

    def solve(self, alpha: float) -> Solution:
        """The map g at one α; by Cholesky where only one is wanted and α stands out."""
        dual = LowRankWeights(self.at, self._inverse(alpha / self.problem.uniform))
        return Solution(PointMap(dual, None, self.frame, dual), self.problem.kernel)

    def _inverse(self, alpha: float) -> Array:
        """(S_uu + αI)⁻¹ on the directions that S_uu has."""
        if self.single:
            try:
                ridge = factored(self.at.moment + 0.0, alpha)
                return ridge.solve(like(np.eye(self.at.moment.shape[0]), self.at.moment))
            except np.linalg.LinAlgError:
                pass  # the spectrum drops what is lost in rounding
        inputs: Any = self.part.inputs
        P = inputs.P
        return (P / (inputs.s + alpha)) @ namespace(P).matrix_transpose(P)

    @cached_property
    def crossed(self) -> Array:
        """LE."""
        return self.gram.times(self.part.inputs.E)

    @cached_property
    def inner(self) -> Array:
        """EᵀLE."""
        return namespace(self.crossed).matrix_transpose(self.part.inputs.E) @ self.crossed

    def left_out(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[LeftOut]:
        """Squared lengths for every α; points are made when they are asked for."""
        for alpha in alphas:
            relative = alpha / self.problem.uniform
            lengths = self._lengths(relative, averaged)
            yield LeftOut(alpha, lengths, partial(self._points_at, relative))

    def _points_at(self, alpha: float) -> Embedding:
        """The left-out points, n² weights once somebody asks for them."""
        C, problem = self.left_out_weights(alpha), self.problem
        return Embedding(C, self.frame, problem.left_out_labels, problem.given)

    def _shrunk(self, alpha: float) -> Array:
        """E diag(d), d = α / (s + α): what the ridge takes off the span of E."""
        s = self.part.inputs.s
        return self.part.inputs.E * (alpha / (s + alpha))

    def _rest(self, alpha: float) -> Array:
        """1 - H_ii."""
        rest = next(self.part.path([alpha]))[1][:, 0]
        return namespace(rest).where(rest > 0, rest, namespace(rest).ones_like(rest))

    @cached_property
    def beyond(self) -> Array:
        """PLE with P = I - EEᵀ - NNᵀ: what the span of E misses, against it."""
        return self.crossed - self.part.inputs.E @ self.inner

    def _lengths(self, alpha: float, averaged: bool) -> Array:
        """((I - H) L (I - H))_ii / (1 - H_ii)², with I - H = P + E diag(d) Eᵀ."""
        xp, G = namespace(self.part.inputs.E), self._shrunk(alpha)
        groups, w = self.problem.groups, self.problem.weights
        if groups is not None and not averaged:
            return self._group_lengths(alpha, G, groups)
        lengths = xp.sum((G @ self.inner) * G, axis=1)
        if not self.part.inputs.complete:
            lengths = lengths + 2.0 * xp.sum(G * self.beyond, axis=1) + self.missed
        rest = self._rest(alpha)
        lost = np.flatnonzero(host(rest**2 < CANCELLED))
        if len(lost) and not self.part.inputs.complete:
            found = xp.linalg.diagonal(self._products(alpha, lost))
            lengths = put(lengths[:, None], lost, found[:, None])[:, 0]
        rest = xp.mean(rest) if averaged else rest
        lengths = lengths / (rest * rest)
        lengths = lengths if w is None else lengths / like(w, lengths)
        return xp.where(lengths > 0, lengths, xp.zeros_like(lengths))

    def _products(self, alpha: float, rows: np.ndarray) -> Array:
        """Return the block of (I - H) L (I - H) over some rows, which loses no digits."""
        R = self._rest_rows(alpha, rows)
        return R @ self.gram.times(namespace(R).matrix_transpose(R))

    @cached_property
    def missed(self) -> Array:
        """(PLP)_ii: the squared length of what no ridge can fit."""
        E, w = self.part.inputs.E, self.problem.weights
        xp, both = namespace(E), self.crossed + self.beyond  # first: it finds the means
        own = self.gram.diagonal()
        own = own if w is None else like(w, own) * own
        left = own - xp.sum(E * both, axis=1)
        lost = np.flatnonzero(host(left < CANCELLED * own))
        if len(lost):  # the difference has lost its digits: take the rows of P themselves
            R = self._beyond(unit_columns(self.problem.n, lost, E))
            R = self._beyond(R)  # once more, for the digits that the first time cancelled
            left = put(left[:, None], lost, xp.sum(R * self.gram.times(R), axis=0)[:, None])[:, 0]
        return xp.where(left > 0, left, xp.zeros_like(left))

    def _beyond(self, A: Array) -> Array:
        """P A."""
        for basis in (self.part.inputs.E, self.part.inputs.N):
            A = A if basis is None else A - basis @ (namespace(A).matrix_transpose(basis) @ A)
        return A

    def _group_lengths(self, alpha: float, shrunk: Array, groups: np.ndarray) -> Array:
        xp, turn = namespace(shrunk), namespace(shrunk).matrix_transpose
        lengths = xp.zeros_like(xp.sum(shrunk, axis=1))
        for own in (own for same in members_by_size(groups) for own in same):
            G = take(shrunk, own)
            N = G @ self.inner @ turn(G)
            if not self.part.inputs.complete:
                E, beyond = take(self.part.inputs.E, own), take(self.beyond, own)
                cross = G @ turn(beyond)
                outside = self.gram.square(own) - E @ turn(take(self.crossed, own))
                N = N + cross + turn(cross) + outside - beyond @ turn(E)
            rest = self.part.rest_blocks([alpha], own[None, :])[0, 0, 0, :, :]
            if float(xp.min(xp.linalg.diagonal(rest))) ** 2 < CANCELLED:
                N = self._products(alpha, own)
            half = turn(xp.linalg.solve(rest, N))
            found = xp.linalg.diagonal(xp.linalg.solve(rest, half))
            if self.problem.weights is not None:
                found = found / like(self.problem.weights[own], found)
            lengths = put(lengths[:, None], own, found[:, None])[:, 0]
        return lengths

    def left_out_weights(self, alpha: float) -> Array:
        """The left-out predictions as weights on the outputs, (n, n)."""
        n, w = self.problem.n, self.problem.weights
        require_exact(n, LEFT_OUT_SQUARES)
        R = self._rest_rows(alpha, np.arange(n))
        if self.problem.groups is None:
            R = R / self._rest(alpha)[:, None]
        else:
            (R,) = LeaveOneOut(self.part, self.problem.groups).solved([R], [alpha])
        if w is not None:
            roots = like(np.sqrt(w), R)
            R = R * roots[None, :] / roots[:, None]
        return like(np.eye(n), R) - R

    def without(self, alpha: float) -> LeftOutModels:
        """Points of new inputs by models that leave training examples out, each input its own."""
        map, relative = self.solve(alpha).points, alpha / self.problem.uniform

        def rest(rows: np.ndarray) -> Array:
            return self._rest_rows(relative, rows)

        def points(X: Items, sets: Sequence[np.ndarray]) -> Embedding:
            C = reweighted(map(X).coordinates, rest, sets, self.part.inputs.roots)
            return Embedding(C, self.frame)

        return points

    def _rest_rows(self, alpha: float, rows: np.ndarray) -> Array:
        """Some rows of I - H."""
        E, xp = self.part.inputs.E, namespace(self.part.inputs.E)
        R = take(self._shrunk(alpha), rows) @ xp.matrix_transpose(E)
        if self.part.inputs.complete:
            return R
        beyond = self._beyond(unit_columns(self.problem.n, rows, E))
        return R + xp.matrix_transpose(beyond)

    @property
    def scale(self) -> float:
        """Tr K_x / n, times the number that the operator is."""
        return self._uniform_scale(self.at.moment)
