"""Sums of kernels whose operators have common eigenvectors: one n × n problem a direction.

With B_t = Q diag(b_t) Qᵀ for every term, Σ_t K_t ⊗ B_t falls apart into K_j = Σ_t b_tj K_t, and
the ridge equation into (K_j + αI) c_j = (VQ)_j, exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._arrays import Array, host, like, namespace, take
from .._linalg import eigh
from ..operators import BlockGram
from ..operators.base import dense
from .cholesky import Cholesky
from .leave_one_out import LeaveOneOut, LeftOut
from .spectral import Spectra

COMMUTES = 1e-10
"""Entries off the diagonal, relative to the largest on it, that are rounding."""


@dataclass(frozen=True)
class Directions:
    """A sum of terms in the common eigenbasis of their operators.

    Attributes
    ----------
    grams
        The K_t.
    weights
        b_tj, one row a term, one column a direction.
    Q
        The directions as columns; None where they are the output coordinates themselves.
    """

    grams: tuple[Array, ...]
    weights: np.ndarray
    Q: Array | None

    @classmethod
    def of(cls, gram: BlockGram) -> Directions | None:
        """The common eigenbasis, where there is one."""
        if gram.terms is None:
            return None
        Ks, Bs = zip(*gram.terms, strict=True)
        if all(B.ndim == 1 for B in Bs):
            return cls(Ks, np.stack([host(B) for B in Bs]), None)
        dense_ones = [host(dense(B)) for B in Bs]
        # A mixture with weights in general position has no eigenvalue twice that a term tells
        # apart, so that its eigenvectors are those of every term.
        scales = [float(np.abs(B).max()) or 1.0 for B in dense_ones]
        shares = np.sqrt(np.arange(2.0, len(Bs) + 2.0))
        mixed = sum(w * B / s for w, B, s in zip(shares, dense_ones, scales, strict=True))
        Q = np.linalg.eigh(mixed)[1]
        turned = [Q.T @ B @ Q for B in dense_ones]
        for B, scale in zip(turned, scales, strict=True):
            if np.abs(B - np.diag(B.diagonal())).max() > COMMUTES * len(B) * scale:
                return None
        weights = np.stack([np.maximum(B.diagonal(), 0.0) for B in turned])
        return cls(Ks, weights, like(Q, Ks[0]))

    def turned(self, V: Array) -> Array:
        """Outputs, one column a direction."""
        return V if self.Q is None else V @ self.Q

    def turned_back(self, C: Array) -> Array:
        """The same in output coordinates."""
        return C if self.Q is None else C @ namespace(self.Q).matrix_transpose(self.Q)

    @cached_property
    def groups(self) -> list[np.ndarray]:
        """Directions of equal weights, which share their matrix."""
        largest = self.weights.max(axis=1, keepdims=True)
        relative = self.weights / np.where(largest > 0, largest, 1.0)
        _, number = np.unique(relative.round(12), axis=1, return_inverse=True)
        number = number.reshape(-1)
        return [np.flatnonzero(number == g) for g in range(number.max() + 1)]

    def matrices(self, intercept: bool) -> Iterator[tuple[np.ndarray, Array]]:
        """The directions of a group and their K_j, centred where `intercept`."""
        for own in self.groups:
            K = sum(float(w) * K for w, K in zip(self.weights[:, own[0]], self.grams, strict=True))
            yield own, _centred(K) if intercept else K

    def solve(self, alpha: float, V: Array, intercept: bool = False) -> Array:
        """The coefficients c at one α, one Cholesky factorisation a group."""
        V = self.turned(V)
        parts = [_solved(K, alpha, _columns(V, own)) for own, K in self.matrices(intercept)]
        C = _in_order(parts, self.groups)
        return self.turned_back(C - namespace(C).mean(C, axis=0) if intercept else C)


class DirectionLeaveOneOut(LeftOut):
    """Left-out predictions under a sum whose operators have common eigenvectors.

    Each group of directions is an ordinary ridge equation under the identity, of which
    `LeaveOneOut` knows the closed form; they are factored one after another, for all α at once.

    Parameters
    ----------
    directions
        The sum in its eigenbasis.
    V
        Outputs, centred where `intercept`.
    intercept
        Whether every direction has a constant of its own.
    labels
        The group of each example; groups are left out together. None for examples on their own.
    """

    def __init__(
        self,
        directions: Directions,
        V: Array,
        intercept: bool = False,
        labels: np.ndarray | None = None,
    ):
        self.directions, self.intercept, self.labels = directions, intercept, labels
        self.outputs, self.V = V, directions.turned(V)
        self.known: dict[float, Array] = {}

    def coefficients(self, alpha: float) -> Array:
        """The coefficients c of the fit, (n, q)."""
        return self.directions.solve(alpha, self.outputs, self.intercept)

    def path(self, alphas: Sequence[float]) -> Iterator[Array]:
        """Outputs minus their left-out predictions, for every α in turn."""
        missing = [alpha for alpha in alphas if alpha not in self.known]
        if missing:
            found = self._by_direction(lambda loo: loo.path(missing))
            self.known.update(zip(missing, found, strict=True))
        return (self.known[alpha] for alpha in alphas)

    def averaged_residuals(self, alpha: float) -> Array:
        """The residuals of generalised cross-validation, direction by direction."""
        return self._by_direction(lambda loo: [loo.averaged_residuals(alpha)])[0]

    def _by_direction(self, residuals: Callable[[LeaveOneOut], Iterable[Array]]) -> list[Array]:
        parts = [
            list(residuals(self._equation(K, _columns(self.V, own))))
            for own, K in self.directions.matrices(self.intercept)
        ]
        return [_in_order(list(of), self.directions.groups) for of in zip(*parts, strict=True)]

    def _equation(self, K: Array, V: Array) -> LeaveOneOut:
        s, E = eigh(K, "operator-valued Gram matrix")
        xp = namespace(s)
        U = E * xp.sqrt(s)
        b = xp.ones_like(V[0, :])
        spectra = Spectra(s, None, b, None, xp.matrix_transpose(V) @ U)
        return LeaveOneOut(spectra, U, V, self.intercept, self.labels)

    def points(self, residuals: Array) -> Array:
        """Left-out predictions in output coordinates."""
        return self.directions.turned_back(self.V - residuals)


def _solved(K: Array, alpha: float, V: Array) -> Array:
    """(K + αI)⁻¹ V, by the spectrum where α is near the rounding of K."""
    scale = float(namespace(K).max(namespace(K).abs(K)))
    if Cholesky().accepts(K.shape[0], scale, alpha):
        return Cholesky().factor(K, alpha).solve(V)
    s, E = eigh(K, "operator-valued Gram matrix", drop=False)
    assert E is not None
    return E @ ((namespace(E).matrix_transpose(E) @ V) / (s + alpha)[:, None])


def _centred(K: Array) -> Array:
    xp = namespace(K)
    K = K - xp.mean(K, axis=0)[None, :]
    return K - xp.mean(K, axis=1)[:, None]


def _columns(V: Array, index: np.ndarray) -> Array:
    xp = namespace(V)
    return xp.matrix_transpose(take(xp.matrix_transpose(V), index))


def _in_order(parts: list[Array], groups: list[np.ndarray]) -> Array:
    """Columns that were found group by group, in the order of the directions."""
    joined = namespace(*parts).concat(parts, axis=1)
    return _columns(joined, np.argsort(np.concatenate(groups)))
