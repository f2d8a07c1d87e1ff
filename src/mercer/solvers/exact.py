"""Scalar kernels times operators, by the spectra of the inputs and of the operator."""

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
"""Outputs whose kernel values are checked where a fit needs none of them."""


def cholesky(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Prepare one solution under a multiple of the identity, by a Cholesky factor.

    Nothing is factored before the solution is computed. Outputs without finite features need no
    coordinates.
    """
    problem.require_memory(CHOLESKY_SQUARES)
    spectrum = cache.spectrum(problem.inputs.kernel, exact_spectrum, problem)
    if problem.spanned:
        return factor_spanned(problem, spectrum)
    return factor_uniform(problem, spectrum, cache.output_rows(problem))


def spectral(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Factor a problem by the spectra of its inputs and its operator.

    Under a multiple of the identity the inputs are factored on first use; what is needed at one
    ridge only then takes a Cholesky factor instead, unless `solver="spectral"` is requested.
    """
    problem.require_memory(SPECTRAL_SQUARES)
    direct = want.solver != "spectral"
    spectrum = cache.spectrum(problem.inputs.kernel, exact_spectrum, problem, direct)
    output_rows = cache.output_rows(problem)
    if problem.kernel.operator.uniform is not None:
        return factor_uniform(problem, spectrum, output_rows)
    return factor_projected(problem, spectrum, output_rows)


def exact_spectrum(problem: Problem, direct: bool = True) -> ExactSpectrum:
    """Return the inputs of a problem with their Gram matrix, which is factored on first use."""
    side = problem.inputs
    gram = InputGram(side.kernel, side.items, problem.weights, problem.intercept)
    return ExactSpectrum(gram, direct)


def factor_uniform(
    problem: Problem, spectrum: InputSpectrum, output_rows: OutputRows
) -> Factorization:
    """Return the factorisation for a multiple of the identity, without factoring the inputs yet."""
    moments = SpectralMoments(problem.total, output_rows.rows)
    return factor_separable(problem, spectrum, output_rows, moments)


def factor_projected(
    problem: Problem, spectrum: InputSpectrum, output_rows: OutputRows, alpha: float | None = None
) -> Factorization:
    """Return the factorisation for any operator, from the outputs in the input eigenvectors.

    With `alpha` the operator is learnt at that ridge first.
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
    """Return the factorisation for a scalar kernel times an operator, given factored inputs.

    With `alpha` the operator is learnt at that ridge first.
    """
    operator = problem.kernel.operator
    operator = operator if alpha is None else operator.learn(moments, alpha)
    b, Q = operator.eigh(moments)
    rows, products = output_rows.rows, EV
    if Q is not None:
        products = None if EV is None else EV @ Q
    part = Part(spectrum, b, rows if Q is None else lambda: rows @ Q, products)
    return Factorization(
        problem, Separable(problem.inputs.kernel, operator), output_rows, [part], Basis(Q)
    )


def spectral_moments(spectrum: InputSpectrum, V: Array, EV: Array) -> Any:
    """Return the moments of the output rows V with the inputs, given EV = EᵀV (E: eigenvectors)."""
    if spectrum.complete:
        return SpectralMoments(spectrum.total, EV, spectrum.s)
    xp = namespace(EV)
    vu = xp.matrix_transpose(EV * xp.sqrt(spectrum.s)[:, None])
    return Moments(spectrum.total, spectrum.s, vu, adjoint(V) @ V)


def factor_spanned(problem: Problem, spectrum: InputSpectrum) -> Factorization:
    """Factor a problem whose outputs are known by kernel values only; the operator must be c I.

    Predictions are weights on the training outputs.
    """
    side, n = problem.outputs, problem.n
    frame, mean = SpanFrame(side.kernel, side.items), None
    # No other step of a fit computes kernel values of outputs, and so finds that they are NaN.
    values = side.kernel.checked_gram(take(side.items, np.arange(min(n, CHECKED_OUTPUTS))))
    if problem.intercept:
        mean = np.full(n, 1.0 / n) if problem.weights is None else problem.weights / problem.total
        mean = like(mean, values)
    output_rows = OutputRows(None, mean, None, frame)
    part = Part(spectrum, like(np.full(n, problem.operator_scale), values), None)
    return Factorization(problem, problem.kernel, output_rows, [part])
