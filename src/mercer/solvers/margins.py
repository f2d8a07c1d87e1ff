"""Margin-rescaled learning over candidates: its dual, by pairwise Frank–Wolfe steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._arrays import host
from ..operators import BlockGram

SMALL = 4000
"""Pairs of an input and a candidate up to which the joint Gram matrix of all of them is made."""


class Margins:
    """The scores ⟨w, Φ(x_i, y_c)⟩ of all training inputs and candidates, as w moves."""

    def scores(self, i: int) -> np.ndarray:
        """Of input i, one a candidate."""
        raise NotImplementedError

    def all_scores(self) -> np.ndarray:
        """Of all inputs, (n, m)."""
        raise NotImplementedError

    def curvature(self, i: int, a: int, c: int) -> float:
        """‖Φ(x_i, y_a) - Φ(x_i, y_c)‖²."""
        raise NotImplementedError

    def move(self, i: int, a: int, c: int, step: float) -> None:
        """Add step · (Φ(x_i, y_a) - Φ(x_i, y_c)) to w; called after `curvature` of the same."""
        raise NotImplementedError


class JointMargins(Margins):
    """With the joint Gram matrix of all pairs, J (n, m, n, m): for any joint kernel, small n."""

    def __init__(self, J: np.ndarray):
        self.J, self.F = np.ascontiguousarray(J), np.zeros(J.shape[:2])

    def scores(self, i: int) -> np.ndarray:
        """A row."""
        return self.F[i]

    def all_scores(self) -> np.ndarray:
        """All rows."""
        return self.F

    def curvature(self, i: int, a: int, c: int) -> float:
        """Three entries."""
        J = self.J[i, :, i]
        return float(J[a, a] + J[c, c] - 2.0 * J[a, c])

    def move(self, i: int, a: int, c: int, step: float) -> None:
        """Two columns, which are rows as well."""
        self.F += step * (self.J[i, a] - self.J[i, c])


class PointMargins(Margins):
    """With the points h(x_i) themselves, for operator-valued kernels: memory n q, not (n m)²."""

    def __init__(self, gram: BlockGram, V: np.ndarray):
        self.gram, self.V = gram, V
        self.H = np.zeros((gram.rows.n, V.shape[1]))

    def scores(self, i: int) -> np.ndarray:
        """⟨h(x_i), v_c⟩."""
        return self.V @ self.H[i]

    def all_scores(self) -> np.ndarray:
        """One product."""
        return self.H @ self.V.T

    def curvature(self, i: int, a: int, c: int) -> float:
        """⟨K(x_i, x_i) d, d⟩ with d = v_a - v_c; K(·, x_i) d is kept for `move`."""
        d = self.V[a] - self.V[c]
        self.column = host(self.gram.column(i, d))
        return float(self.column[i] @ d)

    def move(self, i: int, a: int, c: int, step: float) -> None:
        """Along the column just computed."""
        self.H += step * self.column


@dataclass(frozen=True)
class MarginSolution:
    """The dual variables, (n, m), and how far from the optimum they are."""

    weights: np.ndarray
    objective: float
    gap: float
    n_iter: int
    converged: bool


class MarginAscent:
    """Maximises Σ a_ic ℓ_ic - ½‖w(a)‖² over a_i ≥ 0 with Σ_c a_ic = C.

    w(a) = Σ a_ic (Φ(x_i, y_i) - Φ(x_i, y_c)). A step takes an example, and moves weight from its
    least to its most violated candidate, by exact line search; a pass takes each example once, in
    random order. The duality gap C Σ_i max_c m_ic - Σ a_ic m_ic with the violations
    m_ic = ℓ_ic - ⟨w, Φ(x_i, y_i) - Φ(x_i, y_c)⟩ is computed after every pass.

    Parameters
    ----------
    C
        What a unit of slack costs.
    tol
        Stop when the gap is at most this share of the objective.
    max_iter
        Passes at most.
    seed
        Of the order of examples.

    References
    ----------
    Lacoste-Julien, Jaggi, Schmidt, Pletscher: Block-coordinate Frank–Wolfe optimization for
    structural SVMs, ICML 2013; pairwise steps: Lacoste-Julien and Jaggi, NeurIPS 2015.
    """

    def __init__(self, C: float, tol: float = 1e-3, max_iter: int = 1000, seed: int = 0):
        self.C, self.tol, self.max_iter, self.seed = C, tol, max_iter, seed

    def solve(self, margins: Margins, losses: np.ndarray, own: np.ndarray) -> MarginSolution:
        """Ascend.

        Parameters
        ----------
        margins
            The scores, with w = 0.
        losses
            ℓ_ic, (n, m), zero where the candidate is the output itself.
        own
            For each example the candidate that is its output.
        """
        n, m = losses.shape
        weights = np.zeros((n, m))
        weights[np.arange(n), own] = self.C
        rng = np.random.default_rng(self.seed)
        objective = gap = np.inf
        for number in range(1, self.max_iter + 1):
            for i in rng.permutation(n):
                _step(margins, losses[i], weights[i], i, own[i])
            objective, gap = self._state(margins, losses, weights, own)
            if gap <= self.tol * abs(objective):
                return MarginSolution(weights, objective, gap, number, True)
        return MarginSolution(weights, objective, gap, self.max_iter, False)

    def _state(
        self, margins: Margins, losses: np.ndarray, weights: np.ndarray, own: np.ndarray
    ) -> tuple[float, float]:
        """The primal objective and the gap."""
        F = margins.all_scores()
        ahead = F[np.arange(len(F)), own][:, None] - F
        violations = losses - ahead
        worst = self.C * float(violations.max(axis=1).sum())
        return 0.5 * float((weights * ahead).sum()) + worst, worst - float(
            (weights * violations).sum()
        )


def _step(margins: Margins, losses: np.ndarray, weights: np.ndarray, i: int, own: int) -> None:
    F = margins.scores(i)
    violations = losses - F[own] + F
    best = int(violations.argmax())
    worst = int(np.where(weights > 0, violations, np.inf).argmin())
    gain = violations[best] - violations[worst]
    if gain <= 0:
        return
    curvature = margins.curvature(i, worst, best)
    step = weights[worst] if curvature <= 0 else min(weights[worst], gain / curvature)
    weights[worst] = 0.0 if step == weights[worst] else weights[worst] - step
    weights[best] += step
    margins.move(i, worst, best, step)
