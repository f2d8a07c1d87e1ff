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
from .low_rank import LowRankInputs


def parameter_slopes(
    parts: Factorization, alpha: float, criterion: str
) -> tuple[float, dict[str, Any]]:
    """Return the evidence or left-out error of a factored problem, and its derivatives by name.

    The derivatives are those in the ridge (`RIDGE`) and in the kernel parameters, as
    `Kernel.parameter_gradient` names them.

    Parameters
    ----------
    parts
        A scalar kernel times an operator, factored.
    alpha
        The ridge.
    criterion
        "loo" (of groups where the problem has groups) or "evidence", taken negative.
    """
    found = slopes(parts, alpha, criterion)
    operator = parts.problem.kernel.operator
    found = _with_terms(parts, found, operator.gram_terms(_output_moments(parts), found.operator))
    low_rank = isinstance(parts.parts[0].spectrum, LowRankInputs)
    kernel = _low_rank_slopes(parts, found) if low_rank else _exact_slopes(parts, found)
    return found.value, kernel | {RIDGE: found.alpha}


def _projected_outputs(parts: Factorization) -> Array:
    """Return the outputs in the input eigenbasis, EᵀV, with columns in output coordinates."""
    inside = parts.parts[0].projected
    return inside if parts.Q is None else inside @ namespace(inside).matrix_transpose(parts.Q)


def _output_moments(parts: Factorization) -> Any:
    """Return the moments of the outputs from which the operator was computed."""
    return spectral_moments(
        parts.parts[0].spectrum, parts.output_rows.rows, _projected_outputs(parts)
    )


def _with_terms(parts: Factorization, found: Slopes, terms: Terms) -> Slopes:
    """Add to `found` the derivatives that arise because the operator depends on the Gram matrix."""
    if not terms:
        return found
    inputs, EV = parts.parts[0].spectrum, _projected_outputs(parts)
    turn, within, beyond = namespace(EV).matrix_transpose, found.within, found.beyond
    for shift, M in terms:
        W = EV / (inputs.s + shift)[:, None]
        within = within + W @ M @ turn(W)
        if beyond is not None:
            outside = parts.output_rows.rows - inputs.E @ EV
            beyond = beyond + (outside / shift) @ M @ turn(W)
    return replace(found, within=within, beyond=beyond)


def _exact_slopes(parts: Factorization, found: Slopes) -> dict[str, Any]:
    """Return the derivative in each kernel parameter for exact inputs.

    For a parameter θ it is ⟨√w A √w, ∂K/∂θ⟩ with A = E M Eᵀ.

    M is `found.within`, the derivative in the Gram matrix in the eigenbasis E of the inputs.
    """
    inputs, side = parts.parts[0].spectrum, parts.problem.inputs
    turn = namespace(inputs.E).matrix_transpose
    E = inputs.E if inputs.roots is None else inputs.roots * inputs.E
    X = side.kernel.check(side.items, "X")
    return side.kernel.parameter_gradient.vjp(X, X, (E @ found.within) @ turn(E))


def _low_rank_slopes(parts: Factorization, found: Slopes) -> dict[str, Any]:
    """Return the derivative in each kernel parameter for inputs with landmark features.

    The coordinates are U = k(X, Z)R with landmarks Z and RRᵀ = k(Z, Z)⁻¹.
    """
    inputs: Any = parts.parts[0].spectrum
    map, kernel = inputs.at.map, parts.problem.inputs.kernel
    X = kernel.check(parts.problem.inputs.items, "X")
    AE = inputs.E @ found.within
    AE = AE if found.beyond is None else AE + found.beyond
    if isinstance(map, Explicit):
        return _by_features(kernel, X, inputs, AE)
    if not isinstance(map, LandmarkMap) or isinstance(map, KernelPCA):
        raise NotSupported(
            f"features={map} have no derivatives: use Nystroem, RandomPivotedCholesky or "
            "IncompleteCholesky, whose landmarks are kept, or features=None."
        )
    xp = namespace(AE)
    turn = xp.matrix_transpose
    dU = 2.0 * (AE * xp.sqrt(inputs.s)) @ turn(inputs.P)
    U = (inputs.E * xp.sqrt(inputs.s)) @ turn(inputs.P)  # A sees neither weights nor the mean
    R, Z = map.weights_, map.landmarks_
    square = -0.5 * (R @ (turn(U) @ dU) @ turn(R))
    dU = dU if inputs.roots is None else inputs.roots * dU
    across = dU @ turn(R)
    gradient = kernel.parameter_gradient
    return added(gradient.vjp(X, Z, across), gradient.vjp(Z, Z, square))


def _by_features(kernel: Any, X: Any, inputs: LowRankInputs, AE: Array) -> dict[str, Any]:
    """Return the derivative in each kernel parameter for a kernel with finite features.

    For a parameter θ it is ⟨A, ∂K/∂θ⟩, where AE is A times the eigenvectors, summed over row
    blocks.
    """
    turn, gradient = namespace(AE).matrix_transpose, kernel.parameter_gradient
    total: dict[str, Any] = {}
    if not gradient.values:
        return total
    E, inner = inputs.E, turn(inputs.E) @ AE
    half = AE - 0.5 * (E @ inner)
    if inputs.roots is not None:
        E, half = inputs.roots * E, inputs.roots * half
    n = count(X)
    for rows in blocks(n, max(1, ENTRIES // n)):
        C = 2.0 * half[rows, :] @ turn(E)
        total = added(total, gradient.vjp(part(X, rows), X, C))
    return total
