"""Operator-valued kernels that do not couple some output directions: one part for each set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, host, is_foreign, like, namespace, take
from .._base.memory import available
from .._base.symmetric import full
from ..operators import BlockGram, OperatorKernel
from ..problem import Problem, Want
from .coupled import by_slots, coupled_refusal, fitted_kernel
from .direction_grams import DirectionKernel, LazyParts
from .factorization import Cache, Factorization, Outputs, Solution
from .inputs import ExactInputs, InputGram
from .left_out import Part, by_inverse
from .spectral import Spectral, part_coefficients
from .weights import CoupledMap, DualWeights, factored

PART_SQUARES = 2.0
"""Matrices over all examples that a part keeps for leave-one-out."""
BY_DIRECTION = 3000
"""Examples up to which a fit factors directions one by one; beyond, products are shorter."""
COMMUTES = 1e-10
"""Entries off the diagonal, relative to the largest on it, that are rounding."""
INVERSES = 16
"""Ridges up to which inverses are faster than a spectrum on a device."""
KEPT = 0.125
"""The share of free memory that the spectra of parts may keep."""


class ByDirection(Spectral):
    """Kernels diagonal in some output directions: one n × n problem for each set of directions.

    Those of components (`Patchwise`, `Pointwise`) are diagonal in the components of the outputs.
    A sum Σ_t k_t B_t whose operators have common eigenvectors Q falls apart into
    K_j = Σ_t b_tj K_t, and the ridge equation into (K_j + αI) c_j = (VQ)_j, exactly.
    """

    name, costs = "by direction", "spectral"

    def __init__(
        self,
        problem: Problem,
        kernel: OperatorKernel,
        outputs: Outputs,
        Q: Array | None,
        grams: list[DirectionKernel],
    ):
        self.problem, self.kernel, self.outputs, self.Q = problem, kernel, outputs, Q
        self.grams = grams
        self.given: Any = problem.inputs.items, problem.weights, problem.intercept
        self.order = np.argsort(np.concatenate([gram.columns for gram in grams]))
        T = outputs.rows if Q is None else outputs.rows @ Q
        self.T = T
        bytes_kept = 8.0 * PART_SQUARES * problem.n**2 * len(grams)
        keep = bytes_kept <= KEPT * available()
        self.parts: Any = LazyParts(self._part, grams, keep)

    @classmethod
    def accepts(cls, problem: Problem, want: Want) -> str | None:
        """A kernel whose directions are not coupled; told for sure once it is fitted."""
        reason = coupled_refusal(problem, want)
        many = want.single and problem.n > BY_DIRECTION
        if reason is None and many and not problem.kernel.componentwise:
            return f"beyond {BY_DIRECTION} examples products are shorter"
        return reason

    @classmethod
    def factor(cls, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Find the directions; a kernel that couples them is written out or solved by products."""
        outputs = cache.outputs(problem)
        kernel = fitted_kernel(problem, outputs)
        found = directions(kernel, problem.inputs.items)
        if found is None:
            return by_slots(problem, kernel, outputs, want)
        return cls(problem, kernel, outputs, *found)

    def restricted(self, columns: np.ndarray) -> ByDirection:
        """The same on some directions alone."""
        grams = [replace(g, columns=np.intersect1d(g.columns, columns)) for g in self.grams]
        grams = [gram for gram in grams if len(gram.columns)]
        return ByDirection(self.problem, self.kernel, self.outputs, self.Q, grams)

    def _part(self, gram: DirectionKernel) -> Part:
        T = _columns(self.T, gram.columns)
        inputs, xp = ExactInputs(gram, *self.given), namespace(T)
        inside = xp.matrix_transpose(inputs.E) @ T
        return Part(inputs, xp.ones_like(T[0, :]), T, inside, gram.columns)

    def residuals(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[Array]:
        """By inverses where those are faster than the spectra of all sets.

        One inverse takes a tenth of the time of a spectrum, on a device a fiftieth.
        """
        groups, few = self.problem.groups, INVERSES if is_foreign(self.T) else 1
        several = groups is None or groups.max() > 0  # else nothing is left
        if len(alphas) <= few and several and not averaged and not self.parts.made:
            try:
                found = [self._left_out(gram, alphas) for gram in self.grams]
            except np.linalg.LinAlgError:
                pass  # α is lost in rounding
            else:
                for columns in zip(*found, strict=True):
                    yield self.outputs.unweighted(self._in_order(list(columns)))
                return
        yield from super().residuals(alphas, averaged)

    def _left_out(self, gram: DirectionKernel, alphas: Sequence[float]) -> list[Array]:
        inputs, found = InputGram(gram, *self.given), []
        K, T = inputs.reduced(), _columns(self.T, gram.columns)
        back = inputs.reduction.back
        for alpha in alphas:
            A = factored(K + 0.0, alpha).inverse()
            A = back(namespace(A).matrix_transpose(back(A)))
            found.append(by_inverse(A, T, self.problem.groups))
        return found

    def solve(self, alpha: float) -> Solution:
        """The map g at one α: one Cholesky factorisation a set, or its spectrum at tiny α."""
        coefs, means = zip(*(self._dual(gram, alpha) for gram in self.grams), strict=True)
        coef = self._turned_back(self._in_order(list(coefs)))
        offset = None
        if self.outputs.mean is not None:
            explained = self._turned_back(self._in_order([mean[None, :] for mean in means]))
            offset = self.outputs.mean - explained[0, :]
        map = CoupledMap(self.kernel, self.problem.inputs.items, coef)
        return Solution(self._point_map(map, offset), self.kernel)

    def _dual(self, gram: DirectionKernel, alpha: float) -> tuple[Array, Array]:
        """Dual coefficients of a set of directions, and the mean of what they explain."""
        X, weights, intercept = self.given
        dual = DualWeights(gram, X, alpha, intercept, weights)
        try:
            map, mean = dual.fit_to(_columns(self.T, gram.columns))
        except np.linalg.LinAlgError:
            part = self._part(gram)
            map, mean = part.inputs.map(part_coefficients(part, alpha))
        return map.coefficients, mean


def directions(
    kernel: OperatorKernel, X: Items
) -> tuple[Array | None, list[DirectionKernel]] | None:
    """The directions that a fitted kernel does not couple, with their Gram matrices; else None."""
    if kernel.componentwise:
        values = kernel.by_component(X)
        columns = [np.flatnonzero(values.labels == label) for label in range(values.number)]
        return None, [DirectionKernel(own, kernel, held=values) for own in columns]
    gram = kernel.gram(X)
    if gram.terms is None:
        return None
    return common_directions(kernel, gram)


def common_directions(
    kernel: OperatorKernel, gram: BlockGram
) -> tuple[Array | None, list[DirectionKernel]] | None:
    """The common eigenvectors of the operators of a sum, where they have such."""
    assert gram.terms is not None
    Ks, Bs = zip(*gram.terms, strict=True)
    if all(B.ndim == 1 for B in Bs):
        Q, weights = None, np.stack([host(B) for B in Bs])
    else:
        found = _eigenbasis([host(full(B)) for B in Bs])
        if found is None:
            return None
        Q, weights = like(found[0], Ks[0]), found[1]

    return Q, [
        DirectionKernel(own, kernel, [float(w) for w in weights[:, own[0]]], gram)
        for own in _alike(weights)
    ]


def _eigenbasis(Bs: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray] | None:
    """Common eigenvectors, and the eigenvalues of every operator; None where there are none.

    A mixture with weights in general position has no eigenvalue twice that a term tells apart, so
    that its eigenvectors are those of every term.
    """
    scales = [float(np.abs(B).max()) or 1.0 for B in Bs]
    shares = np.sqrt(np.arange(2.0, len(Bs) + 2.0))
    mixed = sum(w * B / s for w, B, s in zip(shares, Bs, scales, strict=True))
    Q = np.linalg.eigh(mixed)[1]
    turned = [Q.T @ B @ Q for B in Bs]
    for B, scale in zip(turned, scales, strict=True):
        if np.abs(B - np.diag(B.diagonal())).max() > COMMUTES * len(B) * scale:
            return None
    return Q, np.stack([np.maximum(B.diagonal(), 0.0) for B in turned])


def _alike(weights: np.ndarray) -> list[np.ndarray]:
    """Directions of equal weights, which share their matrix."""
    largest = weights.max(axis=1, keepdims=True)
    relative = weights / np.where(largest > 0, largest, 1.0)
    _, number = np.unique(relative.round(12), axis=1, return_inverse=True)
    number = number.reshape(-1)
    return [np.flatnonzero(number == g) for g in range(number.max() + 1)]


def _columns(V: Array, index: np.ndarray) -> Array:
    xp = namespace(V)
    return xp.matrix_transpose(take(xp.matrix_transpose(V), index))
