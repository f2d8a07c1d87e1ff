"""The transformation of a Gram matrix that applies sample weights and removes an intercept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._base.arrays import Array, like, namespace, take
from .._base.checks import Limits, permutation
from .._base.linalg import adjoint, eigh


@dataclass(frozen=True)
class Reduction:
    """The transformation of a Gram matrix K that applies weights and removes constants.

    The reduced matrix is Mᵀ(√w K √w)M with sample weights w and an orthonormal basis M of the
    complement of the constants N: MMᵀ + NNᵀ = I.

    Column c of N has the square roots of the sample weights in the rows of output component c (in
    all rows, unless rows are slots), divided by their norm. Rows are ordered such that the first
    rows are the heaviest ones of each component. The Householder reflection I - 2RRᵀ maps the
    columns of N to the unit vectors of these rows, which are then deleted, so that no null
    eigenvalue remains that would count as a direction of the kernel.

    Attributes
    ----------
    roots
        √w as a column; None for equal weights.
    R
        The vectors of the reflection, with disjoint supports like the columns of N; None without
        an intercept.
    order
        The order of the rows of R and of the reduced matrix; None for the order of the examples.
        After the first rows, weights decrease, which keeps the digits of rows with small weights
        next to weights of 1e10.
    """

    roots: Array | None
    R: Array | None = None
    order: np.ndarray | None = None
    lightest: float = 1.0
    """The smallest weight divided by the largest."""

    @classmethod
    def of(
        cls,
        weights: np.ndarray | None,
        intercept: bool,
        where: Array,
        components: np.ndarray | None = None,
    ) -> Reduction:
        """Return the reduction for rows with the given weights, with or without an intercept.

        The intercept has one constant for each output component; `components` has that of each row,
        None for a single constant. `where` is an array with as many rows, whose library and
        device the results have.
        """
        roots, order, lightest = None, np.arange(where.shape[0]), 1.0
        if weights is not None:
            roots = like(np.sqrt(weights)[:, None], where)
            order = np.argsort(-weights, kind="stable")
            lightest = float(weights.min() / weights.max())
        R = None
        if intercept:
            xp = namespace(where)
            components = np.zeros_like(order) if components is None else components
            first = np.unique(components[order], return_index=True)[1]
            order = np.concatenate([order[first], np.delete(order, first)])
            N = components[order][:, None] == components[order][: len(first)]
            N = like(N if weights is None else N * np.sqrt(weights[order])[:, None], where)
            N = N / xp.sqrt(xp.sum(N * N, axis=0))
            R = N + like(np.eye(*N.shape), where)  # N is positive there: no digits cancel
            R = R / xp.sqrt(xp.sum(R * R, axis=0))
        unchanged = bool((order == np.arange(len(order))).all())
        return cls(roots, R, None if unchanged else order, lightest)

    def check_loaded(self, limits: Limits) -> None:
        """Check a loaded reduction: every row has one place."""
        if self.order is not None:
            permutation(self.order, "order")

    def weighted(self, A: Array) -> Array:
        """Return √w ∘ A, the rows of A times the square roots of their weights."""
        return A if self.roots is None else self.roots * A

    def reduce_gram(self, K: Array) -> Array:
        """Return Mᵀ(√w K √w)M, the Gram matrix with weights and without constants.

        It is a new array, which the caller may overwrite.
        """
        R, copied = self.R, self.roots is not None or self.order is not None
        if self.roots is not None:
            K = self.roots * K * self.roots.T
        if self.order is not None:
            K = take(adjoint(take(K, self.order)), self.order)
        if R is None:
            return K if copied else K + 0.0
        xp, number, P = namespace(K), R.shape[1], K @ R
        P = 2.0 * (P - R @ (R.T @ P))  # the reflected matrix is K - RPᵀ - PRᵀ
        left, right = xp.concat([R, P], axis=1), xp.concat([P, R], axis=1)
        A = -left[number:, :] @ adjoint(right[number:, :])
        A += K[number:, number:]
        return A

    def reduce_rows(self, V: Array) -> Array:
        """Return MᵀV: map rows V over all examples to rows of the reduced matrix."""
        V = V if self.order is None else take(V, self.order)
        if self.R is None:
            return V
        number = self.R.shape[1]
        return V[number:, :] - self.R[number:, :] @ (2.0 * (self.R.T @ V))

    def expand_rows(self, A: Array) -> Array:
        """Return M A: map rows A of the reduced matrix to rows over all examples."""
        if self.R is not None:
            number = self.R.shape[1]
            rows = self.R @ (-2.0 * (self.R[number:, :].T @ A))
            rows[number:, :] += A
            A = rows
        return A if self.order is None else take(A, np.argsort(self.order))

    def eigh(self, A: Array, what: str, largest: float) -> tuple[Array, Array]:
        """Return the eigenvalues of the reduced matrix A, and its eigenvectors over all examples.

        A is overwritten. `what` names it in errors, and `largest` is the largest entry of K, to
        which rounding errors are relative.
        """
        if self.roots is not None:
            largest *= float(namespace(self.roots).max(self.roots)) ** 2
        s, E = eigh(A, what, False, largest, True, self.lightest)
        return s, self.expand_rows(A if E is None else E)  # E is None only for an empty matrix


def weighted_mean(A: Array, weights: np.ndarray | None) -> Array:
    """Return the mean of the rows of A; `weights` of None are equal."""
    if weights is None:
        return namespace(A).mean(A, axis=0)
    return like(weights / weights.sum(), A) @ A
