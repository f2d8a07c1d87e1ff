"""Left-out predictions of fields, all places of a field together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .._arrays import Array, blocks, like, namespace, take
from .place_moments import Moments, PlaceData, at_once


def left_out_residuals(
    data: PlaceData, moments: Moments, alphas: Sequence[float], groups: list[np.ndarray]
) -> list[Array]:
    """(I - H_gg)⁻¹ R_g for every group of fields and every α, in the order of the fields.

    Fields that are in no group have none.
    """
    found: list[list[Array]] = [[] for _ in alphas]
    order: list[np.ndarray] = []
    m, P = moments.marks.shown.shape[0], int(data.T.shape[1])
    bases = list(moments.basis(alphas))
    for same in groups:
        size = same.shape[1]
        width = max(m, size * P)
        for some in blocks(len(same), at_once(data.X, size * P * width)):
            rows = same[some]
            order.append(rows.reshape(-1))
            for own, E in zip(found, _solved(data, moments, bases, rows), strict=True):
                own.append(E)
    xp = namespace(data.X)
    back = np.argsort(np.concatenate(order), kind="stable")
    return [take(xp.concat(parts), back) for parts in found]


def _solved(
    data: PlaceData, moments: Moments, bases: list[tuple[Array, Array]], rows: np.ndarray
) -> Iterator[Array]:
    """The left-out residuals of groups of one size, (fields, places, channels), for every α."""
    xp, (groups, size) = namespace(data.X), rows.shape
    P, channels = int(data.T.shape[1]), int(data.T.shape[2])
    flat = rows.reshape(-1)
    K = data.by_place(flat, moments.marks)
    u = np.sqrt(data.w[rows] / data.w.sum()) if data.intercept else np.zeros(rows.shape)
    if moments.means is not None:
        scale = like(np.sqrt(data.w[flat])[:, None, None], K)
        K = K - scale * moments.means[None, :, :]
    T = xp.reshape(take(data.T, flat), (groups, size * P, channels))
    last, Z = None, K
    for M, d in bases:
        if M is not last:
            Z, last = xp.reshape(K @ M, (groups, size * P, -1)), M
            right = xp.matrix_transpose(M) @ moments.b
        R = T - Z @ (d[:, None] * right)
        E = _woodbury(Z, d, R, u, P) if size * P > Z.shape[2] else _direct(Z, d, R, u, P)
        yield xp.reshape(E, (groups * size, P, channels))


def _direct(Z: Array, d: Array, R: Array, u: np.ndarray, P: int) -> Array:
    """(I - uuᵀ⊗I - Z diag(d) Zᵀ)⁻¹ R, written out."""
    xp, (groups, size) = namespace(Z), u.shape
    rest = -(Z * d) @ xp.matrix_transpose(Z)
    blocks_ = np.eye(size)[None] - u[:, :, None] * u[:, None, :]
    if size == 1:
        rest += like(blocks_, Z) * like(np.eye(P)[None], Z)
    else:
        kron = blocks_[:, :, None, :, None] * np.eye(P)[None, None, :, None, :]
        rest += like(kron.reshape(groups, size * P, size * P), Z)
    return xp.linalg.solve(rest, R)


def _woodbury(Z: Array, d: Array, R: Array, u: np.ndarray, P: int) -> Array:
    """The same by Woodbury's identity, with a matrix as large as the rank."""
    xp, (groups, size) = namespace(Z), u.shape
    gain = u[:, :, None] * u[:, None, :] / (1.0 - (u * u).sum(axis=1))[:, None, None]
    gain_ = like(gain, Z)

    def apart(V: Array) -> Array:
        """(I - uuᵀ⊗I)⁻¹ V."""
        shaped = xp.reshape(V, (groups, size, -1))
        return V + xp.reshape(gain_ @ shaped, V.shape)

    Zt, NR = xp.matrix_transpose(Z), apart(R)
    NZ = apart(Z)
    inner = -(Zt @ NZ) + like(np.eye(int(d.shape[0]))[None], Z) * (1.0 / d)
    return NR + NZ @ xp.linalg.solve(inner, Zt @ NR)
