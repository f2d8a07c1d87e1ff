"""Non-negative least squares of points, robust or not, with and without some of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from .._base.arrays import host
from .._base.statistics import weighted_median
from ..embedding import Frame

HUBER, HUBER_ROUNDS = 1.345, 8
"""Rows with errors above HUBER medians get smaller weights, in HUBER_ROUNDS rounds."""
FACTORS, NEAR_BEST = np.linspace(0.0, 1.0, 21), 0.95
"""The factors of a blend that are tried, and the fraction of the best certain gain to reach."""
ZERO_LENGTH = 1e-18
"""Points whose squared lengths are at most this fraction of those of the true ones are zero."""


@dataclass(frozen=True)
class Squares:
    """Least-squares problem for the weights of models whose points are blended.

    The error is Σ_i w_i ‖V_i - Σ_k c_k G_ki‖² for the model weights c, with the row weights w, the
    true points V and the points G_k of model k.

    Attributes
    ----------
    Q, r, v
        ⟨G_ki, G_li⟩, ⟨G_ki, V_i⟩ and ‖V_i‖², one row for each example.
    w
        The row weights: how often each row counts.
    folds
        The fold of each example; examples of one fold are left out together.
    """

    Q: np.ndarray
    r: np.ndarray
    v: np.ndarray
    w: np.ndarray
    folds: np.ndarray

    @classmethod
    def of(
        cls, G: list[np.ndarray], V: np.ndarray, w: np.ndarray, frame: Frame, folds: np.ndarray
    ) -> Squares:
        """Return the problem of fitting points V by the points G[k] of each model k.

        Parameters
        ----------
        G
            The points that each model predicts, one array for each model.
        V
            The points of the true outputs.
        w
            The weight of each row.
        frame
            The frame that gives the inner product of points.
        folds
            The fold of each row.
        """
        Q = np.empty((len(V), len(G), len(G)))
        for k, a in enumerate(G):
            for m, b in enumerate(G[: k + 1]):
                Q[:, k, m] = Q[:, m, k] = _inner_products(frame, a, b)
        r = np.stack([_inner_products(frame, a, V) for a in G], axis=1)
        return cls(Q, r, _inner_products(frame, V, V), w, folds)

    def weights(
        self, robust: bool = False, prior: np.ndarray | None = None, ridge: float = 0.0
    ) -> np.ndarray:
        """Return the non-negative model weights with the least squared error, or Huber loss.

        Parameters
        ----------
        robust : bool, default=False
            Whether rows with large errors count for less.
        prior : array, optional
            Weights towards which the result is shrunk; None for no shrinkage.
        ridge : float, default=0
            The strength of shrinkage, in units of the mean squared length of the points.
        """
        c = self._least_squares(self.w, prior, ridge)
        for _ in range(HUBER_ROUNDS if robust else 0):
            lost = np.sqrt(np.maximum(self.losses(c), 0.0))
            level = HUBER * weighted_median(lost, self.w)
            if level <= 0.0:
                break
            c = self._least_squares(self.w * level / np.maximum(lost, level), prior, ridge)
        return c

    def _least_squares(
        self, counts: np.ndarray, prior: np.ndarray | None, ridge: float
    ) -> np.ndarray:
        """Return non-negative model weights of least squares, as `weights` does without `robust`.

        Row i counts `counts[i]` times.
        """
        Q, r = np.tensordot(counts, self.Q, 1), counts @ self.r
        zero = np.diag(Q) <= ZERO_LENGTH * float(counts @ self.v)  # but for rounding errors
        Q[zero], Q[:, zero], r[zero] = 0.0, 0.0, 0.0
        if prior is not None and ridge > 0.0:
            unit = ridge * float(np.trace(Q)) / len(Q)
            Q, r = Q + unit * np.eye(len(Q)), r + unit * prior
        return _nonnegative_minimum(Q, r)

    def left_out_weights(
        self, robust: bool = False, prior: np.ndarray | None = None, ridge: float = 0.0
    ) -> np.ndarray:
        """Return for each row the `weights` fitted without its fold, with the same parameters."""
        C = np.empty_like(self.r)
        for fold in np.unique(self.folds):
            out = self.folds == fold
            rows = (self.Q, self.r, self.v, self.w, self.folds)
            kept = Squares(*(A[~out] for A in rows))
            C[out] = kept.weights(robust, prior, ridge)
        return C

    def losses(self, C: np.ndarray) -> np.ndarray:
        """Return the squared error of each row, not weighted, for model weights C.

        C has one row of weights for all rows, or one for each row.
        """
        C = np.broadcast_to(C, self.r.shape)
        gained, size = self._products(C)
        return self.v - 2.0 * gained + size

    def safe_fraction(self, C: np.ndarray) -> float:
        """Return the factor from 0 to 1 by which the model weights C are safely shrunk.

        It is the largest factor whose gain minus one standard error is nearly the best, which means
        at least `NEAR_BEST` times the best. It is 1 if the models predict well, and 0 if they may
        be no better than the mean.
        """
        gained, size = self._products(C)
        gains = 2.0 * FACTORS[:, None] * gained - FACTORS[:, None] ** 2 * size
        means = gains @ self.w / self.w.sum()
        variances = (gains - means[:, None]) ** 2 @ self.w / self.w.sum()
        sure = means - np.sqrt(variances / self.w.sum())
        return float(FACTORS[np.flatnonzero(sure >= NEAR_BEST * sure.max())[-1]])

    def _products(self, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the linear and the quadratic term of the squared error of each row.

        They are rᵀc and cᵀQc, where c is the row of the model weights C.
        """
        return (self.r * C).sum(axis=1), np.einsum("nk,nkl,nl->n", C, self.Q, C)


def _nonnegative_minimum(Q: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return the vector c ≥ 0 that minimises the quadratic function cᵀQc - 2rᵀc."""
    size = float(np.trace(Q)) / len(Q)
    if not size > np.finfo(float).tiny:  # all points are zero: no weights are better
        return np.zeros(len(Q))
    used = np.diag(Q) > 0
    if not used.all():
        c = np.zeros(len(Q))
        c[used] = _nonnegative_minimum(Q[np.ix_(used, used)], r[used])
        return c
    values, vectors = np.linalg.eigh(Q / size)
    kept = values > 1e-12 * max(values.max(), 1e-300)
    root = vectors[:, kept] * np.sqrt(values[kept])
    # ‖Rc - b‖² with RᵀR = Q and Rᵀb = r is the same up to a constant.
    return nnls(root.T, (vectors[:, kept].T @ (r / size)) / np.sqrt(values[kept]))[0]


def _inner_products(frame: Frame, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the inner product of each row of A with the same row of B, as points of a frame."""
    if frame.compact:
        return (A * B).sum(axis=1)
    L = frame.evaluate(frame.outputs)  # type: ignore[attr-defined]
    return ((A @ host(L)) * B).sum(axis=1)
