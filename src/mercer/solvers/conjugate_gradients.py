"""Preconditioned conjugate gradients for many right-hand sides, each with its own shift."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from .._base.arrays import Array, host, like, namespace, put, take_columns
from .._base.linalg import NotPositiveSemidefinite

LinearMap = Callable[[Array], Array]
"""A function that multiplies the columns of an array by a matrix."""
Preconditioner = Callable[[Array, Array], Array]
"""A function of columns and their shifts that multiplies each column by an approximate inverse."""
RESIDUAL_INTERVAL = 50
"""Residuals are computed from scratch after this many iterations, because updates of them drift."""
RELEASED_FRACTION = 0.25
"""Residuals are checked when this fraction of the columns seems to have converged."""
FALSE_ALARMS = 3
"""A column whose residual was found too large so often after it seemed small does not converge."""


@dataclass(frozen=True)
class Iterates:
    """The result of conjugate gradients.

    Attributes
    ----------
    X
        The solutions, one column for each right-hand side.
    n_iter
        The number of iterations.
    residuals
        The norm of the residual of each column, computed from scratch for columns that converged.
    converged
        Whether the residuals of all columns are small enough.
    """

    X: Array
    n_iter: int
    residuals: np.ndarray
    converged: bool


def solve_shifted(
    product: LinearMap,
    T: Array,
    shifts: Array,
    goals: np.ndarray,
    precondition: Preconditioner | None = None,
    rounds: float = inf,
    budget: float = inf,
    watch: Callable[[int, float], None] | None = None,
) -> Iterates:
    """Solve (K + shifts_j I) x_j = T_j for all columns j of T together.

    A column leaves the iteration when its residual, computed from scratch, is small enough.

    Parameters
    ----------
    product
        A function that multiplies columns by K.
    T, shifts
        The right-hand sides as columns, and the positive shift of each.
    goals
        The norm of the residual at which each column has converged.
    precondition
        The preconditioner; None for none.
    rounds, budget
        The largest number of iterations, and of products of K with a column.
    watch
        A function that is called after each iteration, with its number and the fraction of the
        digits that are reached.
    """
    state = _Columns(product, T, shifts, goals, precondition)
    n_iter, first = 0, state.missing()
    while state.active and n_iter < rounds and state.spent + state.active <= budget:
        n_iter += 1
        state.advance()
        if watch is not None:
            watch(n_iter, 1.0 - state.missing() / first)
        claims = state.claims() | (n_iter % RESIDUAL_INTERVAL == 0)
        if (
            claims.sum() >= RELEASED_FRACTION * state.active
        ):  # a product with few columns takes as long
            state.check(claims)
        if state.stuck:
            break
    converged = not state.active
    state.finish()
    return Iterates(state.solutions, n_iter, state.residuals, converged)


class _Columns:
    """The columns that have not converged: solutions X, residuals R and directions P."""

    def __init__(
        self,
        product: LinearMap,
        T: Array,
        shifts: Array,
        goals: np.ndarray,
        precondition: Preconditioner | None,
    ):
        xp = namespace(T)
        self.product, self.precondition = product, precondition
        self.solutions, self.residuals = xp.zeros_like(T), column_norms(T)
        self.numbers, self.goals, self.shifts = np.arange(T.shape[1]), goals, shifts
        self.T, self.X, self.R = T, xp.zeros_like(T), T + 0.0
        self.P, self.before = xp.zeros_like(T), xp.ones_like(shifts)
        self.alarms, self.spent = np.zeros(T.shape[1], dtype=int), 0
        self._release(self.residuals <= goals)

    @property
    def active(self) -> int:
        """The number of columns that have not converged."""
        return len(self.numbers)

    @property
    def stuck(self) -> bool:
        """Whether rounding errors keep the residual of a column above its goal."""
        return bool((self.alarms >= FALSE_ALARMS).any())

    def advance(self) -> None:
        """Make one iteration."""
        xp = namespace(self.R)
        Z = self.R if self.precondition is None else self.precondition(self.R, self.shifts)
        now = xp.sum(self.R * Z, axis=0)
        self.P = Z + self.P * (now / self.before)
        KP = self.product(self.P) + self.P * self.shifts
        self.spent += self.active
        curvature = xp.sum(self.P * KP, axis=0)
        if not bool(xp.all(curvature > 0)):
            raise NotPositiveSemidefinite(
                "the kernel is not positive semidefinite: ⟨c, (K + αI) c⟩ is "
                f"{float(xp.min(curvature)):.3g} for some c. Use a positive semidefinite kernel; "
                "if it is one, raise alpha."
            )
        step = now / curvature
        self.X = self.X + self.P * step
        self.R = self.R - KP * step
        self.before = now

    def missing(self) -> float:
        """Return the largest logarithm of a residual over its goal, at least a small number."""
        if not self.active:
            return 1.0
        ratios = column_norms(self.R) / self.goals
        return float(np.log(np.maximum(ratios, 1.001)).max())

    def claims(self) -> np.ndarray:
        """Return for each column whether its updated residual is small enough."""
        return column_norms(self.R) <= self.goals

    def check(self, due: np.ndarray) -> None:
        """Compute the residuals of the columns that are `due` from scratch; release small ones."""
        if not due.any():
            return
        some = np.flatnonzero(due)
        X, T = take_columns(self.X, some), take_columns(self.T, some)
        R = T - self.product(X) - X * take_columns(self.shifts[None, :], some)
        self.spent += len(some)
        norms, claimed = column_norms(R), self.claims()[some]
        small = norms <= self.goals[some]
        self.residuals[self.numbers[some]] = norms
        self.alarms[some] += claimed & ~small
        self.R = _with_columns(self.R, some, R)
        restarted = np.ones(self.active)
        restarted[some] = 0.0  # the next direction of these columns is the residual
        self.P = self.P * like(restarted, self.P)
        released = np.zeros(self.active, dtype=bool)
        released[some] = small
        self._release(released)

    def _release(self, released: np.ndarray) -> None:
        """Store the solutions of some columns, and remove these columns."""
        if not released.any():
            return
        out, kept = np.flatnonzero(released), np.flatnonzero(~released)
        X = take_columns(self.X, out)
        self.solutions = _with_columns(self.solutions, self.numbers[out], X)
        for name in ("T", "X", "R", "P"):
            setattr(self, name, take_columns(getattr(self, name), kept))
        self.shifts = take_columns(self.shifts[None, :], kept)[0, :]
        self.before = take_columns(self.before[None, :], kept)[0, :]
        self.numbers, self.goals = self.numbers[kept], self.goals[kept]
        self.alarms = self.alarms[kept]

    def finish(self) -> None:
        """Store the solutions of the columns that have not converged, with their residuals."""
        self.residuals[self.numbers] = column_norms(self.R)
        self._release(np.ones(self.active, dtype=bool))


def column_norms(A: Array) -> np.ndarray:
    """Return the norm of each column of A as a numpy array."""
    xp = namespace(A)
    return np.asarray(host(xp.sqrt(xp.sum(A * A, axis=0))), dtype=float)


def _with_columns(A: Array, index: np.ndarray, columns: Array) -> Array:
    """Return A with the columns `index` replaced."""
    if len(index) == A.shape[1]:
        return columns
    xp = namespace(A)
    return xp.matrix_transpose(put(xp.matrix_transpose(A), index, xp.matrix_transpose(columns)))
