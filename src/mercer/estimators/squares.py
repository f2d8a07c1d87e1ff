"""Non-negative least squares of points, with and without some of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from .._arrays import host
from ..embedding import Frame


@dataclass(frozen=True)
class Squares:
    """Least squares Σ_i w_i ‖V_i - Σ_k c_k G_ki‖² as sums over rows.

    Attributes
    ----------
    Q, r
        w_i ⟨G_ki, G_li⟩ and w_i ⟨G_ki, V_i⟩, one row an example.
    """

    Q: np.ndarray
    r: np.ndarray

    @classmethod
    def of(cls, G: list[np.ndarray], V: np.ndarray, w: np.ndarray, frame: Frame) -> Squares:
        """The inner products of the points of models and of the outputs, row by row."""
        Q = np.empty((len(V), len(G), len(G)))
        for k, a in enumerate(G):
            for m, b in enumerate(G[: k + 1]):
                Q[:, k, m] = Q[:, m, k] = w * _rowwise(frame, a, b)
        r = np.stack([w * _rowwise(frame, a, V) for a in G], axis=1)
        return cls(Q, r)

    def weights(self) -> np.ndarray:
        """The best c ≥ 0."""
        return _nonnegative(self.Q.sum(axis=0), self.r.sum(axis=0))

    def left_out_weights(self, folds: np.ndarray) -> np.ndarray:
        """For each row the best c ≥ 0 on the rows of other folds."""
        Q, r = self.Q.sum(axis=0), self.r.sum(axis=0)
        C = np.empty_like(self.r)
        for fold in np.unique(folds):
            out = folds == fold
            C[out] = _nonnegative(Q - self.Q[out].sum(axis=0), r - self.r[out].sum(axis=0))
        return C


def _nonnegative(Q: np.ndarray, r: np.ndarray) -> np.ndarray:
    """The c ≥ 0 that minimises cᵀQc - 2rᵀc."""
    size = float(np.trace(Q)) / len(Q)
    if not size > np.finfo(float).tiny:  # points that are all zero: no weight says more
        return np.zeros(len(Q))
    values, vectors = np.linalg.eigh(Q / size)
    kept = values > 1e-12 * max(values.max(), 1e-300)
    root = vectors[:, kept] * np.sqrt(values[kept])
    # ‖Rc - b‖² with RᵀR = Q and Rᵀb = r is the same up to a constant.
    return nnls(root.T, (vectors[:, kept].T @ (r / size)) / np.sqrt(values[kept]))[0]


def _rowwise(frame: Frame, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """⟨A_i, B_i⟩ of points in the frame."""
    if frame.compact:
        return (A * B).sum(axis=1)
    L = frame.evaluate(frame.outputs)  # type: ignore[attr-defined]
    return ((A @ host(L)) * B).sum(axis=1)
