"""Scalar kernels times operators, by the spectra of the inputs and of the operator."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.arrays import Array, like, namespace, take
from .._base.linalg import adjoint
from .._base.plan import CHOLESKY_SQUARES, SPECTRAL_SQUARES
from ..embedding import PointMap, SpanFrame
from ..operators import Moments, Separable
from ..operators.separable import SpectralMoments
from ..problem import Problem, Want
from .exact_inputs import ExactInputs, InputGram
from .factorization import Factorization, Method, Solution
from .inputs import InputSpectrum
from .outputs import Basis, Cache, OutputRows
from .part import Part
from .weights import DualWeights

TRIED = 32
"""Outputs whose kernel values are checked where a fit needs none of them."""


def exact(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Factor a problem whose kernel is a scalar kernel times an operator, without approximation."""
    uniform = problem.kernel.operator.uniform is not None
    problem.require_memory(CHOLESKY_SQUARES if uniform and want.single else SPECTRAL_SQUARES)
    kernel, direct = problem.inputs.kernel, want.solver != "spectral"
    inputs = cache.inputs(kernel, exact_inputs, problem, direct)
    if uniform and want.single and direct and problem.spanned:
        return factor_spanned(problem, inputs, DualSolution(problem, want, cache))
    outputs = cache.outputs(problem)
    if uniform:
        rows = outputs.rows
        return factor_separable(
            problem, inputs, outputs, SpectralMoments(inputs.total, rows, gram=None)
        )
    EV = inputs.project(outputs.rows)
    return factor_separable(
        problem, inputs, outputs, SpectralMoments(inputs.total, EV, inputs.s), EV
    )


def exact_inputs(problem: Problem, direct: bool = True) -> ExactInputs:
    """Return the inputs of a problem with their Gram matrix, which is factored on first use."""
    side = problem.inputs
    gram = InputGram(side.kernel, side.items, problem.weights, problem.intercept)
    return ExactInputs(gram, direct)


def factor_separable(
    problem: Problem,
    inputs: InputSpectrum,
    outputs: OutputRows,
    moments: Any,
    EV: Array | None = None,
    alpha: float | None = None,
) -> Factorization:
    """Return the factorisation for a scalar kernel times an operator, given factored inputs.

    With `alpha` the operator is learnt at that ridge first.
    """
    operator = problem.kernel.operator
    operator = operator if alpha is None else operator.learn(moments, alpha)
    b, Q = operator.eigh(moments)
    rows, products = outputs.rows, EV
    if Q is not None:
        products = None if EV is None else EV @ Q
    part = Part(inputs, b, rows if Q is None else lambda: rows @ Q, products)
    return Factorization(
        problem, Separable(problem.inputs.kernel, operator), outputs, [part], Basis(Q)
    )


def spectral_moments(inputs: InputSpectrum, V: Array, EV: Array) -> Any:
    """Return the moments of the output rows V with the inputs, given EV = EᵀV (E: eigenvectors)."""
    if inputs.complete:
        return SpectralMoments(inputs.total, EV, inputs.s)
    xp = namespace(EV)
    vu = xp.matrix_transpose(EV * xp.sqrt(inputs.s)[:, None])
    return Moments(inputs.total, inputs.s, vu, adjoint(V) @ V)


def factor_spanned(
    problem: Problem, inputs: InputSpectrum, method: Method | None = None
) -> Factorization:
    """Factor a problem whose outputs are known by kernel values only; the operator must be c I.

    Predictions are weights on the training outputs.
    """
    side, n = problem.outputs, problem.n
    frame, mean = SpanFrame(side.kernel, side.items), None
    # No other step of a fit computes kernel values of outputs, and so finds that they are NaN.
    values = side.kernel.checked_gram(take(side.items, np.arange(min(n, TRIED))))
    if problem.intercept:
        mean = np.full(n, 1.0 / n) if problem.weights is None else problem.weights / problem.total
        mean = like(mean, values)
    outputs = OutputRows(None, mean, None, frame)
    part = Part(inputs, like(np.full(n, problem.operator_scale), values), None)
    return Factorization(problem, problem.kernel, outputs, [part], method=method)


class DualSolution(Method):
    """Solutions as weights on the training outputs, each from one Cholesky factor."""

    def __init__(self, problem: Problem, want: Want, cache: Cache):
        self.problem, self.want, self.cache = problem, want, cache

    def solution(self, alpha: float) -> Solution:
        """Return the fitted map g for the ridge parameter `alpha`.

        The spectrum is used where alpha is lost in rounding.
        """
        problem, dual = self.problem, DualWeights.of(self.problem, alpha)
        try:
            dual.factored  # noqa: B018
        except np.linalg.LinAlgError:
            inputs, outputs = self.cache.current[1], self.cache.outputs(problem)
            moments = SpectralMoments(inputs.total, outputs.rows)
            return factor_separable(problem, inputs, outputs, moments).solve(alpha)
        frame = SpanFrame(problem.outputs.kernel, problem.outputs.items)
        return Solution(PointMap(dual, None, frame, dual), problem.kernel)
