"""Preconditioners for coupled kernels: approximate inverses of G + αI for a Gram matrix G.

They multiply arrays with one row per slot (example, output component).
"""

from __future__ import annotations

from math import ceil, sqrt
from typing import Any

import numpy as np

from .._base.arrays import Array, namespace, take
from .._base.linalg import (
    EPS,
    PositiveDefinite,
    add_ridge,
    adjoint,
    check_gram,
    eigh,
    inner_product,
)
from .._base.symmetric import full
from ..operators import BlockGram
from .conjugate_gradients import LinearMap

COLUMNS_PER_ROOT = 6.0
"""The number of columns of a low-rank preconditioner, over the root of the number of slots."""


def preconditioner(
    gram: BlockGram, alpha: float, rank: int | None = None, roots: Array | None = None
) -> LinearMap:
    """Return an approximate inverse of the Gram matrix plus α: a Kronecker product or low rank.

    It is a Kronecker product for a sum of scalar kernels times operators, unless `rank` is given
    or slots have weights, whose square roots are `roots` as a column.
    """
    if gram.terms is None or rank is not None or roots is not None:
        return low_rank_preconditioner(gram, alpha, rank, roots)
    return separable_preconditioner(gram, alpha)


def separable_preconditioner(gram: BlockGram, alpha: float) -> LinearMap:
    """Return the inverse of the Kronecker product nearest to the Gram matrix, plus ridge.

    It is (K̄ ⊗ B̄ + αI)⁻¹ with K̄ ⊗ B̄ nearest to Σ_t K_t ⊗ B_t over the terms t.

    Notes
    -----
    Rearranged as Σ_t vec(K_t) vec(B_t)ᵀ, the Gram matrix has rank T, and the nearest product is its
    leading pair of singular vectors (Van Loan and Pitsianis 1993). With the T × T matrices of
    inner products k_st = ⟨K_s, K_t⟩ and b_st = ⟨B_s, B_t⟩ those are K̄ = Σ x_t K_t and
    B̄ = Σ (k x)_t B_t for the leading eigenvector x of b k. Inner products of positive matrices
    are ≥ 0, hence also x, and both factors are positive. The inverse takes two
    eigendecompositions.
    """
    terms: Any = gram.terms
    Ks, Bs = [K for K, _ in terms], [full(B) for _, B in terms]
    x, y = _nearest_weights(Ks, Bs)
    s, P = eigh(_weighted_sum(x, Ks), "separable approximation", drop=False)
    b, Q = eigh(_weighted_sum(y, Bs), "separable approximation", drop=False)
    weights = 1.0 / (s[:, None] * b[None, :] + alpha)
    xp, (n, q) = namespace(s), (gram.rows.n, gram.rows.width)
    Pt, Qt = xp.matrix_transpose(P), xp.matrix_transpose(Q)

    def apply(D: Array) -> Array:
        """Return the preconditioner times the column D."""
        C = xp.reshape(D, (n, q))
        return xp.reshape(P @ (weights * (Pt @ C @ Q)) @ Qt, (n * q, 1))

    return apply


def _nearest_weights(Ks: list[Array], Bs: list[Array]) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of terms Ks in K̄ and Bs in B̄, the nearest Kronecker product K̄ ⊗ B̄."""
    k, b = (np.array([[inner_product(S, T) for T in parts] for S in parts]) for parts in (Ks, Bs))
    # b k has the spectrum of the symmetric k^{1/2} b k^{1/2}; T × T, so power iteration suffices
    x = np.ones(len(Ks))
    for _ in range(100):
        x = b @ (k @ x)
        x /= np.linalg.norm(x)
    y = k @ x
    return x, y / float(x @ k @ x)


def _weighted_sum(weights: np.ndarray, parts: list[Array]) -> Array:
    """Return Σ_t weights_t parts_t, a weighted sum of matrices."""
    return sum(float(weight) * part for weight, part in zip(weights, parts, strict=True))


def low_rank_preconditioner(
    gram: BlockGram, alpha: float, rank: int | None = None, roots: Array | None = None
) -> LinearMap:
    """Return the inverse of a Nyström approximation of the Gram matrix plus ridge.

    It is (C W⁻¹ Cᵀ + αI)⁻¹ with C the columns S of the Gram matrix G, and W = G_SS. `rank` is their
    number; None for 6 √(number of slots). With `roots`, the square roots of the weights as a
    column, G stands for roots · G · rootsᵀ, entry by entry.

    Notes
    -----
    By Woodbury the inverse is (I - C (αW + CᵀC)⁻¹ Cᵀ) / α, two thin products. A small ridge offsets
    the rounding errors of CᵀC. The examples of S are the `landmarks` of the Gram matrix, the same
    in each run.
    """
    slots = gram.rows
    columns = ceil(COLUMNS_PER_ROOT * sqrt(slots.size)) if rank is None else rank
    number = min(slots.n, max(1, round(columns * slots.n / slots.size)))
    index = slots.of_items(gram.landmarks(number))
    C = gram.some_columns(index)
    C = C if roots is None else roots * C * adjoint(take(roots, index))
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
