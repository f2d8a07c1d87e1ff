"""Large-margin learning over candidates (margin rescaling): dual ascent by Frank–Wolfe steps."""

from __future__ import annotations

import numpy as np

from mercer._base.arrays import Array, host
from mercer.operators import BlockGram

JOINT_PAIRS = 4000
"""The largest number of pairs (input, candidate) for which a joint Gram matrix is computed."""


class JointMargins:
    """The scores ⟨w, Φ(x_i, y_c)⟩ of inputs x_i and candidates y_c, for any joint kernel.

    They are updated by the joint Gram matrix J (n, m, n, m) of all pairs as w changes.

    Parameters
    ----------
    J
        The joint Gram matrix.
    """

    def __init__(self, J: np.ndarray):
        self.J, self.F = np.ascontiguousarray(J), np.zeros(J.shape[:2])

    def scores(self) -> np.ndarray:
        """Return the current scores of all inputs and candidates, (n, m)."""
        return self.F

    def sweep(self, losses: np.ndarray, weights: np.ndarray, order: np.ndarray) -> None:
        """Take dual ascent steps for the examples in `order`; change scores and `weights` in place.

        A step of example i moves weight from its least to its most violated candidate (a to c), by
        exact line search. It adds step · (Φ(x_i, y_a) - Φ(x_i, y_c)) to w.
        """
        from ._margin_loops import sweep

        sweep(self.J, self.F, losses, weights, order)


class PointMargins:
    """The scores ⟨h(x_i), v_c⟩ of inputs and candidates, for an operator-valued kernel.

    They are those of `JointMargins`, in O(n q) memory instead of O(n² m²).

    Parameters
    ----------
    gram
        The Gram matrix of the inputs.
    V
        The output coordinates v_c of the candidates.
    """

    def __init__(self, gram: BlockGram, V: Array):
        self.gram, self.points, self.V = gram, V, host(V)
        self.H = np.zeros((gram.rows.n, self.V.shape[1]))

    def scores(self) -> np.ndarray:
        """Return the current scores ⟨h(x_i), v_c⟩ of all inputs and candidates, (n, m)."""
        return self.H @ self.V.T

    def sweep(self, losses: np.ndarray, weights: np.ndarray, order: np.ndarray) -> None:
        """Take one dual ascent step for each example in `order`; change `weights` in place."""
        for i in order:
            self._step(i, losses[i], weights[i])

    def _step(self, i: int, losses: np.ndarray, weights: np.ndarray) -> None:
        """Take one dual ascent step for example i; update the points h(x_j) of all examples."""
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


def margin_ascent(
    margins: JointMargins | PointMargins,
    losses: np.ndarray,
    outputs_of_examples: np.ndarray,
    C: float,
    tol: float = 1e-3,
    max_iter: int = 5000,
    seed: int = 0,
) -> tuple[np.ndarray, float, float, int]:
    """Maximise the dual of a large-margin problem by pairwise Frank–Wolfe steps.

    The dual is Σ a_ic ℓ_ic - ½‖w(a)‖² over a_i ≥ 0 with Σ_c a_ic = C, for examples i and candidates
    c, where w(a) = Σ a_ic (Φ(x_i, y_i) - Φ(x_i, y_c)). A pass takes steps for each example
    in random order (`sweep`). The duality gap C Σ_i max_c m_ic - Σ a_ic m_ic with the
    violations m_ic = ℓ_ic - ⟨w, Φ(x_i, y_i) - Φ(x_i, y_c)⟩ is computed after every pass.

    Parameters
    ----------
    margins
        The scores at w = 0.
    losses
        The losses ℓ_ic, (n, m), zero if the candidate is the output itself.
    outputs_of_examples
        The number of the candidate that is the output of each example.
    C
        The cost of a unit of slack.
    tol
        Stop if the duality gap is at most this fraction of the objective.
    max_iter
        The largest number of passes.
    seed
        The random seed of the order of examples.

    Returns
    -------
    tuple
        The dual variables, (n, m), the primal objective, the duality gap and the number of passes.

    References
    ----------
    Lacoste-Julien, Jaggi, Schmidt, Pletscher: Block-coordinate Frank–Wolfe optimization for
    structural SVMs, ICML 2013; pairwise steps: Lacoste-Julien and Jaggi, NeurIPS 2015.
    """
    n, m = losses.shape
    weights = np.zeros((n, m))
    weights[np.arange(n), outputs_of_examples] = C
    rng = np.random.default_rng(seed)
    passes, objective, gap = 0, 0.0, np.inf
    while gap > tol * abs(objective) and passes < max_iter:
        passes += 1
        margins.sweep(losses, weights, rng.permutation(n))
        F = margins.scores()
        margin = F[np.arange(n), outputs_of_examples][:, None] - F
        violations = losses - margin
        slack = C * float(violations.max(axis=1).sum())
        objective = 0.5 * float((weights * margin).sum()) + slack
        gap = slack - float((weights * violations).sum())
    return weights, objective, gap, passes
