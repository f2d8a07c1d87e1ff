"""Inputs in coordinates of low rank: their rows, and the spectrum of their moment."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import diags_array, issparse

from .._base.arrays import Array, Items, dense, like, namespace
from .._base.linalg import EPS, eigh
from ..features import FeatureMap
from .inputs import Fit, InputSpectrum, Located
from .reduction import Reduction, weighted_mean

TINY = float(np.finfo(np.float64).tiny)
"""What eigenvalues of coordinates that are all zero are set to."""


@dataclass(frozen=True)
class LowRankRows:
    """Training inputs in coordinates of low rank.

    Attributes
    ----------
    map
        The fitted feature map.
    rows
        Coordinates less the mean, times the roots of the weights; of a stream those of a sample.
    mean
        The weighted mean of the coordinates of all examples; None without an intercept.
    moment
        S_uu over all examples.
    weights, total
        Sample weights of the rows, and the sum of those of all examples.
    """

    map: FeatureMap
    rows: Any
    mean: Array | None
    moment: Any
    weights: np.ndarray | None
    total: float
    whole: bool = True
    """Whether the rows are those of all examples."""

    @classmethod
    def of(
        cls, map: FeatureMap, U: Any, weights: np.ndarray | None, intercept: bool
    ) -> LowRankRows:
        """Return the training inputs from coordinates U of all examples in memory."""
        total = float(U.shape[0]) if weights is None else float(weights.sum())
        mean, rows = None, U
        if issparse(U):
            if intercept:
                raise ValueError(
                    "sparse features would become dense if their mean were subtracted: use "
                    "Explicit(sparse=False), or fit_intercept=False."
                )
            rows = U if weights is None else diags_array(np.sqrt(weights)) @ U
            return cls(map, rows, None, (rows.T @ rows).toarray(), weights, total)
        if intercept:  # twice: the first mean is rounded, and constants are to be left out of rows
            mean = weighted_mean(U, weights)
            rest = weighted_mean(U - mean, weights)
            mean, rows = mean + rest, (U - mean) - rest
        rows = rows if weights is None else like(np.sqrt(weights)[:, None], U) * rows
        moment = namespace(rows).matrix_transpose(rows) @ rows
        return cls(map, rows, mean, moment, weights, total)

    @property
    def coordinates(self) -> Any:
        """The coordinates, neither centred nor weighted."""
        U = self.rows
        if self.weights is not None:
            roots = np.sqrt(self.weights)
            U = diags_array(1.0 / roots) @ U if issparse(U) else U / like(roots[:, None], U)
        return U if self.mean is None else U + self.mean

    def composed(self, coef: Array) -> Fit:
        """Return the map x ↦ (u(x) - mean) coef up to a constant, and that constant."""
        return self.map.compose(coef), 0.0 if self.mean is None else self.mean @ coef


class LowRankInputs(InputSpectrum):
    """Inputs in coordinates u(x) of low rank: S_uu = P diag(s) Pᵀ, E = U P diag(s)^{-1/2}."""

    def __init__(self, at: LowRankRows):
        self.at, self.mean, self.total = at, at.mean, at.total
        fitted = at.rows is not None and at.rows.shape[0] - (at.mean is not None)
        if at.whole and not issparse(at.rows) and fitted and at.rows.shape[1]:
            self._factor_rows(at)
            return
        self._factor_moment(at)
        self._put(at.rows, at.weights, at.whole, False)

    def _factor_moment(self, at: LowRankRows) -> None:
        """Factor S_uu; eigenvalues of a stream below the rounding of S_uu are raised to it.

        New inputs may be long along directions that are short in the training inputs.
        """
        scale = self._rounding(at) ** 2 / EPS
        self.s, self.P = eigh(at.moment, "input moment", drop=at.whole, scale=scale)
        if self.P is None:  # no coordinate at all
            self.P = at.moment
        elif not at.whole:
            xp, p = namespace(self.s), int(self.s.shape[0])
            floor = p * EPS * max(float(self.s[-1]), scale, TINY / EPS)
            self.s = xp.where(self.s > floor, self.s, xp.full_like(self.s, floor))

    @staticmethod
    def _rounding(at: LowRankRows) -> float:
        """Return the rounding error that remains after subtracting the mean from constants."""
        if at.mean is None:
            return 0.0
        return EPS * float(at.total * namespace(at.mean).sum(at.mean**2)) ** 0.5

    def _factor_rows(self, at: LowRankRows) -> None:
        """Compute E from the rows themselves: orthonormal also where s is near rounding.

        Constants are reflected away as in exact fits: what rounding leaves of them in the centred
        rows would dominate the directions of small s.
        """
        reduction = Reduction.of(at.weights, at.mean is not None, at.rows)
        rows = reduction.inside(at.rows)
        xp, tall = namespace(rows), rows.shape[0] >= rows.shape[1]
        Q, R = xp.linalg.qr(rows if tall else xp.matrix_transpose(rows))
        left, sigma, Pt = xp.linalg.svd(R)
        E, P = Q @ left, xp.matrix_transpose(Pt)
        E, P = (E, P) if tall else (P, E)
        least = int(sigma.shape[0]) * max(EPS * float(xp.max(sigma)), self._rounding(at))
        kept = int(xp.sum(xp.astype(sigma > least, xp.int64)))
        self.s, self.P = sigma[:kept] ** 2, P[:, :kept]
        self._put(at.rows, at.weights, True, True)
        self.E = reduction.back(E[:, :kept])

    def _put(self, rows: Any, weights: np.ndarray | None, whole: bool, orthonormal: bool) -> None:
        """Store rows of centred and weighted coordinates as those of E."""
        self.E = dense(rows @ self.P) / namespace(self.s).sqrt(self.s)
        directions = int(self.s.shape[0]) + (self.mean is not None)
        self.whole, self.orthonormal = whole, orthonormal
        self.complete = orthonormal and directions == self.E.shape[0]
        self.roots = None if weights is None else like(np.sqrt(weights)[:, None], self.E)
        if self.mean is not None:
            ones = np.ones(self.E.shape[0]) if weights is None else np.sqrt(weights)
            # The rows may be some of all: the constant has its length over all examples.
            self.N = like(ones[:, None] * self.total**-0.5, self.E)

    def without_rows(self) -> LowRankInputs:
        """Return the spectrum alone, without rows."""
        other = copy(self)
        other.at = replace(self.at, rows=None, moment=None)
        other.E, other.roots = self.E[:0, :], None
        other.N = None if self.N is None else self.N[:0, :]
        return other

    def at_pairs(self, X: Items, weights: np.ndarray | None) -> LowRankInputs:
        """Return a copy of the spectrum whose rows are other training inputs."""
        other = copy(self)
        U = dense(self.at.map.transform(X))
        U = U if self.mean is None else U - self.mean
        rows = U if weights is None else like(np.sqrt(weights)[:, None], U) * U
        other._put(rows, weights, weights is None and U.shape[0] == self.total, False)
        return other

    def located(self, X: Items, prior: bool = False) -> Located:
        """Return √s ∘ Pᵀ(u(x) - mean) and, if `prior`, the exact k(x, x) of the full kernel."""
        U = dense(self.at.map.transform(X))
        xp, C, own = namespace(U), U if self.mean is None else U - self.mean, None
        if prior:
            own = self.at.map.kernel_.diag(X)
            if self.mean is not None:
                own = own - xp.sum(U * U, axis=1) + xp.sum(C * C, axis=1)
        return Located((C @ self.P) * xp.sqrt(self.s), own)

    def between(self, X: Items) -> Array:
        """Return the exact prior covariance between new inputs, under the full kernel."""
        K = self.at.map.kernel_(X, X)
        if self.mean is None:
            return K
        r = dense(self.at.map.transform(X)) @ self.mean
        return K - r[:, None] - r[None, :] + self.mean @ self.mean

    def map(self, D: Array) -> Fit:
        """Return the fitted map x ↦ (u(x) - mean) P diag(√s) D."""
        return self.at.composed(self.P @ (namespace(D).sqrt(self.s)[:, None] * D))
