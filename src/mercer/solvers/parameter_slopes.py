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
from .exact import spectral_moments
from .factorization import Factorization
from .gradient import RIDGE, Slopes, slopes
from .input_spectrum import InputSpectrum
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
    found = _with_gram_terms(factorization, slopes(factorization, alpha, criterion))
    spectrum, side = factorization.parts[0].spectrum, factorization.problem.inputs
    AE = spectrum.E @ found.within
    AE = AE if found.beyond is None else AE + found.beyond
    X = side.kernel.check(side.items, "X")
    map = spectrum.input_rows.map if isinstance(spectrum, LowRankSpectrum) else None
    if isinstance(map, LandmarkMap) and not isinstance(map, KernelPCA):
        kernel = _slopes_by_landmarks(side.kernel, X, map, spectrum, AE)
    elif map is None or isinstance(map, Explicit):
        kernel = _slopes_by_gram(side.kernel, X, spectrum, AE)
    else:
        raise NotSupported(
            f"features={map} have no derivatives: use Nystroem, RandomPivotedCholesky or "
            "IncompleteCholesky, whose landmarks are kept, or features=None."
        )
    return found.value, kernel | {RIDGE: found.alpha}


def _with_gram_terms(factorization: Factorization, slopes: Slopes) -> Slopes:
    """Return slopes that include how the operator depends on the Gram matrix.

    See `gram_terms` of the operator.
    """
    spectrum, V = factorization.parts[0].spectrum, factorization.output_rows.rows
    EV = factorization.basis.to_coordinates(factorization.parts[0].projected)
    moments = spectral_moments(spectrum, V, EV)
    within, beyond = slopes.within, slopes.beyond
    operator = factorization.problem.kernel.operator
    for shift, M in operator.gram_terms(moments, slopes.operator):
        W = EV / (spectrum.s + shift)[:, None]
        within = within + W @ M @ W.T
        if beyond is not None:
            beyond = beyond + ((V - spectrum.E @ EV) / shift) @ M @ W.T
    return replace(slopes, within=within, beyond=beyond)


def _slopes_by_landmarks(
    kernel: Any, X: Any, map: LandmarkMap, spectrum: Any, AE: Array
) -> dict[str, Any]:
    """Return the objective's derivatives in kernel parameters, for features with landmarks.

    The coordinates are U = k(X, Z)R with landmarks Z and RRᵀ = k(Z, Z)⁻¹. AE is the derivative A in
    the Gram matrix times the input eigenvectors E.
    """
    roots_P = namespace(AE).sqrt(spectrum.s)[:, None] * spectrum.P.T
    dU, U = 2.0 * AE @ roots_P, spectrum.E @ roots_P  # weights and mean cancel in A
    R, Z = map.weights_, map.landmarks_
    square = -0.5 * (R @ (U.T @ dU) @ R.T)
    dU = dU if spectrum.roots is None else spectrum.roots * dU
    gradient = kernel.parameter_gradient
    return add_values(gradient.vjp(X, Z, dU @ R.T), gradient.vjp(Z, Z, square))


def _slopes_by_gram(kernel: Any, X: Any, spectrum: InputSpectrum, AE: Array) -> dict[str, Any]:
    """Return the objective's derivatives in kernel parameters, for the kernel's own Gram matrix K.

    For a parameter θ it is ⟨√w A √w, ∂K/∂θ⟩ with sample weights w and the derivative A in the Gram
    matrix, at low rank summed over blocks of rows. AE is A times the input eigenvectors E.
    """
    gradient = kernel.parameter_gradient
    total: dict[str, Any] = {}
    if not gradient.values:
        return total
    E = spectrum.E
    half = AE - 0.5 * (E @ (E.T @ AE))
    if spectrum.roots is not None:
        E, half = spectrum.roots * E, spectrum.roots * half
    n = count(X)
    step = n if spectrum.has_gram else max(1, ENTRIES // n)  # an exact fit has such matrices anyway
    for rows in blocks(n, step):
        A = X if step >= n else sliced(X, rows)
        total = add_values(total, gradient.vjp(A, X, 2.0 * half[rows, :] @ E.T))
    return total
