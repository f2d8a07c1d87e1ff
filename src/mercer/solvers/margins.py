"""Margin-rescaled learning over candidates: its dual, by pairwise Frank–Wolfe steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._arrays import Array, host
from ..operators import BlockGram

SMALL = 4000
"""Pairs of an input and a candidate up to which the joint Gram matrix of all of them is made."""


class Margins:
    """The scores ⟨w, Φ(x_i, y_c)⟩ of all training inputs and candidates, as w moves."""

    def scores(self) -> np.ndarray:
        """Of all inputs and candidates, (n, m)."""
        raise NotImplementedError

    def sweep(self, losses: np.ndarray, weights: np.ndarray, order: np.ndarray) -> None:
        """Pairwise steps for each example in the order given, `weights` changed in place.

        A step moves weight from the example's least to its most violated candidate (a to c), by
        exact line search, and so adds step · (Φ(x_i, y_a) - Φ(x_i, y_c)) to w.
        """
        raise NotImplementedError


class JointMargins(Margins):
    """With the joint Gram matrix of all pairs, J (n, m, n, m): for any joint kernel, small n."""

    def __init__(self, J: np.ndarray):
        self.J, self.F = np.ascontiguousarray(J), np.zeros(J.shape[:2])

    def scores(self) -> np.ndarray:
        """As they were kept."""
        return self.F

    def sweep(self, losses: np.ndarray, weights: np.ndarray, order: np.ndarray) -> None:
        """Compiled."""
        from ._margin_loops import sweep

        sweep(self.J, self.F, losses, weights, order)


class PointMargins(Margins):
    """With the points h(x_i) themselves, for operator-valued kernels: memory n q, not (n m)²."""

    def __init__(self, gram: BlockGram, V: Array):
        self.gram, self.points, self.V = gram, V, host(V)
        self.H = np.zeros((gram.rows.n, self.V.shape[1]))

    def scores(self) -> np.ndarray:
        """⟨h(x_i), v_c⟩, by one product."""
        return self.H @ self.V.T

    def sweep(self, losses: np.ndarray, weights: np.ndarray, order: np.ndarray) -> None:
        """A step an example, each moving all points."""
        for i in order:
            self._step(i, losses[i], weights[i])

    def _step(self, i: int, losses: np.ndarray, weights: np.ndarray) -> None:
        violations = losses + self.V @ self.H[i]
        best = int(violations.argmax())
        worst = int(np.where(weights > 0, violations, np.inf).argmin())
        gain = float(violations[best] - violations[worst])
        if gain <= 0:
            return
        d = self.points[worst, :] - self.points[best, :]
        column = host(self.gram.column(i, d))
        curvature = float(column[i] @ host(d))
        most = float(weights[worst])
        step = most if curvature <= 0 else min(most, gain / curvature)
        weights[worst] = 0.0 if step == most else most - step
        weights[best] += step
        self.H += step * column


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

    w(a) = Σ a_ic (Φ(x_i, y_i) - Φ(x_i, y_c)). A pass takes each example once, in random order, by
    pairwise steps (`Margins.sweep`). The duality gap C Σ_i max_c m_ic - Σ a_ic m_ic with the
    violations m_ic = ℓ_ic - ⟨w, Φ(x_i, y_i) - Φ(x_i, y_c)⟩ is computed after every pass.

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

    def __init__(self, C: float, tol: float = 1e-3, max_iter: int = 5000, seed: int = 0):
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
            margins.sweep(losses, weights, rng.permutation(n))
            objective, gap = self._state(margins.scores(), losses, weights, own)
            if gap <= self.tol * abs(objective):
                return MarginSolution(weights, objective, gap, number, True)
        return MarginSolution(weights, objective, gap, self.max_iter, False)

    def _state(
        self, F: np.ndarray, losses: np.ndarray, weights: np.ndarray, own: np.ndarray
    ) -> tuple[float, float]:
        """The primal objective and the gap."""
        ahead = F[np.arange(len(F)), own][:, None] - F
        violations = losses - ahead
        slack = self.C * float(violations.max(axis=1).sum())
        objective = 0.5 * float((weights * ahead).sum()) + slack
        return objective, slack - float((weights * violations).sum())
