"""Derivatives of evidence and left-out error in the ridge and the kernel parameters.

They follow by the chain rule from the derivatives of `gradient` in Gram matrix and operator.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._base.arrays import Array, blocks, count, namespace, sliced
from .._base.errors import NotSupported
from .._base.memory import ENTRIES
from ..features import Explicit
from ..features.landmarks import KernelPCA, LandmarkMap
from ..kernels.gradients import add_values
from ..operators.moments import Terms
from .exact import spectral_moments
from .factorization import Factorization
from .gradient import RIDGE, Slopes, slopes
from .low_rank import LowRankSpectrum


def parameter_slopes(
    factorization: Factorization, alpha: float, criterion: str
) -> tuple[float, dict[str, Any]]:
    """Return the evidence or left-out error of a factored problem, and its derivatives by name.

    The names are `RIDGE` for the ridge, and those of `Kernel.parameter_gradient` for the kernel
    parameters.

    Parameters
    ----------
    factorization
        The factorisation of a problem whose kernel is a scalar kernel times an operator.
    alpha
        The ridge parameter.
    criterion
        "loo" for the left-out error (of groups if the problem has groups), or "evidence" for the
        negative log evidence.
    """
    found = slopes(factorization, alpha, criterion)
    operator = factorization.problem.kernel.operator
    found = _with_terms(
        factorization, found, operator.gram_terms(_output_moments(factorization), found.operator)
    )
    low_rank = isinstance(factorization.parts[0].spectrum, LowRankSpectrum)
    kernel = (
        _low_rank_slopes(factorization, found) if low_rank else _exact_slopes(factorization, found)
    )
    return found.value, kernel | {RIDGE: found.alpha}


def _projected_outputs(factorization: Factorization) -> Array:
    """Return EᵀV, the outputs V in the input eigenbasis E, in output coordinates."""
    return factorization.basis.to_coordinates(factorization.parts[0].projected)


def _output_moments(factorization: Factorization) -> Any:
    """Return the moments of inputs and outputs from which the operator was computed."""
    return spectral_moments(
        factorization.parts[0].spectrum,
        factorization.output_rows.rows,
        _projected_outputs(factorization),
    )


def _with_terms(factorization: Factorization, found: Slopes, terms: Terms) -> Slopes:
    """Return slopes that include how the operator depends on the Gram matrix.

    `terms` describe this dependence; see `gram_terms` of the operator.
    """
    if not terms:
        return found
    spectrum, EV = factorization.parts[0].spectrum, _projected_outputs(factorization)
    within, beyond = found.within, found.beyond
    for shift, M in terms:
        W = EV / (spectrum.s + shift)[:, None]
        within = within + W @ M @ W.T
        if beyond is not None:
            outside = factorization.output_rows.rows - spectrum.E @ EV
            beyond = beyond + (outside / shift) @ M @ W.T
    return replace(found, within=within, beyond=beyond)


def _exact_slopes(factorization: Factorization, found: Slopes) -> dict[str, Any]:
    """Return the objective's derivatives in kernel parameters, for the exact input Gram matrix K.

    For a parameter θ it is ⟨√w A √w, ∂K/∂θ⟩ with sample weights w and A = E M Eᵀ, where M is
    `found.within`, the derivative in the eigenbasis E of the Gram matrix.
    """
    spectrum, side = factorization.parts[0].spectrum, factorization.problem.inputs
    E = spectrum.E if spectrum.roots is None else spectrum.roots * spectrum.E
    X = side.kernel.check(side.items, "X")
    return side.kernel.parameter_gradient.vjp(X, X, (E @ found.within) @ E.T)


def _low_rank_slopes(factorization: Factorization, found: Slopes) -> dict[str, Any]:
    """Return the objective's derivatives in kernel parameters, for features with landmarks.

    The coordinates are U = k(X, Z)R with landmarks Z and RRᵀ = k(Z, Z)⁻¹.
    """
    spectrum: Any = factorization.parts[0].spectrum
    map, kernel = spectrum.input_rows.map, factorization.problem.inputs.kernel
    X = kernel.check(factorization.problem.inputs.items, "X")
    AE = spectrum.E @ found.within
    AE = AE if found.beyond is None else AE + found.beyond
    if isinstance(map, Explicit):
        return _by_features(kernel, X, spectrum, AE)
    if not isinstance(map, LandmarkMap) or isinstance(map, KernelPCA):
        raise NotSupported(
            f"features={map} have no derivatives: use Nystroem, RandomPivotedCholesky or "
            "IncompleteCholesky, whose landmarks are kept, or features=None."
        )
    roots_P = namespace(AE).sqrt(spectrum.s)[:, None] * spectrum.P.T
    dU, U = 2.0 * AE @ roots_P, spectrum.E @ roots_P  # weights and mean cancel in A
    R, Z = map.weights_, map.landmarks_
    square = -0.5 * (R @ (U.T @ dU) @ R.T)
    dU = dU if spectrum.roots is None else spectrum.roots * dU
    gradient = kernel.parameter_gradient
    return add_values(gradient.vjp(X, Z, dU @ R.T), gradient.vjp(Z, Z, square))


def _by_features(kernel: Any, X: Any, spectrum: LowRankSpectrum, AE: Array) -> dict[str, Any]:
    """Return the objective's derivatives in kernel parameters, for a kernel with finite features.

    For a parameter θ it is ⟨A, ∂K/∂θ⟩ with the derivative A in the Gram matrix, summed over blocks
    of rows. AE is A times the input eigenvectors E.
    """
    gradient = kernel.parameter_gradient
    total: dict[str, Any] = {}
    if not gradient.values:
        return total
    E, inner = spectrum.E, spectrum.E.T @ AE
    half = AE - 0.5 * (E @ inner)
    if spectrum.roots is not None:
        E, half = spectrum.roots * E, spectrum.roots * half
    n = count(X)
    for rows in blocks(n, max(1, ENTRIES // n)):
        C = 2.0 * half[rows, :] @ E.T
        total = add_values(total, gradient.vjp(sliced(X, rows), X, C))
    return total
