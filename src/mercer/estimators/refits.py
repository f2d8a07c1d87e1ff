"""Fits that no closed form can judge: operators and cleaned outputs learnt from all outputs.

Leave-one-out in closed form holds fixed what was made of all outputs. A learnt operator, or the
outputs as a robust loss leaves them, owe too much to what is left out: they are made anew, by
K-fold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._arrays import Array, like, namespace, put, take
from .._linalg import eigh
from .._plan import SPECTRAL_SQUARES, require_exact
from ..embedding import OrthonormalFrame
from ..features import Coordinates
from ..kernels.base import whole as whole_number
from ..losses import Loss
from ..operators import Moments, Operator
from ..solvers import LeftOut, Spectral
from .regression import Equation, PointMap, Sides
from .robust import RobustEquation, tamed

FOLDS = 5
FOLD_SQUARES = 3.0
"""What a fold keeps, in n×n float64 matrices at most."""


class RefitEquation(Equation):
    """A ridge equation that is judged by refits, whole only once α is known."""

    def __init__(
        self,
        sides: Sides,
        operator: Operator,
        U: Coordinates,
        V: Coordinates,
        loss: Loss | None,
        labels: np.ndarray,
        folds: int = FOLDS,
    ):
        self.sides, self.operator, self.U, self.V = sides, operator, U, V
        self.loss, self.labels, self.folds = loss, labels, folds
        self.frame = OrthonormalFrame(V.map)

    @cached_property
    def moments(self) -> Moments:
        """What the operator is learnt from; under a robust loss, of shortened outputs."""
        V = self.V if self.loss is None else tamed(self.V)
        vu = namespace(V.rows).matrix_transpose(V.rows) @ self.U.rows
        return Moments(self.sides.n, self.U.moment, vu, V.moment)

    def settled(self, alpha: float) -> Equation:
        """The equation with the operator that is learnt, and the outputs that are cleaned, at α."""
        operator = self.operator.learn(self.moments, alpha)
        return closed(self.sides, operator, self.U, self.V, self.loss, self.labels).settled(alpha)

    def solve(self, alpha: float) -> PointMap:
        """The map g at one α."""
        return self.settled(alpha).solve(alpha)

    def leave_one_out(self, labels: np.ndarray) -> LeftOut:
        """By refits."""
        return Refits(self, labels)


def closed(
    sides: Sides,
    operator: Operator,
    U: Coordinates,
    V: Coordinates,
    loss: Loss | None,
    labels: np.ndarray,
) -> Equation:
    """The equation of an operator that is known, under any loss: factored once for all α."""
    if loss is None:
        return Equation(sides, operator, U, V)
    return RobustEquation(sides, operator, U, V, loss, labels)


def refitted(
    sides: Sides, operator: Operator, loss: Loss | None, labels: np.ndarray
) -> RefitEquation:
    """The equation of any operator under any loss, judged by refits."""
    if sides.features is None:
        require_exact(sides.n, SPECTRAL_SQUARES)
    U, V = sides.input_coordinates(), sides.output_coordinates(operator)
    return RefitEquation(sides, operator, U, V, loss, labels)


@dataclass(frozen=True)
class Fold:
    """A fit without some of the examples, and those examples."""

    equation: Equation
    rows: Array
    test: np.ndarray

    def predict(self, alpha: float) -> Array:
        """The points of the examples that were not seen, in output coordinates."""
        fitted = self.equation.settled(alpha)
        coef = Spectral().solve(fitted.spectra, alpha)
        if fitted.V.mean is None:
            return self.rows @ coef
        return (self.rows - fitted.U.mean) @ coef + fitted.V.mean


class Refits(LeftOut):
    """Predictions of every training example by refits without its fold: B, too, is made anew.

    Exact in coordinates: those of all inputs, restricted to the rows of a fold, span all that a
    fit on these rows can reach. Groups stay whole.
    """

    def __init__(self, whole: RefitEquation, labels: np.ndarray):
        self.whole, self.labels = whole, labels
        self.fold_of = fold_numbers(labels, whole.folds)
        V = whole.V
        self.given = V.rows if V.mean is None else V.rows + V.mean

    @cached_property
    def folds(self) -> list[Fold]:
        """One factorisation of the inputs for each fold."""
        if self.whole.sides.features is None:
            require_exact(len(self.labels), FOLD_SQUARES * self.whole.folds)
        return [self._fold(self.fold_of == i) for i in range(self.fold_of.max() + 1)]

    def _fold(self, out: np.ndarray) -> Fold:
        train, test = np.flatnonzero(~out), np.flatnonzero(out)
        whole = self.whole
        U = _restricted(whole.U, train)
        s, P = eigh(U.moment + 0.0, "input moment")  # of the fold, so that no α factors it again
        rows = take(whole.U.rows, test) + (0.0 if whole.U.mean is None else whole.U.mean)
        if P is not None:
            U = replace(U, rows=U.rows @ P, mean=None if U.mean is None else U.mean @ P, moment=s)
            rows = rows @ P
        sides = replace(whole.sides, y=take(whole.sides.y, train))
        V = _restricted(whole.V, train)
        labels = np.unique(self.labels[train], return_inverse=True)[1]
        kind = RefitEquation if whole.operator.learnt else closed
        fit = kind(sides, whole.operator, U, V, whole.loss, labels)
        return Fold(fit, rows, test)

    def path(self, alphas: Sequence[float]) -> Iterator[Array]:
        """Outputs minus their predictions by the fits that did not see them."""
        for alpha in alphas:
            points = like(np.zeros(self.given.shape), self.given)
            for fold in self.folds:
                points = put(points, fold.test, fold.predict(alpha))
            yield self.given - points

    def together(self, labels: np.ndarray) -> np.ndarray:
        """The number of each example's fold."""
        return self.fold_of

    def points(self, residuals: Array) -> Array:
        """Predictions in the coordinates of the outputs, centred where those are."""
        points = self.given - residuals
        return points if self.whole.V.mean is None else points - self.whole.V.mean


def fold_numbers(labels: np.ndarray, folds: int) -> np.ndarray:
    """The fold of each example: groups stay whole, and are dealt out by a fixed shuffle."""
    from sklearn.model_selection import GroupKFold  # slow to import, seldom needed

    if whole_number(folds, "cv") < 2:
        raise ValueError("cv must be at least 2: with one fold nothing is left to learn from.")
    groups = len(np.unique(labels))
    splits = GroupKFold(min(folds, groups), shuffle=True, random_state=0)
    numbers = np.empty(len(labels), dtype=np.intp)
    for i, (_, test) in enumerate(splits.split(labels, groups=labels)):
        numbers[test] = i
    return numbers


def _restricted(whole: Coordinates, index: np.ndarray) -> Coordinates:
    """Some of the rows, centred anew where all of them were centred."""
    rows = take(whole.rows, index)
    rows = rows if whole.mean is None else rows + whole.mean
    moment = namespace(rows).matrix_transpose(rows) @ rows
    some = Coordinates(whole.map, rows, None, moment)
    return some if whole.mean is None else some.centered()
