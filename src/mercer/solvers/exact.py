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
from .parts import Parts
from .spanned import Spanned

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
    return factor_separable(problem, spectrum, cache.output_rows(problem))


def spectral(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Factor a problem by eigendecompositions of its input Gram matrix and its operator.

    For a multiple of the identity, the Gram matrix is decomposed on first use. Results for a single
    ridge parameter use a Cholesky factor instead, unless `solver="spectral"` is requested.
    """
    problem.require_memory(SPECTRAL_SQUARES)
    direct = want.solver != "spectral"
    spectrum = cache.spectrum(problem.inputs.kernel, exact_spectrum, problem, direct)
    return factor_separable(problem, spectrum, cache.output_rows(problem))


def exact_spectrum(problem: Problem, direct: bool = True) -> ExactSpectrum:
    """Return the spectrum of the input Gram matrix, computed on first use.

    `direct` allows a Cholesky factor instead for results at a single ridge parameter.
    """
    side = problem.inputs
    gram = InputGram(side.kernel, side.items, problem.weights, problem.intercept)
    return ExactSpectrum(gram, direct)


def factor_separable(
    problem: Problem,
    spectrum: InputSpectrum,
    output_rows: OutputRows,
    alpha: float | None = None,
    moments: Any = None,
    EV: Any = None,
) -> Parts:
    """Return the factorisation for a scalar kernel times an operator, given the input spectrum.

    With `alpha`, the operator is that of this ridge parameter. The operator is fitted on
    `moments`. If `moments` is None, they are computed from the inputs and outputs; a multiple of
    the identity needs the outputs only. EV is EᵀV, the outputs in the input eigenvectors, or a
    function that returns it; None to compute it when needed.
    """
    operator, rows = problem.kernel.operator, output_rows.rows
    if moments is None and operator.uniform is not None:
        moments = SpectralMoments(problem.total, rows)
    elif moments is None:
        EV = spectrum.project_targets(rows)
        moments = spectral_moments(spectrum, rows, EV)
    operator = operator if alpha is None else operator.at_ridge(moments, alpha)
    b, Q = operator.eigh(moments)
    targets: Any = rows
    if Q is not None:
        targets, EV = (lambda: rows @ Q), None if EV is None else EV @ Q
    kernel = Separable(problem.inputs.kernel, operator)
    return Parts(problem, kernel, output_rows, [Part(spectrum, b, targets, EV)], Basis(Q))


def spectral_moments(spectrum: InputSpectrum, V: Array, EV: Array) -> Any:
    """Return the moments of outputs V and of inputs in the eigenbasis E; EV is EᵀV."""
    if spectrum.complete:
        return SpectralMoments(spectrum.total, EV, spectrum.s)
    vu = (EV * namespace(EV).sqrt(spectrum.s)[:, None]).T
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
    return Spanned(problem, problem.kernel, output_rows, part)
