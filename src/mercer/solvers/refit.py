"""Fits that no closed form can judge: operators and cleaned outputs learnt from all outputs.

Leave-one-out in closed form holds fixed what was made of all outputs. A learnt operator, or the
outputs as a robust loss leaves them, owe too much to what is left out: they are made anew, by
K-fold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._arrays import Array, dense, like, namespace, put, take
from .._parameters import whole as whole_number
from .._plan import SPECTRAL_SQUARES, require_exact
from ..kernels import Precomputed
from ..losses import Loss, middle, shortened
from ..problem import Problem, Side, Want
from .factorization import Cache, Factorization, LeftOut, Outputs, Solution
from .inputs import ExactInputs, InputSpectrum
from .left_out import Part
from .low_rank import low_rank_rows
from .low_rank_inputs import LowRankInputs, LowRankRows
from .robust import Cleaned, clean_outputs, lengths
from .spectral import Spectral, part_coefficients, separated, spectral_moments

FOLDS = 5
FOLD_SQUARES = 3.0
"""What a fold keeps, in n×n float64 matrices at most."""
ROUNDS = 20
"""How often a threshold that depends on the fit, which depends on it, is settled again at most."""
SETTLED = 0.02
"""A threshold that moves by less than this share of itself stays."""


class Refit(Factorization):
    """Learnt operators and robust losses, exact or at low rank, judged by refits on folds.

    The operator or the outputs are settled only once α is known.
    """

    name, costs = "refit", "spectral"

    def __init__(
        self,
        problem: Problem,
        inputs: InputSpectrum,
        outputs: Outputs,
        folds: int,
        weights: np.ndarray | None = None,
    ):
        self.problem, self.inputs, self.outputs = problem, inputs, outputs
        self.number, self.weights = folds, weights

    @classmethod
    def factor(cls, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Factor the inputs; under a robust loss weights enter its steps, not the smoother."""
        side, weights = problem.inputs, problem.weights
        if problem.loss is not None and weights is not None:
            problem, cache = replace(problem, weights=None), Cache()
        if side.features is None:
            problem.require_room(SPECTRAL_SQUARES)
        inputs = cache.inputs(side.kernel, _factored_inputs, problem)
        return cls(problem, inputs, cache.outputs(problem), want.folds, weights)

    def settled(self, alpha: float) -> Spectral:
        """The factorisation with the operator learnt, and the outputs cleaned, at α."""
        if self.problem.loss is not None:
            return self.robust.settled(alpha)
        return closed(self.problem, self.inputs, self.outputs, alpha)

    @cached_property
    def robust(self) -> RobustFit:
        """The fit under a robust loss, whose steps at one α start from those of another."""
        return RobustFit(self.problem, self.inputs, self.outputs, self.weights)

    def solve(self, alpha: float) -> Solution:
        """The map g at one α."""
        parts = self.settled(alpha)
        return replace(parts.solve(alpha), loss=getattr(parts, "loss", None))

    @cached_property
    def fold_of(self) -> np.ndarray:
        """The fold of each example."""
        return fold_numbers(self.problem.left_out_labels, self.number)

    @cached_property
    def folds(self) -> list[tuple[Refit, Array, np.ndarray]]:
        """For each fold a fit without it, the projections of its examples, and their numbers."""
        if self.problem.inputs.features is None:
            require_exact(self.problem.n, FOLD_SQUARES * self.number)
        return [self._fold(self.fold_of == i) for i in range(self.fold_of.max() + 1)]

    def _fold(self, out: np.ndarray) -> tuple[Refit, Array, np.ndarray]:
        train, test = np.flatnonzero(~out), np.flatnonzero(out)
        problem = self.problem
        labels = np.unique(problem.left_out_labels[train], return_inverse=True)[1].reshape(-1)
        weights = None if problem.weights is None else problem.weights[train]
        X, y = problem.inputs, problem.outputs
        some = replace(
            problem,
            inputs=Side(X.kernel, take(X.items, train) if not X.kernel.pairwise else X.items),
            outputs=Side(y.kernel, take(y.items, train), y.features),
            labels=labels,
            weights=weights,
        )
        inputs, Z = self._restricted(train, test, weights)
        V = take(self.outputs.coordinates, train)
        outputs = Outputs.centred(V, weights, problem.intercept, self.outputs.frame)
        loss_weights = None if self.weights is None else self.weights[train]
        return Refit(some, inputs, outputs, self.number, loss_weights), Z, test

    def _restricted(
        self, train: np.ndarray, test: np.ndarray, weights: np.ndarray | None
    ) -> tuple[InputSpectrum, Array]:
        """The inputs of a fold, factored, and the projections of those left out.

        All coordinates are those of the whole fit (landmarks and length scales are held fixed).
        """
        whole: Any = self.inputs
        if isinstance(whole, LowRankInputs):
            return _low_rank_fold(whole.at, train, test, weights)
        kernel, X = self.problem.inputs.kernel, self.problem.inputs.items
        if kernel.pairwise:
            return _from_gram(kernel.checked_gram(X), train, test, weights, self.problem.intercept)
        exact = ExactInputs(kernel, take(X, train), weights, self.problem.intercept)
        return exact, exact.project(take(X, test))

    def left_out(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[LeftOut]:
        """Predictions of every example by the refit without its fold."""
        given = self.outputs.coordinates
        for alpha in alphas:
            points = like(np.zeros(given.shape), given)
            for fit, Z, test in self.folds:
                parts = fit.settled(alpha)
                seen = Z @ part_coefficients(parts.parts[0], alpha, parts.Q)
                mean = parts.outputs.mean
                points = put(points, test, seen if mean is None else seen + mean)
            E = given - points
            yield self._residuals_at(alpha, E)

    def left_out_points(self, E: Array) -> Any:
        """Points whose residuals are E, each left out with its fold."""
        points = self.outputs.points(self.outputs.coordinates - E, self.problem)
        return replace(points, left_out=self.fold_of)

    @property
    def scale(self) -> float:
        """(tr K_x / n) · tr(B S_vv) / tr S_vv; of an operator that is learnt, as that says."""
        s, V, operator = self.inputs.s, self.outputs.rows, self.problem.kernel.operator
        if operator.learnt:
            level = float(namespace(s).sum(s)) / self.problem.total or 1.0
            square = float(namespace(V).sum(V * V)) / self.problem.total
            return level * operator.unit(square or 1.0)
        return closed(self.problem, self.inputs, self.outputs, 1.0).scale


def _factored_inputs(problem: Problem) -> InputSpectrum:
    side = problem.inputs
    if side.features is None:
        return ExactInputs(side.kernel, side.items, problem.weights, problem.intercept)
    return LowRankInputs(low_rank_rows(problem))


def _low_rank_fold(
    at: LowRankRows, train: np.ndarray, test: np.ndarray, weights: np.ndarray | None
) -> tuple[InputSpectrum, Array]:
    """The inputs of a fold in coordinates of low rank, and the projections of those left out."""
    U = at.coordinates
    some = LowRankRows.of(at.map, _some(U, train), weights, at.mean is not None)
    inputs = LowRankInputs(some)
    rows = _some(U, test) if inputs.mean is None else _some(U, test) - inputs.mean
    return inputs, dense(rows @ inputs.P) * namespace(inputs.s).sqrt(inputs.s)


def _some(U: Any, index: np.ndarray) -> Any:
    return U[index] if issparse(U) else take(U, index)


def _from_gram(
    K: Array, train: np.ndarray, test: np.ndarray, weights: np.ndarray | None, intercept: bool
) -> tuple[InputSpectrum, Array]:
    """The same of a Gram matrix that was given."""
    inputs = ExactInputs(Precomputed(K), train, weights, intercept)
    return inputs, inputs.project(test)


def closed(problem: Problem, inputs: InputSpectrum, outputs: Outputs, alpha: float) -> Spectral:
    """The factorisation once the operator is learnt at α, of outputs as they are."""
    EV = namespace(outputs.rows).matrix_transpose(inputs.E) @ outputs.rows
    moments = spectral_moments(inputs, outputs.rows, EV)
    return separated(problem, inputs, outputs, moments, EV, alpha)


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


# -- robust losses ------------------------------------------------------------------------------


class CleanedParts(Spectral):
    """The ridge problem of the outputs that a robust fit amounts to."""

    loss: Loss
    shift: Array

    def residuals(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[Array]:
        """Outputs as given minus their left-out predictions from the cleaned ones."""
        for E in super().residuals(alphas, averaged):
            yield E + self.shift


class RobustFit:
    """A ridge problem under a robust loss: factored once, outputs cleaned for each α.

    The operator is made of outputs that were shortened to three median lengths (from their median
    where there is an intercept): the covariance of wrong outputs is no guide.
    """

    def __init__(
        self,
        problem: Problem,
        inputs: InputSpectrum,
        outputs: Outputs,
        weights: np.ndarray | None,
    ):
        assert problem.loss is not None
        self.problem, self.inputs, self.outputs = problem, inputs, outputs
        self.weights = weights
        self.loss, self.given = problem.loss, outputs.coordinates
        self.tamed = self._centred(self._shortened())
        self._parts: dict[float, Spectral] = {}
        self.reached: Cleaned | Array | None = None

    def _shortened(self) -> Array:
        """Outputs without the worst: none further out than three median lengths."""
        return shortened(self.given, middle(self.given) if self.problem.intercept else None)

    def _centred(self, V: Array) -> Outputs:
        return Outputs.centred(V, None, self.problem.intercept, self.outputs.frame)

    def _base(self, alpha: float) -> Spectral:
        """The factorisation of the shortened outputs; one for all α unless B is learnt."""
        key = alpha if self.problem.kernel.operator.learnt else 0.0
        if key not in self._parts:
            self._parts = {key: closed(self.problem, self.inputs, self.tamed, alpha)}
        return self._parts[key]

    def settled(self, alpha: float) -> CleanedParts:
        """The problem of the cleaned outputs, the loss's threshold settled."""
        base = self._base(alpha)
        parts = self._with(base, self.tamed)  # of the shortened ones, to start with
        loss = self.loss.settle(self._left_out_lengths(parts, alpha))
        for _ in range(ROUNDS):
            parts = self._cleaned(base, loss, alpha)
            if not loss.adaptive:
                break
            last, loss = loss, self.loss.settle(self._left_out_lengths(parts, alpha))
            if abs(loss.threshold_ - last.threshold_) <= SETTLED * last.threshold_:
                break
        return parts

    def _with(self, base: Spectral, outputs: Outputs) -> CleanedParts:
        (part,) = base.parts
        T = outputs.rows if base.Q is None else outputs.rows @ base.Q
        inside = namespace(T).matrix_transpose(part.inputs.E) @ T
        cleaned = Part(part.inputs, part.b, T, inside)
        parts = CleanedParts(base.problem, base.kernel, outputs, [cleaned], base.Q)
        shift = self.given - outputs.coordinates
        parts.shift = shift if base.Q is None else shift @ base.Q
        return parts

    def _cleaned(self, base: Spectral, loss: Loss, alpha: float) -> CleanedParts:
        (part,) = base.parts
        turn = (lambda V: V) if base.Q is None else (lambda V: V @ base.Q)
        start = turn(self.tamed.coordinates) if self.reached is None else self.reached
        cleaned = clean_outputs(part, turn(self.given), loss, alpha, start, self.weights)
        if not self.problem.kernel.operator.learnt:
            self.reached = cleaned
        parts = self._with(base, self._centred(base._turned_back(cleaned.targets)))
        parts.loss = loss
        return parts

    def _left_out_lengths(self, parts: CleanedParts, alpha: float) -> Array:
        return lengths(next(parts.residuals([alpha])))
