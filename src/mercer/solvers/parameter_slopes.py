"""From derivatives in the Gram matrix and the operator to those in the kernel parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._base.arrays import Array, blocks, count, namespace, part
from .._base.errors import NotSupported
from .._base.memory import ENTRIES
from ..features import Explicit
from ..features.landmarks import KernelPCA, LandmarkMap
from ..kernels.gradients import added
from ..operators.moments import Terms
from .exact import spectral_moments
from .factorization import Factorization
from .gradient import RIDGE, Slopes, slopes
from .low_rank import LowRankSpectrum


def parameter_slopes(
    factorization: Factorization, alpha: float, criterion: str
) -> tuple[float, dict[str, Any]]:
    """Return the evidence or left-out error of a factored problem, and its derivatives by name.

    The derivatives are those in the ridge (`RIDGE`) and in the kernel parameters, as
    `Kernel.parameter_gradient` names them.

    Parameters
    ----------
    factorization
        A scalar kernel times an operator, factored.
    alpha
        The ridge.
    criterion
        "loo" (of groups where the problem has groups) or "evidence", taken negative.
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
    """Return the outputs in the input eigenbasis, EᵀV, with columns in output coordinates."""
    inside = factorization.parts[0].projected
    return (
        inside
        if factorization.Q is None
        else inside @ namespace(inside).matrix_transpose(factorization.Q)
    )


def _output_moments(factorization: Factorization) -> Any:
    """Return the moments of the outputs from which the operator was computed."""
    return spectral_moments(
        factorization.parts[0].spectrum,
        factorization.output_rows.rows,
        _projected_outputs(factorization),
    )


def _with_terms(factorization: Factorization, found: Slopes, terms: Terms) -> Slopes:
    """Add to `found` the derivatives that arise because the operator depends on the Gram matrix."""
    if not terms:
        return found
    spectrum, EV = factorization.parts[0].spectrum, _projected_outputs(factorization)
    turn, within, beyond = namespace(EV).matrix_transpose, found.within, found.beyond
    for shift, M in terms:
        W = EV / (spectrum.s + shift)[:, None]
        within = within + W @ M @ turn(W)
        if beyond is not None:
            outside = factorization.output_rows.rows - spectrum.E @ EV
            beyond = beyond + (outside / shift) @ M @ turn(W)
    return replace(found, within=within, beyond=beyond)


def _exact_slopes(factorization: Factorization, found: Slopes) -> dict[str, Any]:
    """Return the derivative in each kernel parameter for exact inputs.

    For a parameter θ it is ⟨√w A √w, ∂K/∂θ⟩ with A = E M Eᵀ.

    M is `found.within`, the derivative in the Gram matrix in the eigenbasis E of the inputs.
    """
    spectrum, side = factorization.parts[0].spectrum, factorization.problem.inputs
    turn = namespace(spectrum.E).matrix_transpose
    E = spectrum.E if spectrum.roots is None else spectrum.roots * spectrum.E
    X = side.kernel.check(side.items, "X")
    return side.kernel.parameter_gradient.vjp(X, X, (E @ found.within) @ turn(E))


def _low_rank_slopes(factorization: Factorization, found: Slopes) -> dict[str, Any]:
    """Return the derivative in each kernel parameter for inputs with landmark features.

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
    xp = namespace(AE)
    turn = xp.matrix_transpose
    dU = 2.0 * (AE * xp.sqrt(spectrum.s)) @ turn(spectrum.P)
    U = (spectrum.E * xp.sqrt(spectrum.s)) @ turn(spectrum.P)  # A sees neither weights nor the mean
    R, Z = map.weights_, map.landmarks_
    square = -0.5 * (R @ (turn(U) @ dU) @ turn(R))
    dU = dU if spectrum.roots is None else spectrum.roots * dU
    across = dU @ turn(R)
    gradient = kernel.parameter_gradient
    return added(gradient.vjp(X, Z, across), gradient.vjp(Z, Z, square))


def _by_features(kernel: Any, X: Any, spectrum: LowRankSpectrum, AE: Array) -> dict[str, Any]:
    """Return the derivative in each kernel parameter for a kernel with finite features.

    For a parameter θ it is ⟨A, ∂K/∂θ⟩, where AE is A times the eigenvectors, summed over row
    blocks.
    """
    turn, gradient = namespace(AE).matrix_transpose, kernel.parameter_gradient
    total: dict[str, Any] = {}
    if not gradient.values:
        return total
    E, inner = spectrum.E, turn(spectrum.E) @ AE
    half = AE - 0.5 * (E @ inner)
    if spectrum.roots is not None:
        E, half = spectrum.roots * E, spectrum.roots * half
    n = count(X)
    for rows in blocks(n, max(1, ENTRIES // n)):
        C = 2.0 * half[rows, :] @ turn(E)
        total = added(total, gradient.vjp(part(X, rows), X, C))
    return total
