"""Scalar kernels times operators, by eigendecompositions of input Gram matrix and operator."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.arrays import Array, like, namespace, take
from .._base.linalg import adjoint
from .._base.plan import CHOLESKY_SQUARES, SPECTRAL_SQUARES
from ..embedding import SpanFrame
from ..operators import Moments, Separable
from ..operators.separable import SpectralMoments
from ..problem import Problem, Want
from .exact_spectrum import ExactSpectrum, InputGram
from .factorization import Factorization
from .input_spectrum import InputSpectrum
from .outputs import Basis, Cache, OutputRows
from .part import Part

CHECKED_OUTPUTS = 32
"""The number of outputs whose kernel values are checked if the fit does not need any."""


def cholesky(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Factor a problem for one solution by a Cholesky factor; the operator is a multiple of I.

    The Cholesky factor is computed with the solution. Outputs without finite features need no
    coordinates.
    """
    problem.require_memory(CHOLESKY_SQUARES)
    spectrum = cache.spectrum(problem.inputs.kernel, exact_spectrum, problem)
    if problem.spanned:
        return factor_spanned(problem, spectrum)
    return factor_uniform(problem, spectrum, cache.output_rows(problem))


def spectral(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Factor a problem by eigendecompositions of its input Gram matrix and its operator.

    For a multiple of the identity, the Gram matrix is decomposed on first use. Results for a single
    ridge parameter use a Cholesky factor instead, unless `solver="spectral"` is requested.
    """
    problem.require_memory(SPECTRAL_SQUARES)
    direct = want.solver != "spectral"
    spectrum = cache.spectrum(problem.inputs.kernel, exact_spectrum, problem, direct)
    output_rows = cache.output_rows(problem)
    if problem.kernel.operator.uniform is not None:
        return factor_uniform(problem, spectrum, output_rows)
    return factor_projected(problem, spectrum, output_rows)


def exact_spectrum(problem: Problem, direct: bool = True) -> ExactSpectrum:
    """Return the spectrum of the input Gram matrix, computed on first use.

    `direct` allows a Cholesky factor instead for results at a single ridge parameter.
    """
    side = problem.inputs
    gram = InputGram(side.kernel, side.items, problem.weights, problem.intercept)
    return ExactSpectrum(gram, direct)


def factor_uniform(
    problem: Problem, spectrum: InputSpectrum, output_rows: OutputRows
) -> Factorization:
    """Return the factorisation for a multiple of the identity, without computing `spectrum`."""
    moments = SpectralMoments(problem.total, output_rows.rows)
    return factor_separable(problem, spectrum, output_rows, moments)


def factor_projected(
    problem: Problem, spectrum: InputSpectrum, output_rows: OutputRows, alpha: float | None = None
) -> Factorization:
    """Return the factorisation for any operator; project the outputs on the input eigenvectors.

    With `alpha`, the operator is first learnt at that ridge parameter.
    """
    EV = spectrum.project_targets(output_rows.rows)
    moments = spectral_moments(spectrum, output_rows.rows, EV)
    return factor_separable(problem, spectrum, output_rows, moments, EV, alpha)


def factor_separable(
    problem: Problem,
    spectrum: InputSpectrum,
    output_rows: OutputRows,
    moments: Any,
    EV: Array | None = None,
    alpha: float | None = None,
) -> Factorization:
    """Return the factorisation for a scalar kernel times an operator, given the input spectrum.

    The operator is fitted on `moments`, or learnt at the ridge parameter `alpha` if given. EV is
    EᵀV, the outputs in the input eigenvectors; None to compute it when needed.
    """
    operator = problem.kernel.operator
    operator = operator if alpha is None else operator.learn(moments, alpha)
    b, Q = operator.eigh(moments)
    rows, projection = output_rows.rows, EV
    if Q is not None:
        projection = None if EV is None else EV @ Q
    part = Part(spectrum, b, rows if Q is None else lambda: rows @ Q, projection)
    return Factorization(
        problem, Separable(problem.inputs.kernel, operator), output_rows, [part], Basis(Q)
    )


def spectral_moments(spectrum: InputSpectrum, V: Array, EV: Array) -> Any:
    """Return the moments of inputs and outputs V in the input eigenvectors E, given EV = EᵀV."""
    if spectrum.complete:
        return SpectralMoments(spectrum.total, EV, spectrum.s)
    xp = namespace(EV)
    vu = xp.matrix_transpose(EV * xp.sqrt(spectrum.s)[:, None])
    return Moments(spectrum.total, spectrum.s, vu, adjoint(V) @ V)


def factor_spanned(problem: Problem, spectrum: InputSpectrum) -> Factorization:
    """Factor a problem whose outputs have only kernel values, with a multiple of I as operator.

    Predictions are weights on the training outputs, without output coordinates.
    """
    side, n = problem.outputs, problem.n
    frame, mean = SpanFrame(side.kernel, side.items), None
    # The rest of the fit computes no kernel values of outputs, so that NaN would go unnoticed.
    values = side.kernel.checked_gram(take(side.items, np.arange(min(n, CHECKED_OUTPUTS))))
    if problem.intercept:
        mean = np.full(n, 1.0 / n) if problem.weights is None else problem.weights / problem.total
        mean = like(mean, values)
    output_rows = OutputRows(None, mean, None, frame)
    part = Part(spectrum, like(np.full(n, problem.operator_scale), values), None)
    return Factorization(problem, problem.kernel, output_rows, [part])
