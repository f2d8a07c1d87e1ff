"""The input side of a ridge problem, factored: √w K √w without constants = E diag(s) Eᵀ.

Everything else follows from E, s and the projection z(x) = Eᵀ(√w ∘ k_x) of a new input: in the
eigenbasis of the operator, g_j(x) = Σ_p z_p(x) b_j (EᵀT)_pj / (b_j s_p + α), plus the constant.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.linalg.blas import dgemv
from scipy.sparse import issparse

from .._base.arrays import Array, Items, is_foreign, like, namespace, take
from .._base.symmetric import eigh
from .._base.threads import MANY, in_passes
from ..features import FeatureMap
from ..features.centered import CenteredFeatures
from ..features.landmarks import Spanned
from .variances import unit_variance


class InputSpectrum:
    """E diag(s) Eᵀ over the training examples.

    Attributes
    ----------
    E
        Orthonormal columns, (n, r), one row a training example (or slot of one).
    s
        (r,), non-negative.
    N
        Orthonormal columns that the intercept fits, orthogonal to E; None without an intercept.
    complete
        Whether E and N are a basis of all of Rⁿ: then 1 - H is a sum of non-negative terms, and
        else a subtraction, good to about 1e-15.
    whole
        Whether the rows are those of all training examples, not of a sample.
    orthonormal
        Whether the columns are orthonormal also where s is near rounding. Those of a sample are
        not, nor those that were made of moments.
    roots
        √w as a column; None for weights of one.
    total
        Σw.
    """

    E: Array
    s: Array
    N: Array | None = None
    complete: bool
    whole: bool
    orthonormal: bool
    roots: Array | None = None
    total: float
    reduction: Reduction
    refines: ClassVar[bool] = False
    """Whether `times` has the Gram matrix itself at hand."""

    held: ClassVar[bool] = True
    """Whether all rows of E are in memory."""

    @property
    def constants(self) -> int:
        """The number of constants that an intercept fits."""
        return 0 if self.N is None else int(self.N.shape[1])

    def squared_levels(self, index: slice) -> Array | float:
        """N² of some rows."""
        return 0.0 if self.N is None else self.N[index, 0] ** 2

    def constant_blocks(self, members: np.ndarray) -> tuple[Array, Array] | None:
        """N_gN_gᵀ of groups of rows, and the same of constants that no other row has.

        None without an intercept. Rows are counted to find the constants of a group alone: a mass
        near one may be that of one heavy row among others.
        """
        if self.N is None:
            return None
        n = take(self.N[:, 0], members.reshape(-1))
        n = namespace(n).reshape(n, members.shape)
        blocks_ = n[:, :, None] * n[:, None, :]
        alone = self.whole and members.shape[1] == self.N.shape[0]
        return blocks_, (1.0 if alone else 0.0) * blocks_

    @property
    def share(self) -> float:
        """What a constant at a new input weighs: 1/√Σw, or nothing without an intercept."""
        return 0.0 if self.N is None else self.total**-0.5

    def factor(
        self,
        K: Array,
        weights: np.ndarray | None,
        intercept: bool,
        places: np.ndarray | None = None,
        what: str = "Gram matrix",
    ) -> None:
        """Factor √w K √w on what is not constant; `K` is destroyed."""
        xp, reduction = namespace(K), Reduction.of(weights, intercept, K, places)
        scale = float(xp.max(xp.linalg.diagonal(K)))  # to which rounding is relative
        scale *= 1.0 if weights is None else float(weights.max())
        A = reduction.reduced(K)
        self.complete = self.whole = self.orthonormal = True
        self.s, E = eigh(A, what, False, scale, True, reduction.lightest)
        self.E = reduction.back(A if E is None else E)  # E is None for an empty matrix alone
        self.reduction, self.roots, self.N = reduction, reduction.roots, reduction.N

    def without_rows(self) -> InputSpectrum:
        """The same without training rows that `both` does not need."""
        return self

    def rows(self, index: np.ndarray) -> Array:
        """Some rows of E."""
        return take(self.E, index)

    def without_constants(self, members: np.ndarray, A: Array) -> Array:
        """(I - N_gN_gᵀ)⁻¹ A for groups of rows."""
        raise NotImplementedError

    def log_det(self, b: Array, alpha: float) -> float:
        """Σ log(s b + α) over the coordinates of every direction."""
        xp = namespace(self.s)
        return float(xp.sum(xp.log(self.s[:, None] * b[None, :] + alpha)))

    def unit_variance(self, b: Array, X: Items, alpha: float) -> Array:
        """The variance of g(x) along directions of eigenvalues b for unit noise, a column each."""
        return unit_variance(self, b, X, alpha)

    def project(self, X: Items) -> Array:
        """z(x), one row an input."""
        raise NotImplementedError

    def map(self, D: Array) -> tuple[FeatureMap, Array | float]:
        """The map x ↦ z(x) D up to a constant, and that constant: its mean over the data."""
        raise NotImplementedError

    def times(self, A: Array) -> Array:
        """√w K √w A up to constants, by K itself."""
        raise NotImplementedError

    def both(self, X: Items) -> tuple[Array, Array]:
        """z(x) and k(x, x), both of centred features where there is an intercept."""
        raise NotImplementedError


@dataclass(frozen=True)
class Reduction:
    """What weights and an intercept make of a Gram matrix: Mᵀ(√w K √w)M with MMᵀ + NNᵀ = I.

    Column c of N has the square roots of the sample weights at the rows of one place (of all rows,
    unless the rows are slots), over their length. The reflection I - 2RRᵀ turns the columns of N
    into unit vectors, whose rows are then left out: no null eigenvalue stays behind to be counted
    as a direction of the kernel.

    Attributes
    ----------
    roots
        √w as a column; None for weights of one.
    N
        What an intercept fits, (rows, places); None without one.
    R
        The reflection's vectors, of disjoint supports like the columns of N.
    kept
        The rows that remain.
    order
        The rows by falling weight, in which the matrix is factored; None for equal weights. Rows of
        falling size keep the digits of the small ones, next to weights of 1e10.
    """

    roots: Array | None
    N: Array | None = None
    R: Array | None = None
    kept: Any = None
    order: np.ndarray | None = None
    lightest: float = 1.0
    """The smallest weight over the largest."""

    @classmethod
    def of(
        cls,
        weights: np.ndarray | None,
        intercept: bool,
        where: Array,
        places: np.ndarray | None = None,
    ) -> Reduction:
        """Of rows with these weights, one constant for each place that occurs.

        `where` has as many rows, and is of the library and device that the results are wanted on.
        """
        xp, roots, order, lightest = namespace(where), None, None, 1.0
        if weights is not None:
            roots = like(np.sqrt(weights)[:, None], where)
            order = np.argsort(-weights, kind="stable")
            lightest = float(weights.min() / weights.max())
        if not intercept:
            return cls(roots, order=order, lightest=lightest)
        N, first = xp.ones_like(where[:, :1]) if roots is None else roots, np.zeros(1, np.intp)
        if places is not None:
            known, place = np.unique(places, return_inverse=True)
            first = np.unique(places if order is None else places[order], return_index=True)[1]
            N = N * like(place.reshape(-1, 1) == np.arange(len(known)), where)
        N = N / xp.sqrt(xp.sum(N * N, axis=0))
        R = (N if order is None else take(N, order)) + 0.0
        for column, row in enumerate(first):
            R[int(row), column] += 1.0  # N is positive there: nothing cancels
        R = R / xp.sqrt(xp.sum(R * R, axis=0))
        kept = np.delete(np.arange(N.shape[0]), first)  # the first row of every place goes
        return cls(roots, N, R, kept, order, lightest)

    def weighted(self, A: Array) -> Array:
        """√w ∘ A."""
        return A if self.roots is None else self.roots * A

    def reduced(self, K: Array) -> Array:
        """Mᵀ(√w K √w)M for a symmetric K, which is returned itself where there is nothing to do."""
        if self.roots is not None:
            K = self.roots * K * namespace(K).matrix_transpose(self.roots)
        if self.order is not None:
            K = take(namespace(K).matrix_transpose(take(K, self.order)), self.order)
        if self.R is None:
            return K
        if self.R.shape[1] == 1:  # one constant: two outer products, and the first row goes
            v = self.R[:, 0]
            p = K @ v if is_foreign(K) else dgemv(1.0, K.T, v)
            p = 2.0 * (p - (v @ p) * v)
            if not is_foreign(K) and K.size < MANY:
                return K[1:, 1:] - v[1:, None] * p[None, 1:] - p[1:, None] * v[None, 1:]
            return _outer_less(K[1:, 1:], (v[1:], p[1:]), (p[1:], v[1:]))
        half = take(self._reflected(K), self.kept)
        return take(self._reflected(namespace(K).matrix_transpose(half)), self.kept)

    def _reflected(self, A: Array) -> Array:
        """(I - 2RRᵀ) A."""
        return A - 2.0 * (self.R @ (namespace(A).matrix_transpose(self.R) @ A))

    def inside(self, V: Array) -> Array:
        """MᵀV."""
        V = V if self.order is None else take(V, self.order)
        if self.R is None:
            return V
        if self.R.shape[1] > 1:
            return take(self._reflected(V), self.kept)
        v = self.R[:, 0]
        return V[1:, :] - v[1:, None] * (2.0 * (v @ V))[None, :]

    def back(self, A: Array) -> Array:
        """M A."""
        if self.R is None:
            rows = A
        elif self.R.shape[1] == 1:
            v = self.R[:, 0]
            rows = v[:, None] * (-2.0 * (v[1:] @ A))[None, :]
            rows[1:, :] += A
        else:
            lost = np.setdiff1d(np.arange(self.R.shape[0]), self.kept)
            zeros = like(np.zeros((len(lost), int(A.shape[1]))), A)
            positions = np.argsort(np.concatenate([lost, self.kept]))
            rows = self._reflected(take(namespace(A).concat([zeros, A]), positions))
        return rows if self.order is None else take(rows, np.argsort(self.order))

    def without(self, V: Array) -> Array:
        """V - NNᵀV."""
        if self.N is None:
            return V
        return V - self.N @ (namespace(V).matrix_transpose(self.N) @ V)


@dataclass
class InputGram:
    """Kernel values on the training inputs, and the maps made of them.

    With an intercept they are centred as far as that matters: what is constant over the training
    inputs is left to the reduction. A kernel with finite features on vectors is centred in those:
    far from the origin its Gram matrix would lose the digits that matter.
    """

    kernel: Any
    X: Items
    weights: np.ndarray | None
    intercept: bool
    width: int | None = None
    """The number of finite features on vectors, which bounds the rank; None where it has none."""
    F: Array | None = None
    """Centred finite features of the training inputs."""
    mean: Any = None
    """The mean of the finite features."""
    means: Any = None
    """The mean kernel value of each training input, where there is an intercept."""
    reduction: Any = field(default=None, init=False)
    """What weights and the intercept make of the matrix; files from before it lack it."""
    scale: float = 0.0
    """The largest entry of √w K √w, to which rounding is relative."""

    def reduced(self) -> Array:
        """The Gram matrix without weights and constants, for the caller to destroy."""
        kernel, features = self.kernel, self.kernel.features
        if features is not None and kernel.space.on_vectors and not issparse(self.X):
            F = features(kernel.check(self.X if self.intercept else take(self.X, [0]), "X"))
            self.width = int(F.shape[1])
            if self.intercept:
                self.mean = weighted_mean(F, self.weights)
                self.F = F - self.mean
        if self.F is not None:
            K = kernel.finite_values(self.F @ namespace(self.F).matrix_transpose(self.F))
        else:
            K = kernel.checked_gram(self.X)
            self.means = weighted_mean(K, self.weights) if self.intercept else None
        xp = namespace(K)
        self.scale = float(xp.max(xp.linalg.diagonal(K)))
        self.scale *= 1.0 if self.weights is None else float(self.weights.max())
        self.reduction = Reduction.of(self.weights, self.intercept, K)
        A = self.reduction.reduced(K)
        return K + 0.0 if A is K else A  # the kernel may keep its own

    def against(self, A: Items) -> Array:
        """Kernel values of new inputs, up to a constant for each of them with an intercept."""
        if self.F is not None:
            return self._centred(A) @ namespace(self.F).matrix_transpose(self.F)
        return self.kernel(A, self.X) - self.means if self.intercept else self.kernel(A, self.X)

    def _centred(self, A: Items) -> Array:
        return CenteredFeatures(self.kernel, self.mean).transform(A)

    def map(self, coef: Array) -> tuple[FeatureMap, Array | float]:
        """The map of dual coefficients √w ∘ coef (of sum zero with an intercept), and its mean."""
        coef = coef if self.reduction.roots is None else self.reduction.roots * coef
        if self.F is not None:
            primal = namespace(coef).matrix_transpose(self.F) @ coef
            return CenteredFeatures(self.kernel, self.mean, primal, coef), 0.0
        return Spanned(self.kernel, self.X, coef), self.means @ coef if self.intercept else 0.0

    def times(self, A: Array) -> Array:
        """K A, less its mean where there is an intercept."""
        if self.F is not None:
            return self.F @ (namespace(A).matrix_transpose(self.F) @ A)
        KA = self.kernel.checked_gram(self.X) @ A
        return KA - weighted_mean(KA, self.weights) if self.intercept else KA

    def prior(self, A: Items, against: Array) -> Array:
        """k(a, a), or ‖Φ(a) - mean‖² with an intercept, given the values of `against`."""
        if self.F is not None:
            F = self._centred(A)
            return namespace(F).sum(F * F, axis=1)
        if not self.intercept:
            return self.kernel.diag(A)
        rows = weighted_mean(namespace(against).matrix_transpose(against), self.weights)
        level = float(weighted_mean(self.means[:, None], self.weights)[0])
        return self.kernel.diag(A) - 2.0 * rows - level


class ExactInputs(InputSpectrum):
    """All of a scalar kernel on the training inputs: one eigendecomposition of the Gram matrix."""

    refines: ClassVar[bool] = True

    def __init__(self, kernel: Any, X: Items, weights: np.ndarray | None, intercept: bool):
        self.gram = gram = InputGram(kernel, X, weights, intercept)
        self.complete = self.whole = self.orthonormal = True
        A = gram.reduced()
        lightest = gram.reduction.lightest
        self.s, E = eigh(A, "Gram matrix", False, gram.scale, True, lightest)
        self.reduction = gram.reduction
        self.E = self.reduction.back(A if E is None else E)  # E is None for an empty matrix alone
        self.total = float(self.E.shape[0]) if weights is None else float(weights.sum())
        self.roots, self.N = self.reduction.roots, self.reduction.N
        directions = int(self.s.shape[0])
        # Rounding in directions that finite features cannot have means nothing at new inputs, and
        # a small ridge would magnify it: those, smallest first, are not mapped.
        width = directions if self.gram.width is None else self.gram.width
        alike = not bool(namespace(self.s).any(self.s > 0))
        self.null = directions if alike else max(0, directions - width)
        self.s[: self.null] = 0.0

    def project(self, X: Items) -> Array:
        """(√w ∘ k_x) E, kernel values centred with an intercept."""
        return self.gram.against(X) @ self.reduction.weighted(self.E)

    def times(self, A: Array) -> Array:
        """√w K √w A up to constants, by K itself."""
        return self.reduction.weighted(self.gram.times(self.reduction.weighted(A)))

    def map(self, D: Array) -> tuple[FeatureMap, Array | float]:
        """Kernel values against the training inputs, times √w ∘ (E D)."""
        return self.gram.map(self.E[:, self.null :] @ D[self.null :, :])

    def both(self, X: Items) -> tuple[Array, Array]:
        """The same of one batch of kernel values."""
        K = self.gram.against(X)
        return K @ self.reduction.weighted(self.E), self.gram.prior(X, K)


def _outer_less(A: Array, *pairs: tuple[Array, Array]) -> Array:
    """A - Σ a bᵀ over pairs of vectors; in numpy in one pass, on all cores."""
    if is_foreign(A):
        left, right = (namespace(A).stack(vectors) for vectors in zip(*pairs, strict=True))
        made = -namespace(A).matrix_transpose(left) @ right
        made += A
        return made
    made = np.empty(A.shape)

    def fill(rows: slice) -> None:
        made[rows] = A[rows]
        for a, b in pairs:
            made[rows] -= a[rows, None] * b

    in_passes(fill, *A.shape)
    return made


def weighted_mean(A: Array, weights: np.ndarray | None) -> Array:
    """The weighted mean of the rows."""
    if weights is None:
        return namespace(A).mean(A, axis=0)
    return like(weights / weights.sum(), A) @ A
