"""Approximate solutions of (G + αI) C = V that conjugate gradients start from."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, sqrt

import numpy as np

from .._base.arrays import Array, namespace, take
from .._base.linalg import EPS, PositiveDefinite, add_ridge, check_gram, eigh, inner_product
from .._base.symmetric import full
from ..operators import BlockGram

Preconditioner = Callable[[Array], Array]
"""A map of rows of slots that is nearly (G + αI)⁻¹."""

COLUMNS_PER_ROOT = 6.0
"""Columns that a low-rank preconditioner takes, in square roots of the number of slots."""


def preconditioner(gram: BlockGram, alpha: float, rank: int | None = None) -> Preconditioner:
    """Return a preconditioner: separable for a sum of kernels times operators, else low rank."""
    if gram.terms is None or rank is not None:
        return low_rank_preconditioner(gram, alpha, rank)
    return separable_preconditioner(gram, alpha)


def no_preconditioner(D: Array) -> Array:
    """Return D unchanged, as if multiplied by the identity."""
    return D


def separable_preconditioner(gram: BlockGram, alpha: float) -> Preconditioner:
    """Return the inverse of the Kronecker product nearest to the Gram matrix, plus ridge.

    It is (K̄ ⊗ B̄ + αI)⁻¹ with K̄ ⊗ B̄ nearest to Σ_t K_t ⊗ B_t over the terms t.

    Notes
    -----
    Rearranged, Σ_t vec(K_t) vec(B_t)ᵀ is a matrix of rank T, and the nearest product is its
    leading pair of singular vectors (Van Loan and Pitsianis 1993). With the T × T matrices of
    inner products k_st = ⟨K_s, K_t⟩ and b_st = ⟨B_s, B_t⟩ those are K̄ = Σ x_t K_t and
    B̄ = Σ (k x)_t B_t for the leading eigenvector x of b k. Inner products of positive matrices
    are ≥ 0, so x is, and both factors are positive. Two spectra apply the inverse.
    """
    terms = gram.terms
    assert terms is not None
    x, y = _nearest_weights([K for K, _ in terms], [full(B) for _, B in terms])
    s, P = eigh(_weighted_sum(x, [K for K, _ in terms]), "separable approximation", drop=False)
    b, Q = eigh(
        _weighted_sum(y, [full(B) for _, B in terms]), "separable approximation", drop=False
    )
    weights = 1.0 / (s[:, None] * b[None, :] + alpha)
    xp, (n, q) = namespace(s), (gram.rows.n, gram.rows.width)
    Pt, Qt = xp.matrix_transpose(P), xp.matrix_transpose(Q)

    def apply(D: Array) -> Array:
        C = xp.reshape(D, (n, q))
        return xp.reshape(P @ (weights * (Pt @ C @ Q)) @ Qt, (n * q, 1))

    return apply


def _nearest_weights(Ks: list[Array], Bs: list[Array]) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of the terms in the factors K̄ and B̄ of the nearest Kronecker product."""
    k, b = (np.array([[inner_product(S, T) for T in parts] for S in parts]) for parts in (Ks, Bs))
    # b k has the spectrum of the symmetric k^{1/2} b k^{1/2}; T × T, so powers are plenty
    x = np.ones(len(Ks))
    for _ in range(100):
        x = b @ (k @ x)
        x /= np.linalg.norm(x)
    y = k @ x
    return x, y / float(x @ k @ x)


def _weighted_sum(weights: np.ndarray, parts: list[Array]) -> Array:
    """Return Σ_t weights_t parts_t, a weighted sum of matrices."""
    total = float(weights[0]) * parts[0]
    for weight, part in zip(weights[1:], parts[1:], strict=True):
        total += float(weight) * part
    return total


def low_rank_preconditioner(
    gram: BlockGram, alpha: float, rank: int | None = None
) -> Preconditioner:
    """Return the inverse of a Nyström approximation of the Gram matrix plus ridge.

    It is (C W⁻¹ Cᵀ + αI)⁻¹ with C the columns S of the Gram matrix G, and W = G_SS.

    Notes
    -----
    By Woodbury the inverse is (I - C (αW + CᵀC)⁻¹ Cᵀ) / α, two thin products. W gains what the
    rounding of CᵀC asks for. The examples are the Gram map's `landmarks`, the same in every run.
    """
    slots = gram.rows
    wanted = ceil(COLUMNS_PER_ROOT * sqrt(slots.size)) if rank is None else rank
    number = min(slots.n, max(1, round(wanted * slots.n / slots.size)))
    index = slots.of_items(gram.landmarks(number))
    C = gram.some_columns(index)
    W = take(C, index)
    check_gram(W, "operator-valued Gram matrix")
    xp = namespace(C)
    Ct = xp.matrix_transpose(C)
    core = Ct @ C
    rounding = 10 * len(index) * EPS * float(xp.max(xp.linalg.diagonal(core)))
    core = PositiveDefinite.of(add_ridge(core + alpha * W, rounding))

    def apply(R: Array) -> Array:
        """Return the preconditioner times the columns of R."""
        return (R - C @ core.solve(Ct @ R)) / alpha

    return apply
