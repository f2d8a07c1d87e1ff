"""The exact Gram matrix of a scalar kernel on the training inputs, and its spectrum."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from math import log
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.sparse import issparse

from .._base.arrays import Array, Items, count, is_foreign, like, namespace, take
from .._base.linalg import adjoint, factor_with_ridge, product, times, triangular_inverse
from .._base.memory import PLANNED_FRACTION, free_bytes
from .._base.plan import products_bytes
from ..features import Explicit
from ..features.base import Composed
from ..features.landmarks import KernelExpansion
from ..operators.slots import Slots
from .constants import Constants
from .gram_products import BlockProducts, FeatureProducts, GramProducts, MatrixProducts
from .input_spectrum import FittedMap, InputSpectrum, ProjectedInputs
from .reduction import Reduction, weighted_mean

if TYPE_CHECKING:
    from .part import Part

BLOCKWISE = 8192
"""From this number of vectors on, a Gram matrix is computed by blocks of rows, to save memory."""
REFINED = 1e-7
"""Solutions at ridges below this fraction of the largest eigenvalue lose digits to rounding."""


@dataclass
class InputGram:
    """The scalar kernel on the training inputs: its Gram matrix and values at new inputs.

    With an intercept, kernel values at new inputs are centred by the mean over the training inputs,
    and `Reduction` centres the training Gram matrix. A kernel with finite features on vectors is
    centred in its features instead: far from the origin its Gram matrix would lose digits.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> from mercer.solvers import InputGram
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> InputGram(RBF(1.0).fit(X), X, weights=None, intercept=False).reduced_gram().round(2)
    array([[1.  , 0.61, 0.14],
           [0.61, 1.  , 0.61],
           [0.14, 0.61, 1.  ]])
    """

    name: ClassVar[str] = "Gram matrix"
    kernel: Any
    X: Items
    weights: np.ndarray | None
    intercept: bool
    width: int | None = None
    """The number of finite features on vectors, which bounds the rank; None if not finite."""
    explicit: Any = field(default=None, init=False)
    """The map to the finite features on vectors; None if they are not finite."""
    F: Array | None = None
    """Centred finite features of the training inputs."""
    mean: Any = None
    """The mean of the finite features."""
    means: Any = None
    """The mean of each column of the training Gram matrix; None without an intercept."""
    reduction: Any = field(default=None, init=False)
    """The transformation of the Gram matrix by weights and intercept; None before first use."""
    largest: float = 0.0
    """The largest entry of K, to which rounding is relative."""
    known: Array | None = None
    """Values of K that were computed before; released when they are used."""

    @property
    def slots(self) -> Slots:
        """One row per training input."""
        return Slots(count(self.X), 1)

    def reduced_gram(self) -> Array:
        """Return the training Gram matrix with sample weights applied and constants projected out.

        The caller may overwrite it.
        """
        K = self._centred_gram()
        self.reduction = Reduction.of(self.weights, self.intercept, K)
        return self.reduction.reduce_gram(K)

    def _centred_gram(self) -> Array:
        """Return the Gram matrix K of the inputs, centred if the kernel has finite features."""
        if self._has_finite_features:
            self._fit_features(self.X if self.intercept else take(self.X, [0]))
        if self.F is not None:
            K = self.kernel.finite_values(self.F @ self.F.T)
        else:
            K, self.known = self.known, None
            K = self.kernel.checked_gram(self.X) if K is None else K
            self.means = weighted_mean(K, self.weights) if self.intercept else None
        xp = namespace(K)
        self.largest = float(xp.max(abs(xp.linalg.diagonal(K))))
        return K

    @property
    def _has_finite_features(self) -> bool:
        """Whether the kernel has finite features on dense vectors."""
        kernel = self.kernel
        return kernel.features is not None and kernel.space.on_vectors and not issparse(self.X)

    def _fit_features(self, items: Items) -> Array:
        """Return the finite features of the given training inputs, centred with an intercept."""
        self.explicit = Explicit()
        F = self.explicit.fit_transform(self.kernel, self.kernel.check(items, "X"))
        self.width = int(F.shape[1])
        if self.intercept:
            self.mean = weighted_mean(F, self.weights)
            self.F = F - self.mean
        return self.F if self.intercept else F

    def products(self, rank: int, columns: int) -> GramProducts:
        """Return products with K, by its features if they are fewer than the examples.

        K is computed in blocks again and again if it does not fit into memory, with `rank` rows
        and a few arrays of `columns` columns.
        """
        n = count(self.X)
        if self._has_finite_features:
            F = self._fit_features(self.X)
            if int(F.shape[1]) < n:
                self.F = F
                self.reduction = Reduction.of(self.weights, self.intercept, F)
                return FeatureProducts(F)
        by_blocks = BlockProducts(self.kernel, self.kernel.check(self.X, "X"))
        where = by_blocks.diagonal
        made: GramProducts = by_blocks if self.F is None else FeatureProducts(self.F)
        if products_bytes(n, rank, columns) <= PLANNED_FRACTION * free_bytes(where):
            blockwise = n > BLOCKWISE and self.kernel.on_vectors and self.F is None
            made = MatrixProducts(by_blocks.matrix() if blockwise else self._centred_gram())
        if self.intercept and self.F is None:
            w = np.full(n, 1.0 / n) if self.weights is None else self.weights / self.weights.sum()
            self.means = made.times(like(w[:, None], where))[:, 0]
        self.reduction = Reduction.of(self.weights, self.intercept, where)
        return made

    def kernel_values(self, A: Items) -> Array:
        """Return k(A, X) between new and training inputs, centred if there is an intercept."""
        if self.F is not None:
            return self._centred_features(A) @ self.F.T
        return self.kernel(A, self.X) - self.means if self.intercept else self.kernel(A, self.X)

    def project(self, A: Items, prior: bool) -> tuple[Array, Array | None, Slots]:
        """Return `kernel_values(A)`, prior variances if `prior`, and the slots of new inputs."""
        K = self.kernel_values(A)
        own = self._prior_variances(A, K) if prior else None
        return K, own, Slots(count(A), 1)

    def _centred_features(self, A: Items) -> Array:
        """Return the finite features of new inputs minus the mean training features."""
        return Composed(self.explicit, mean=self.mean).transform(A)

    def dual_coefficients(self, T: Array, ridge: float) -> Array:
        """Return (K + ridge · I)⁻¹ T by a Cholesky factor, without constants."""
        factor = factor_with_ridge(self.reduced_gram(), ridge)
        return self.reduction.expand_rows(factor.solve(self.reduction.reduce_rows(T)))

    def dual_map(self, coef: Array) -> FittedMap:
        """Return the map x ↦ k(x, X) @ (√w ∘ coef), with sample weights w, and its mean."""
        coef = coef if self.reduction.roots is None else self.reduction.roots * coef
        if self.F is not None:
            return FittedMap(Composed(self.explicit, self.F.T @ coef, self.mean, coef))
        mean = self.means @ coef if self.intercept else 0.0
        return FittedMap(KernelExpansion(self.kernel, self.X, coef), mean)

    def gram_times(self, A: Array) -> Array:
        """Return the training Gram matrix times A; with an intercept, minus column means."""
        if self.F is not None:
            return self.F @ (self.F.T @ A)
        KA = self.kernel.checked_gram(self.X) @ A
        return KA - weighted_mean(KA, self.weights) if self.intercept else KA

    def prior_covariance(self, A: Items) -> Array:
        """Return the kernel matrix k(A, A) of new inputs, centred if there is an intercept."""
        if self.F is not None:
            F = self._centred_features(A)
            return F @ F.T
        K = self.kernel(A, A)
        if not self.intercept:
            return K
        rows = weighted_mean(self.kernel(A, self.X).T, self.weights)
        level = float(weighted_mean(self.means[:, None], self.weights)[0])
        return K - rows[:, None] - rows[None, :] + level

    def _prior_variances(self, A: Items, values: Array) -> Array:
        """Return k(a, a) of every new input, centred if there is an intercept.

        `values` are the `kernel_values(A)`.
        """
        if self.F is not None:
            F = self._centred_features(A)
            return namespace(F).sum(F * F, axis=1)
        if not self.intercept:
            return self.kernel.diag(A)
        rows = weighted_mean(values.T, self.weights)
        level = float(weighted_mean(self.means[:, None], self.weights)[0])
        return self.kernel.diag(A) - 2.0 * rows - level


class ExactSpectrum(InputSpectrum):
    """Eigenvalues and eigenvectors of the exact input Gram matrix of a scalar kernel.

    The eigendecomposition is computed on first use. For results at a single ridge α under a
    multiple of the identity, a Cholesky factor LLᵀ = Mᵀ√wK√wM + αI replaces it, where M is an
    orthonormal basis of the complement of the constants: E = √α M L⁻ᵀ and s = 0 give the same
    linear smoother.

    Parameters
    ----------
    gram
        The Gram matrix of the training inputs, and kernel values at new inputs.
    direct
        Whether a Cholesky factor may replace the eigendecomposition.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> from mercer.solvers import ExactSpectrum, InputGram
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> gram = InputGram(RBF(1.0).fit(X), X, weights=None, intercept=False)
    >>> ExactSpectrum(gram).s.round(2)
    array([0.21, 0.86, 1.93])
    """

    has_gram: ClassVar[bool] = True
    cached: Any = None
    """The value of `factored` once it is computed; for one ridge, √α L⁻ᵀ instead of E."""
    determinant: float | None = None
    """log det(b K + αI) at one ridge α and operator eigenvalue b; None for a spectrum."""

    def __init__(self, gram: Any, direct: bool = True):
        self.gram, self.direct = gram, direct
        self.complete = self.orthonormal = True

    @property
    def total(self) -> float:  # type: ignore[override]
        """The sum of the sample weights of the rows; their number without weights."""
        weights = self.gram.weights
        return float(self.E.shape[0] if weights is None else weights.sum())

    @property
    def nbytes(self) -> float:
        """The size of the eigenvectors in bytes, as many as there are rows."""
        rows = self.gram.slots.size if self.cached is None else int(self.cached[0].shape[0])
        return 8.0 * rows**2

    @property
    def factored(self) -> tuple[Array, Array, int]:
        """Eigenvalues, eigenvectors, and the number of eigenvalues that are rounding errors.

        They are computed on first use. Eigenvalues beyond the number of finite features are
        rounding errors, which a small ridge would magnify at new inputs: they are set to zero.
        """
        if self.cached is not None:
            return self.cached
        gram, A = self.gram, self.gram.reduced_gram()
        s, E = gram.reduction.eigh(A, gram.name, gram.largest)
        directions = int(s.shape[0])
        width = directions if gram.width is None else gram.width
        alike = not bool(namespace(s).any(s > 0))
        null = directions if alike else max(0, directions - width)
        s[:null] = 0.0
        self.cached = s, E, null
        return self.cached

    @property
    def s(self) -> Array:
        """The eigenvalues of the Gram matrix; zeros if factored by Cholesky for one ridge."""
        return self.factored[0]

    @property
    def E(self) -> Array:
        """The eigenvectors of the Gram matrix, or a Cholesky factor's basis for one ridge."""
        return self.factored[1] if self.determinant is None else self._expanded_factor

    @cached_property
    def _expanded_factor(self) -> Array:
        """E = M √α L⁻ᵀ for one ridge, of which `cached` has the triangular √α L⁻ᵀ."""
        return self.reduction.expand_rows(self.factored[1])

    @property
    def reduction(self) -> Reduction:
        """The transformation of the Gram matrix by sample weights and intercept."""
        if self.gram.reduction is None:
            self.factored  # noqa: B018
        return self.gram.reduction

    @property
    def roots(self) -> Array | None:  # type: ignore[override]
        """The square roots of the sample weights as a column; None for equal weights."""
        return self.reduction.roots

    @property
    def constants(self) -> Constants:  # type: ignore[override]
        """The unit vector that the intercept fits; zero without an intercept."""
        return Constants.by_component(self.slots, self.gram.weights, self.gram.intercept)

    @property
    def slots(self) -> Slots:  # type: ignore[override]
        """The example and the output component of each row of the Gram matrix."""
        return self.gram.slots

    def at_ridge(self, b: Array, alpha: float) -> InputSpectrum:
        """Return a copy factored by Cholesky for one ridge; all operator eigenvalues b are equal.

        Return the object itself if its spectrum is computed already or is needed: with a very small
        ridge, the residuals of a Cholesky factor lose digits that a spectrum keeps.
        """
        scale = float(b[0]) if b.shape[0] else 1.0
        if self.cached is not None or not self.direct or scale <= 0:
            return self
        gram = self.gram.reduced_gram()
        if alpha <= REFINED * scale * float(abs(namespace(gram).linalg.trace(gram))):
            return self
        try:
            factor = factor_with_ridge(gram, alpha / scale)
        except np.linalg.LinAlgError:
            return self  # α is lost in rounding
        L, other = factor.factor, copy(self)
        triangle = adjoint(triangular_inverse(L)) * (alpha / scale) ** 0.5
        other.cached = abs(namespace(L).linalg.diagonal(L)) * 0.0, triangle, 0
        other.orthonormal = False
        other.determinant = factor.log_determinant() + int(L.shape[0]) * log(scale)
        return other

    def log_det(self, b: Array, alpha: float) -> float:
        """Return Σ_pj log(s_p b_j + α), with eigenvalues s of Gram matrix and b of operator."""
        if self.determinant is None:
            return super().log_det(b, alpha)
        return int(b.shape[0]) * self.determinant

    def kernel_rows(self, index: np.ndarray) -> Array | None:
        """Return rows of the Gram matrix of slots, neither weighted nor centred."""
        return self.gram.rows(index)

    def project_inputs(self, X: Items, prior: bool = False) -> ProjectedInputs:
        """Project new inputs on the training eigenvectors; `prior` adds prior variances."""
        basis = self.factored[1]  # first: this computes the means of kernel values
        K, own, slots = self.gram.project(X, prior)
        if self.determinant is None:
            return ProjectedInputs(K @ self.reduction.weighted(basis), own, slots)
        # A product with a triangular matrix takes half the time of one with its expansion E.
        rows = self.reduction.reduce_rows(self.reduction.weighted(adjoint(K)))
        return ProjectedInputs(times(adjoint(rows), basis), own, slots)

    def prior_covariance(self, X: Items) -> Array:
        """Return the kernel matrix k(X, X) of new inputs, centred if there is an intercept."""
        return self.gram.prior_covariance(X)

    def gram_times(self, A: Array) -> Array:
        """Return the weighted Gram matrix times A, apart from multiples of the constants."""
        return self.reduction.weighted(self.gram.gram_times(self.reduction.weighted(A)))

    def solve(self, part: Part, alpha: float, Q: Array | None = None) -> FittedMap:
        """Return the fitted map of a `Part`, and its mean; Q is as in `InputSpectrum.solve`.

        A Cholesky factor replaces the spectrum where that is possible.
        """
        C = self._dual_coefficients(part, alpha) if self.cached is None and self.direct else None
        if C is None:
            D, null = part.coefficients(alpha, Q), self.factored[2]
            return self.gram.dual_map(self.E[:, null:] @ D[null:, :])
        if Q is not None:
            C = C @ adjoint(Q) if is_foreign(C) else product(C, Q.T)
        return self.gram.dual_map(C)

    def _dual_coefficients(self, part: Part, alpha: float) -> Array | None:
        """Return the dual coefficients by a Cholesky factor; None if only the spectrum gives them.

        They are b_j (b_j K + αI)⁻¹ T_j for each direction j, where K is the Gram matrix, b are the
        operator eigenvalues and T the targets of `part`.
        """
        if not part.positive_multiple:
            return None
        try:
            return self.gram.dual_coefficients(part.T, alpha / float(part.b[0]))
        except np.linalg.LinAlgError:
            return None  # the spectrum keeps more digits, or raises an error that says why
