"""The input side of a ridge problem, factored: √w K √w without constants = E diag(s) Eᵀ.

Everything else follows from E, s and the projection z(x) = Eᵀ(√w ∘ k_x) of a new input: in the
eigenbasis of the operator, g_j(x) = Σ_p z_p(x) b_j (EᵀT)_pj / (b_j s_p + α), plus the constant.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import diags_array, issparse

from .._arrays import Array, Items, dense, like, namespace, take
from .._linalg import EPS, eigh
from ..features import FeatureMap
from ..features.centered import CenteredFeatures
from ..features.landmarks import Spanned
from ..kernels import Kernel
from .constants import Constants


class InputSpectrum:
    """E diag(s) Eᵀ over the training examples.

    Attributes
    ----------
    E
        Orthonormal columns, (n, r), one row a training example (or slot of one).
    s
        (r,), non-negative.
    constants
        What the intercept fits, orthogonal to E; None without an intercept.
    complete
        Whether E and the constants are a basis of all of Rⁿ: then 1 - H is a sum of non-negative
        terms, and else a subtraction, good to about 1e-15.
    roots
        √w as a column; None for weights of one.
    total
        Σw.
    """

    E: Array
    s: Array
    constants: Constants | None = None
    complete = True
    roots: Array | None = None
    total: float

    @property
    def share(self) -> float:
        """What a constant at a new input weighs: 1/√Σw, or nothing without an intercept."""
        return 0.0 if self.constants is None else self.total**-0.5

    def rows(self, index: Any) -> Array:
        """Some rows of E."""
        return take(self.E, index)

    def project(self, X: Items) -> Array:
        """z(x), one row an input."""
        raise NotImplementedError

    def map(self, D: Array) -> tuple[FeatureMap, Array | float]:
        """The map x ↦ z(x) D up to a constant, and that constant: its mean over the data."""
        raise NotImplementedError

    def prior(self, X: Items) -> Array:
        """k(x, x), centred where there is an intercept."""
        raise NotImplementedError

    def both(self, X: Items) -> tuple[Array, Array]:
        """`project` and `prior` of the same inputs."""
        return self.project(X), self.prior(X)


def weight_roots(weights: np.ndarray | None, K: Array) -> Array | None:
    """√w as a column of the library of K."""
    return None if weights is None else like(np.sqrt(weights)[:, None], K)


class ExactInputs(InputSpectrum):
    """All of a scalar kernel on the training inputs: one eigendecomposition of the Gram matrix.

    A kernel with finite features on vectors is centred in those where there is an intercept: far
    from the origin its Gram matrix would lose the digits that matter.
    """

    def __init__(self, kernel: Kernel, X: Items, weights: np.ndarray | None, intercept: bool):
        self.kernel, self.X = kernel, X
        self.gram = CentredGram(kernel, X, weights) if intercept else PlainGram(kernel, X)
        K = self.gram.matrix()
        self.total = float(K.shape[0]) if weights is None else float(weights.sum())
        self.roots = weight_roots(weights, K)
        if self.roots is not None:
            K = self.roots * K * namespace(K).matrix_transpose(self.roots)
        scale = float(namespace(K).max(namespace(K).abs(K)))
        if intercept:
            ones = np.ones(K.shape[0]) if weights is None else np.sqrt(weights)
            self.constants = Constants.of(ones, K)
            K = self.constants.reduced(K)
        self.s, E = _spectrum(K, scale)
        self.E = E if self.constants is None else self.constants.back(E)
        self.null = self._beyond_features()

    def _beyond_features(self) -> int:
        """How many directions, smallest first, a kernel with finite features cannot have.

        Rounding in them means nothing at new inputs, and a small ridge would magnify it.
        """
        if not float(namespace(self.s).max(self.s)) > 0:  # the inputs are all alike
            return int(self.s.shape[0])
        if not _vector_features(self.kernel, self.X):
            return 0
        width = int(self.kernel.features(take(self.X, [0])).shape[1])
        return max(0, int(self.s.shape[0]) - width)

    def _weighted(self, A: Array) -> Array:
        return A if self.roots is None else self.roots * A

    def project(self, X: Items) -> Array:
        """(√w ∘ k_x) E, kernel values centred with an intercept."""
        return self.gram.against(X) @ self._weighted(self.E)

    def map(self, D: Array) -> tuple[FeatureMap, Array | float]:
        """Kernel values against the training inputs, times √w ∘ (E D)."""
        return self.gram.map(self._weighted(self.E[:, self.null :] @ D[self.null :, :]))

    def prior(self, X: Items) -> Array:
        """k(x, x), centred where there is an intercept."""
        return self.gram.prior(X, self.gram.against(X))

    def both(self, X: Items) -> tuple[Array, Array]:
        """`project` and `prior` of the same inputs, of one batch of kernel values."""
        K = self.gram.against(X)
        return K @ self._weighted(self.E), self.gram.prior(X, K)


def _spectrum(K: Array, scale: float) -> tuple[Array, Array]:
    s, E = eigh(K, "Gram matrix", drop=False, scale=scale)
    return s, (K if E is None else E)  # E is None for an empty matrix alone


class PlainGram:
    """Kernel values on the training inputs as they are."""

    def __init__(self, kernel: Kernel, X: Items):
        self.kernel, self.X = kernel, X

    def matrix(self) -> Array:
        """The Gram matrix."""
        return self.kernel.checked_gram(self.X)

    def against(self, A: Items) -> Array:
        """Kernel values of new inputs against the training inputs."""
        return self.kernel(A, self.X)

    def map(self, coef: Array) -> tuple[FeatureMap, Array | float]:
        """The map of dual coefficients."""
        return Spanned(self.kernel, self.X, coef), 0.0

    def prior(self, A: Items, against: Array) -> Array:
        """k(a, a)."""
        return self.kernel.diag(A)


class CentredGram:
    """Kernel values less their mean over the training inputs, as far as that matters.

    What is constant over the training inputs is left to the reflection that takes constants out;
    in finite features both sides are centred first, so that no digits are lost.
    """

    def __init__(self, kernel: Kernel, X: Items, weights: np.ndarray | None):
        self.kernel, self.X = kernel, X
        self.features: Any = None
        if _vector_features(kernel, X):
            F = kernel.features(kernel.check(X, "X"))
            self.features = CenteredFeatures(kernel, _mean(F, weights))
            self.F = F - self.features.mean
        self.weights = weights

    def matrix(self) -> Array:
        """The Gram matrix, in finite features of centred ones."""
        if self.features is None:
            K = self.kernel.checked_gram(self.X)
            self.means = _mean(K, self.weights)
            self.level = float(_mean(self.means[:, None], self.weights)[0])
            return K
        return self.kernel.finite_values(self.F @ namespace(self.F).matrix_transpose(self.F))

    def against(self, A: Items) -> Array:
        """Centred kernel values of new inputs, up to a constant for each of them."""
        if self.features is None:
            return self.kernel(A, self.X) - self.means
        return self.features.transform(A) @ namespace(self.F).matrix_transpose(self.F)

    def map(self, coef: Array) -> tuple[FeatureMap, Array | float]:
        """The map of dual coefficients that sum to zero, and its mean."""
        if self.features is None:
            return Spanned(self.kernel, self.X, coef), self.means @ coef
        primal = namespace(coef).matrix_transpose(self.F) @ coef
        return CenteredFeatures(self.kernel, self.features.mean, primal, coef), 0.0

    def prior(self, A: Items, against: Array) -> Array:
        """‖Φ(a) - mean‖², given the centred kernel values of A."""
        if self.features is not None:
            F = self.features.transform(A)
            return namespace(F).sum(F * F, axis=1)
        rows = _mean(namespace(against).matrix_transpose(against), self.weights)
        return self.kernel.diag(A) - 2.0 * rows - self.level


def _vector_features(kernel: Kernel, X: Items) -> bool:
    """Whether the kernel has finite features on dense vectors."""
    return kernel.features is not None and kernel.on_vectors and not issparse(X)


def _mean(A: Array, weights: np.ndarray | None) -> Array:
    """The weighted mean of the rows."""
    if weights is None:
        return namespace(A).mean(A, axis=0)
    return like(weights / weights.sum(), A) @ A


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
        """Of coordinates that are held for all examples."""
        total = float(U.shape[0]) if weights is None else float(weights.sum())
        if issparse(U):
            return cls._sparse(map, U, weights, total, intercept)
        mean = _mean(U, weights) if intercept else None
        rows = U if mean is None else U - mean
        roots = weight_roots(weights, U)
        rows = rows if roots is None else roots * rows
        moment = namespace(rows).matrix_transpose(rows) @ rows
        return cls(map, rows, mean, moment, weights, total)

    @classmethod
    def _sparse(
        cls, map: FeatureMap, U: Any, weights: np.ndarray | None, total: float, intercept: bool
    ) -> LowRankRows:
        if intercept:
            raise ValueError(
                "sparse features would fill up if their mean were taken off: use "
                "Explicit(sparse=False), or fit_intercept=False."
            )
        rows = U if weights is None else diags_array(np.sqrt(weights)) @ U
        return cls(map, rows, None, (rows.T @ rows).toarray(), weights, total)

    @property
    def coordinates(self) -> Any:
        """The coordinates as they are, neither centred nor weighted."""
        U = self.rows
        if self.weights is not None:
            roots = np.sqrt(self.weights)
            U = diags_array(1.0 / roots) @ U if issparse(U) else U / like(roots[:, None], U)
        return U if self.mean is None else U + self.mean

    def composed(self, coef: Array) -> tuple[FeatureMap, Array | float]:
        """The map x ↦ (u(x) - mean) coef up to a constant, and that constant."""
        return self.map.compose(coef), 0.0 if self.mean is None else self.mean @ coef


class LowRankInputs(InputSpectrum):
    """Inputs in coordinates u(x) of low rank: S_uu = P diag(s) Pᵀ, E = U P diag(s)^{-1/2}."""

    def __init__(self, at: LowRankRows):
        self.at, self.mean, self.total = at, at.mean, at.total
        if at.whole and not issparse(at.rows) and at.rows.shape[0] >= at.rows.shape[1] > 0:
            self._factor_rows(at)
            return
        self.s, self.P = eigh(at.moment + 0.0, "input moment")
        if self.P is None:  # no coordinate at all
            self.P = at.moment
        self._put(at.rows, at.weights, at.whole)

    def _factor_rows(self, at: LowRankRows) -> None:
        """E from the rows themselves: orthonormal also where s is near rounding."""
        xp = namespace(at.rows)
        Q, R = xp.linalg.qr(at.rows)
        left, sigma, Pt = xp.linalg.svd(R)
        least = int(sigma.shape[0]) * EPS * float(xp.max(sigma))
        kept = int(xp.sum(xp.astype(sigma > least, xp.int64)))
        self.s, self.P = sigma[:kept] ** 2, xp.matrix_transpose(Pt)[:, :kept]
        self._put(at.rows, at.weights, True)
        self.E = Q @ left[:, :kept]

    def _put(self, rows: Any, weights: np.ndarray | None, whole: bool) -> None:
        """Take rows of centred and weighted coordinates as those of E."""
        self.E = dense(rows @ self.P) / namespace(self.s).sqrt(self.s)
        directions = int(self.s.shape[0]) + (self.mean is not None)
        self.complete = whole and directions == self.E.shape[0]
        self.roots = weight_roots(weights, self.E)
        if self.mean is not None:
            ones = np.ones(self.E.shape[0]) if weights is None else np.sqrt(weights)
            # The rows may be some of all: the constant has its length over all examples.
            N = like(ones[:, None] * self.total**-0.5, self.E)
            self.constants = Constants(N, N, np.arange(0))

    def lean(self) -> LowRankInputs:
        """The spectrum alone, without rows."""
        other = copy(self)
        other.at = replace(self.at, rows=None, moment=None)
        other.E, other.roots, other.constants = self.E[:0, :], None, None
        return other

    def at_pairs(self, X: Items, weights: np.ndarray | None) -> LowRankInputs:
        """The same spectrum with some other training inputs as rows."""
        other = copy(self)
        U = dense(self.at.map.transform(X))
        U = U if self.mean is None else U - self.mean
        roots = weight_roots(weights, U)
        whole = weights is None and U.shape[0] == self.total
        other._put(U if roots is None else roots * U, weights, whole)
        return other

    def project(self, X: Items) -> Array:
        """√s ∘ Pᵀ(u(x) - mean)."""
        U = dense(self.at.map.transform(X))
        U = U if self.mean is None else U - self.mean
        return (U @ self.P) * namespace(self.s).sqrt(self.s)

    def map(self, D: Array) -> tuple[FeatureMap, Array | float]:
        """The feature map times P √s D."""
        return self.at.composed(self.P @ (namespace(D).sqrt(self.s)[:, None] * D))

    def prior(self, X: Items) -> Array:
        """k(x, x), exact although the coordinates are not; centred in coordinates."""
        k = self.at.map.kernel_.diag(X)
        if self.mean is None:
            return k
        U = dense(self.at.map.transform(X))
        xp, C = namespace(U), U - self.mean
        return k - xp.sum(U * U, axis=1) + xp.sum(C * C, axis=1)
