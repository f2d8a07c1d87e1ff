"""Ridge regression as its definition reads, in float64 or with as many digits as one asks for.

Arrays of `mpmath` numbers (made by `digits`) take the same formulas as arrays of floats: the
reference of the laws is this file at 50 digits, its float64 run what a plain solve can do.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import mpmath
import numpy as np
from scipy.linalg import cho_factor, cho_solve

Array = np.ndarray
BITS = 320
"""Binary places of the whole numbers that systems are solved in: 96 digits after the point."""


def digits(A: Array) -> Array:
    """The same numbers, exactly, with as many digits as mpmath works with."""
    return np.vectorize(mpmath.mpf, otypes=[object])(np.asarray(A, dtype=float))


def solve(A: Array, b: Array) -> Array:
    """A⁻¹b by elimination, refined in extended precision where numbers are floats."""
    if A.dtype == object:
        return eliminated(A, b)
    x = np.linalg.solve(A, b)
    for _ in range(2):
        rest = b - A.astype(np.longdouble) @ x.astype(np.longdouble)
        x = x + np.linalg.solve(A, rest.astype(float))
    return x


def eliminated(A: Array, b: Array) -> Array:
    """Gaussian elimination with pivots, then substitution from below.

    In whole multiples of 2⁻ᴮ, B being `BITS`: Python's integers are far quicker than mpmath.
    """
    M, n = np.concatenate([A, b], axis=1), len(A)
    M = np.vectorize(lambda value: int(mpmath.ldexp(value, BITS)), otypes=[object])(M)
    for i in range(n):
        pivot = i + int(np.argmax([abs(value) for value in M[i:, i]]))
        M[[i, pivot]] = M[[pivot, i]]
        M[i, i:] = (M[i, i:] << BITS) // M[i, i]
        M[i + 1 :, i:] -= np.outer(M[i + 1 :, i], M[i, i:]) >> BITS
    x = M[:, n:]
    for i in reversed(range(n)):
        x[i] -= (M[i, i + 1 : n] @ x[i + 1 :]) >> BITS
    return np.vectorize(lambda value: mpmath.ldexp(value, -BITS), otypes=[object])(x)


# -- kernels -----------------------------------------------------------------------------------


def rbf(length: float) -> Callable[[Array, Array], Array]:
    def gram(A: Array, B: Array) -> Array:
        squares = ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2)
        if squares.dtype == object:
            scale = 2 * mpmath.mpf(length) ** 2
            return np.vectorize(lambda value: mpmath.exp(-value / scale), otypes=[object])(squares)
        return np.exp(-squares / (2 * length**2))

    return gram


def linear(A: Array, B: Array) -> Array:
    return A @ B.T


def coordinates(L: Array) -> Array:
    """Rows whose inner products are L."""
    values, vectors = np.linalg.eigh(L)
    return vectors * np.sqrt(np.maximum(values, 0.0))


# -- operators, of the outputs V and the centred Gram matrix K, under weights w ------------------


def identity(K: Array, V: Array, w: Array) -> Array:
    return np.eye(V.shape[1]) + 0 * V[:1]


def covariance(K: Array, V: Array, w: Array) -> Array:
    return V.T @ (V * w[:, None]) / w.sum()


def root_covariance(K: Array, V: Array, w: Array) -> Array:
    values, vectors = np.linalg.eigh(covariance(K, V, w))
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def conditional_covariance(epsilon: float) -> Callable[[Array, Array, Array], Array]:
    """S_vv - S_vu(S_uu + nεI)⁻¹S_uv = Vᵀ nε (K + nεI)⁻¹ V, weights inside, over n."""

    def matrix(K: Array, V: Array, w: Array) -> Array:
        n = w.sum()
        rest = solve(K * w + n * epsilon * np.eye(len(K)), V)  # (KW + nε)⁻¹ V
        return epsilon * (V * w[:, None]).T @ rest

    return matrix


def given(B: Array) -> Callable[[Array, Array, Array], Array]:
    return lambda K, V, w: B + 0 * V[:1, :1]


def centred(V: Array, w: Array) -> Array:
    return V - (w @ V) / w.sum()


def centred_gram(K: Array, w: Array) -> Array:
    shares = w / w.sum()
    K = K - (K @ shares)[:, None]
    return K - (shares @ K)[None, :]


# -- the ridge ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ridge:
    """Minimise Σ w_i‖g(x_i) + b - v_i‖² + alpha‖g‖², b = 0 without an intercept.

    Attributes
    ----------
    G, G_new
        The operator-valued kernel, (n, q, n, q) over the training inputs and (m, q, n, q) between
        new inputs and those; of width 1 for a scalar kernel, which treats all columns of V alike.
    V
        The outputs, (n, q).
    w
        The weights, one for each example.
    """

    G: Array
    G_new: Array
    V: Array
    w: Array
    alpha: float
    intercept: bool

    def predict(self) -> Array:
        """G at the new inputs: c and b of (G + αW⁻¹)c + Eb = v with Eᵀc = 0.

        The matrix of both is symmetric: it is solved with the outputs or with the new rows,
        whichever are fewer.
        """
        A, E, v = self._system()
        new = self.G_new.reshape(-1, len(E))
        if self.intercept:
            A = np.block([[A, E], [E.T, np.zeros((self.width, self.width))]])
            v = np.concatenate([v, np.zeros((self.width, v.shape[1]))])
            new = np.concatenate([new, np.tile(np.eye(self.width), (len(self.G_new), 1))], axis=1)
        g = new @ solve(A, v) if v.shape[1] <= len(new) else solve(A, new.T).T @ v
        return g.reshape(len(self.G_new), -1)

    def predict_by_cholesky(self) -> list[Array]:
        """The same in float64 by one factorisation; with an intercept in two ways.

        The first eliminates c before b, the second centres the kernel and the outputs.
        """
        A, E, v = self._system()
        factor = cho_factor(A, lower=True)
        c, b = cho_solve(factor, v), np.zeros((0, 1))
        if not self.intercept:
            return [self._at_new(c, b)]
        D = cho_solve(factor, E)
        b = np.linalg.solve(E.T @ D, E.T @ c)
        return [self._at_new(c - D @ b, b), self._centred()]

    def _centred(self) -> Array:
        shares = self.w / self.w.sum()
        rows = np.tensordot(shares, self.G, (0, 0))  # the mean over examples of G(x_i, x_j)
        mean = np.tensordot(rows, shares, (1, 0))
        new = np.tensordot(self.G_new, shares, (2, 0))
        G = self.G - rows - rows.transpose(1, 2, 0)[:, :, None, :] + mean[None, :, None, :]
        G_new = self.G_new - rows - new[:, :, None, :] + mean[None, :, None, :]
        plain = replace(self, G=G, G_new=G_new, V=centred(self.V, self.w), intercept=False)
        return shares @ self.V + plain.predict_by_cholesky()[0]

    def left_out(self, labels: Array, by_cholesky: bool = False) -> Array:
        """What refits without the examples of each label predict for them."""
        points = np.empty_like(self.V)
        for label in np.unique(labels):
            out = labels == label
            rest = replace(
                self,
                G=self.G[~out][:, :, ~out],
                G_new=self.G[out][:, :, ~out],
                V=self.V[~out],
                w=self.w[~out],
            )
            points[out] = rest.predict_by_cholesky()[-1] if by_cholesky else rest.predict()
        return points

    @property
    def width(self) -> int:
        """The number of components that G couples; all of V's, or one for each column apart."""
        return self.G.shape[1]

    def _system(self) -> tuple[Array, Array, Array]:
        n, s = len(self.V), self.width
        A = self.G.reshape(n * s, n * s) + np.diag(np.repeat(self.alpha / self.w, s))
        return A, np.tile(np.eye(s), (n, 1)), self.V.reshape(n * s, -1)

    def _at_new(self, c: Array, b: Array) -> Array:
        g = self.G_new.reshape(-1, len(c)) @ c
        g = g.reshape(len(self.G_new), -1)
        return g + b.reshape(1, -1) if self.intercept else g
