"""Conjugate gradients for ridge equations: of coupled kernels, and of many sparse features."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._base.arrays import Array, like
from .._base.parameters import one_of
from ..operators import BlockGram
from .conjugate_gradients import column_norms, solve_shifted
from .constants import Constants
from .preconditioners import preconditioner

PRECONDITIONERS = ("auto", "none")


@dataclass(frozen=True)
class BlockSolution:
    """Coefficients that solve a ridge equation, with the iteration count and residual.

    Attributes
    ----------
    coef
        The coefficients c, (n, q).
    n_iter, residual
        The number of products with the Gram matrix, and the norm of the last residual relative to
        that of V; both None for a direct solution.
    """

    coef: Array
    n_iter: int | None = None
    residual: float | None = None


@dataclass(frozen=True)
class BlockConjugateGradient:
    """Preconditioned conjugate gradients for the ridge equation of a coupled kernel.

    Solves Σ_j K(x_i, x_j) c_j + α c_i = v_i by products with the Gram matrix, which is not formed:
    it has n·q rows for n examples and q output components.

    Parameters
    ----------
    tolerance : float, default=1e-06
        The norm of the residual, relative to that of the outputs, at which to stop. The relative
        error of the fitted values is then at most this number.
    rounds : int, default=1000
        The largest number of products; a warning says if more are needed.
    preconditioner : {"auto", "none"}, default="auto"
        "auto": the nearest Kronecker product for a sum of scalar kernels times operators, else a
        Nyström approximation of low rank.
    rank : int or None, default=None
        The number of columns of a low-rank preconditioner, which replaces the Kronecker product;
        None for 6 √(n·q) columns where there is no Kronecker product.

    Notes
    -----
    With an intercept the equation is (PGP + αI) C = PV, where P subtracts the mean over the
    examples from each output component; the iteration stays in the range of P.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> from mercer.operators import Covariance, Matrix
    >>> from mercer.solvers import BlockConjugateGradient
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> Y = np.hstack([np.sin(6 * X), np.cos(6 * X)])
    >>> kernel = RBF(0.3) * Covariance() + RBF(1.0) * Matrix([[1.0, 0.5], [0.5, 2.0]])
    >>> model = KernelDependency(kernel, alpha=0.01, solver=BlockConjugateGradient(1e-8))
    >>> bool(model.fit(X, Y).residual_ < 1e-8)
    True
    """

    tolerance: float = 1e-6
    rounds: int = 1000
    preconditioner: str = "auto"
    rank: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.tolerance < 1:
            raise ValueError(f"tolerance must be between 0 and 1, got {self.tolerance!r}.")
        if not self.rounds >= 1:
            raise ValueError(f"rounds must be at least 1, got {self.rounds!r}.")
        one_of(self.preconditioner, "preconditioner", PRECONDITIONERS)

    def solve(
        self,
        gram: BlockGram,
        alpha: float,
        V: Array,
        intercept: bool = False,
        weights: np.ndarray | None = None,
    ) -> BlockSolution:
        """Solve (G + αI) c = V for the Gram matrix G; return c, iteration count and residual.

        Parameters
        ----------
        gram
            The Gram matrix of the training inputs, as a linear map.
        alpha
            The ridge parameter α.
        V
            The output components, (n, q).
        intercept
            Whether each component has an intercept. The result does not contain the intercepts.
        weights
            The sample weights of the examples; None for equal weights.
        """
        slots = gram.rows
        w = None if weights is None else weights[slots.owners]
        roots = None if w is None else like(np.sqrt(w)[:, None], V)
        constants = Constants.by_component(slots, w) if intercept else None
        precondition = None
        if self.preconditioner == "auto":
            precondition = preconditioner(gram, alpha, self.rank, roots)

        def weighted(D: Array) -> Array:
            """Return √w ∘ D, the rows of D times the square roots of their weights."""
            return D if roots is None else roots * D

        def without_constants(D: Array) -> Array:
            """Return D; with an intercept, minus the means over the examples."""
            return D if constants is None else D - constants.project(D)

        def product(D: Array) -> Array:
            """Return √w G √w D; with an intercept, minus the means over the examples."""
            return without_constants(weighted(gram.apply(weighted(D))))

        def precondition_residual(D: Array, shifts: Array) -> Array:
            """Return the preconditioner times D; with an intercept, minus the means."""
            assert precondition is not None
            return without_constants(precondition(D))

        T = without_constants(weighted(slots.split(V)))
        lengths = column_norms(T)
        found = solve_shifted(
            product,
            T,
            like(np.full(len(lengths), alpha), V),
            self.tolerance * lengths,
            None if precondition is None else precondition_residual,
            self.rounds,
        )
        residual = float(np.linalg.norm(found.residuals) / (np.linalg.norm(lengths) or 1.0))
        if not found.converged:
            warnings.warn(
                f"conjugate gradients stopped after {found.n_iter} rounds at a residual of "
                f"{residual:.2g}, above the tolerance {self.tolerance:g}: raise alpha, rounds or "
                "the rank of the preconditioner, or use solver='dense'.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return BlockSolution(slots.join(weighted(found.X)), found.n_iter, residual)


@dataclass(frozen=True)
class ConjugateGradient:
    """Conjugate gradients for the ridge equation with many sparse input features.

    For a diagonal operator B = diag(b), input features U and outputs V there is one equation for
    each output j,

        (K_x + (α / b_j) I) a_j = v_j,    coef_j = Uᵀ a_j,    K_x = U Uᵀ,

    all solved at the same time by products with U.

    Parameters
    ----------
    tolerance : float, default=0.001
        The norm of a residual, relative to that of its v_j, at which to stop.
    rounds : int, default=500
        The largest number of products with K_x.
    warn : bool, default=True
        Whether to warn if more rounds are needed.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from mercer.solvers import ConjugateGradient
    >>> U = sparse.csr_array([[1.0], [2.0]])
    >>> ConjugateGradient().solve(U, np.array([[1.0], [2.0]]), alpha=5.0).round(6)
    array([[0.5]])
    """

    tolerance: float = 1e-3
    rounds: int = 500
    warn: bool = True

    def solve(self, U: Any, V: np.ndarray, alpha: float, b: np.ndarray | None = None) -> np.ndarray:
        """Return coefficients (p, q) of the fitted map g(x) = u(x) @ coef, with input features u.

        Parameters
        ----------
        U
            The input features, sparse, one row per example.
        V
            The outputs in coordinates, one row per example.
        alpha
            The ridge parameter α.
        b
            The diagonal of the operator; None for the identity.
        """
        ridge = np.full(V.shape[1], alpha, dtype=V.dtype)
        if b is not None:
            V = V * (b > 0)  # where b is 0 nothing is learnt
            ridge = (alpha / np.where(b > 0, b, 1.0)).astype(V.dtype)
        Ut = U.T.tocsr()
        A = np.zeros_like(V)
        for columns, solved in self._solve_columns(U, Ut, V, ridge):
            A[:, columns] = solved
        return Ut @ A

    def _solve_columns(
        self, U: Any, Ut: Any, V: np.ndarray, ridge: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Solve (UUᵀ + ridge_j I) a_j = v_j for each column j of V.

        Yield the numbers and the solutions of the columns that converged; at last all other ones.
        """
        columns = np.arange(V.shape[1])
        A, R, P = np.zeros_like(V), V.copy(), V.copy()
        now = np.einsum("ij,ij->j", R, R)
        goal = self.tolerance**2 * now
        for _ in range(self.rounds):
            left = now > goal
            if not left.all():
                yield columns[~left], A[:, ~left]
                A, R, P = A[:, left], R[:, left], P[:, left]
                columns, ridge, now, goal = columns[left], ridge[left], now[left], goal[left]
            if not len(columns):
                return
            KP = U @ (Ut @ P) + ridge * P
            step = now / np.einsum("ij,ij->j", P, KP)
            A += step * P
            R -= step * KP
            before, now = now, np.einsum("ij,ij->j", R, R)
            P *= now / before
            P += R
        yield columns, A
        if self.warn and (now > goal).any():
            warnings.warn(
                f"conjugate gradients did not reach tolerance {self.tolerance} in {self.rounds} "
                "rounds: raise alpha or the number of rounds.",
                ConvergenceWarning,
                stacklevel=4,
            )
