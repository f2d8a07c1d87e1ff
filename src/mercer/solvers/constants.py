"""What an intercept takes out of a problem: constants, exactly, by Householder reflections."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._arrays import Array, like, namespace, take


@dataclass(frozen=True)
class Constants:
    """An orthonormal basis N of what an intercept fits, and its complement M, with MMᵀ + NNᵀ = I.

    Column c of N has the square roots of the sample weights at the rows of one place (of all rows,
    unless the rows are slots), over their length. The reflection I - 2RRᵀ turns the columns of N
    into unit vectors, whose rows are then left out: no null eigenvalue stays behind to be counted
    as a direction of the kernel.

    Attributes
    ----------
    N
        (rows, places).
    R
        The reflection's vectors, of disjoint supports like the columns of N.
    kept
        The rows that remain.
    """

    N: Array
    R: Array
    kept: np.ndarray

    @classmethod
    def of(cls, roots: np.ndarray, where: Array, places: np.ndarray | None = None) -> Constants:
        """Constants of rows with these roots of weights, one for each place that occurs.

        `where` is an array of the library and device that the results are wanted on.
        """
        places = np.zeros(len(roots), dtype=np.intp) if places is None else places
        present, first, place = np.unique(places, return_index=True, return_inverse=True)
        N = np.zeros((len(roots), len(present)))
        N[np.arange(len(roots)), place.reshape(-1)] = roots
        N /= np.sqrt((N * N).sum(axis=0))
        R = N.copy()
        R[first, np.arange(len(present))] += 1.0  # N is positive there: nothing cancels
        R /= np.sqrt((R * R).sum(axis=0))
        kept = np.delete(np.arange(len(roots)), first)  # the first row of every place goes
        return cls(like(N, where), like(R, where), kept)

    def reflected(self, A: Array) -> Array:
        """(I - 2RRᵀ) A."""
        return A - 2.0 * (self.R @ (namespace(A).matrix_transpose(self.R) @ A))

    def reduced(self, K: Array) -> Array:
        """MᵀKM for a symmetric K."""
        if self.N.shape[1] == 1:  # one constant: two outer products, and the first row goes
            v = self.R[:, 0]
            p = K @ v
            p = 2.0 * (p - (v @ p) * v)
            A = K[1:, 1:] - v[1:, None] * p[None, 1:]
            A -= p[1:, None] * v[None, 1:]
            return A
        turn = namespace(K).matrix_transpose
        half = take(self.reflected(K), self.kept)
        return take(self.reflected(turn(half)), self.kept)

    def inside(self, V: Array) -> Array:
        """MᵀV."""
        return take(self.reflected(V), self.kept)

    def back(self, A: Array) -> Array:
        """M A."""
        if self.N.shape[1] == 1:
            v = self.R[:, 0]
            rows = -2.0 * v[:, None] * (v[1:] @ A)[None, :]
            rows[1:, :] += A
            return rows
        lost = np.setdiff1d(np.arange(self.N.shape[0]), self.kept)
        zeros = like(np.zeros((len(lost), int(A.shape[1]))), A)
        order = np.argsort(np.concatenate([lost, self.kept]))
        return self.reflected(take(namespace(A).concat([zeros, A]), order))

    def without(self, V: Array) -> Array:
        """V - NNᵀV."""
        return V - self.N @ (namespace(V).matrix_transpose(self.N) @ V)
