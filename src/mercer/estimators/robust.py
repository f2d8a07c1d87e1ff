"""Robust fits: a plain ridge equation whose outputs were cleaned, at each α anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._arrays import Array, namespace
from ..features import Coordinates
from ..losses import Loss, middle, shortened
from ..operators import Operator
from ..solvers import LeaveOneOut, LeftOut
from ..solvers.robust import Cleaned, Robust, ShiftedLeftOut, lengths
from .regression import Equation, LeastWeights, Sides

ROUNDS = 20
"""How often a threshold that depends on the fit, which depends on it, is settled again at most."""
SETTLED = 0.02
"""A threshold that moves by less than this share of itself stays."""


class RobustEquation(Equation):
    """A ridge equation under a robust loss: both spectra factored once, outputs cleaned for each α.

    The operator is made of outputs that were shortened to three median lengths (from their
    median where there is an intercept): the covariance of wrong outputs is no guide.
    """

    loss: Loss

    def __init__(
        self,
        sides: Sides,
        operator: Operator,
        U: Coordinates,
        V: Coordinates,
        loss: Loss,
        labels: np.ndarray,
    ):
        self.loss, self.labels = loss, labels
        self.given = _whole(V)
        super().__init__(sides, operator, U, tamed(V))
        self.smoother = LeaveOneOut(self.spectra, U.rows, self.V.rows, sides.intercept)
        self.reached: Cleaned | Array = self._rotated(_whole(self.V))

    def settled(self, alpha: float) -> CleanedEquation:
        """The equation of the cleaned outputs."""
        equation = CleanedEquation(self, self.V)  # of the shortened ones, to start with
        loss = self.loss.settle(self._left_out_lengths(equation, alpha))
        for _ in range(ROUNDS):
            equation = self._cleaned(loss, alpha)
            if not loss.adaptive:
                break
            last, loss = loss, self.loss.settle(self._left_out_lengths(equation, alpha))
            if abs(loss.threshold_ - last.threshold_) <= SETTLED * last.threshold_:
                break
        return equation

    def _cleaned(self, loss: Loss, alpha: float) -> CleanedEquation:
        given = self._rotated(self.given)
        cleaned = Robust().clean(self.smoother, given, loss, alpha, self.reached)
        self.reached = cleaned
        Q, T = self.spectra.Q, cleaned.targets
        T = T if Q is None else T @ namespace(Q).matrix_transpose(Q)
        equation = CleanedEquation(self, _coordinates(self.V, T))
        equation.loss, equation.n_iter = loss, cleaned.n_iter
        return equation

    def _rotated(self, V: Array) -> Array:
        """In the eigenbasis of B."""
        return V if self.spectra.Q is None else V @ self.spectra.Q

    def _left_out_lengths(self, equation: CleanedEquation, alpha: float) -> Array:
        return lengths(equation.leave_one_out(self.labels).residuals(alpha))


class CleanedEquation(Equation):
    """The ridge equation of the outputs that a robust fit amounts to."""

    n_iter = 0

    def __init__(self, robust: RobustEquation, V: Coordinates):
        self.sides, self.operator, self.frame = robust.sides, robust.operator, robust.frame
        self.U, self.V = robust.U, V
        C = namespace(V.rows).matrix_transpose(V.rows) @ self.U.rows
        spectra = robust.spectra
        C = C if spectra.P is None else C @ spectra.P
        C = C if spectra.Q is None else namespace(C).matrix_transpose(spectra.Q) @ C
        self.spectra = replace(spectra, C=C)
        self.shift = robust.given - _whole(V)

    def leave_one_out(self, labels: np.ndarray) -> LeftOut:
        """Left-out predictions, and how far they are from the outputs as given."""
        Q = self.spectra.Q
        shift = self.shift if Q is None else self.shift @ Q
        return ShiftedLeftOut(super().leave_one_out(labels), shift)

    def _weigher(self, alpha: float) -> Any:
        # The fit is linear in the cleaned outputs, not in the given ones.
        return LeastWeights(self.frame, self.sides.y)


def tamed(V: Coordinates) -> Coordinates:
    """Outputs without the worst: none further out than three median lengths."""
    rows = _whole(V)
    return _coordinates(V, shortened(rows, None if V.mean is None else middle(rows)))


def _whole(V: Coordinates) -> Array:
    """The rows with what was taken off them."""
    return V.rows if V.mean is None else V.rows + V.mean


def _coordinates(V: Coordinates, rows: Array) -> Coordinates:
    """Other rows in the same coordinates, centred where they were."""
    xp = namespace(rows)
    whole = replace(V, rows=rows, mean=None, moment=xp.matrix_transpose(rows) @ rows)
    return whole if V.mean is None else whole.centered()
