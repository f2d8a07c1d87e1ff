"""A fitted model: what was solved, and everything that is derived from it afterwards."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, is_foreign
from .._base.memory import KEPT_FRACTION, available
from .._base.plan import GRANTED_BYTES
from ..embedding import Embedding, PointMap
from ..problem import Problem, Want
from ..solvers import Factorization, LeftOut, factor
from ..solvers.factorization import LeftOutModels
from ..solvers.low_rank import needs_no_coordinates
from ..solvers.weights import with_training_weights
from .posterior import Posterior, computed_once

LONG_PAIRS, LONG_DEVICE_PAIRS = 8000, 40_000
"""From these numbers of pairs on, a factorisation takes minutes, on a processor or accelerator."""


def announce(problem: Problem) -> None:
    """Print a line if the spectrum of an exact problem takes long."""
    many = LONG_DEVICE_PAIRS if is_foreign(problem.inputs.items) else LONG_PAIRS
    exact = problem.inputs.features is None and problem.gathered is None
    if exact and problem.n >= many and sys.stderr is not None:
        print(
            f"mercer: factoring the Gram matrix of {problem.n:,} pairs for left-out predictions or "
            "variances, which takes minutes. solver='spectral' does this in fit.",
            file=sys.stderr,
            flush=True,
        )


@dataclass(frozen=True)
class Fitted:
    """A solved ridge problem, from which predictions, left-out points and variances derive.

    Left-out predictions, prediction sets and variances are derived from this, and never from a
    model made again from parameters. The factorisation is neither pickled nor saved; it is made
    again from the problem, whose kernels are fitted and whose landmarks are drawn.

    Attributes
    ----------
    problem
        The problem, kernels fitted.
    want
        What later factorisations compute: left-out predictions, by the requested solver if it has
        them.
    alpha
        The ridge.
    flat
        Whether outputs were passed as numbers, not as vectors; variances then are numbers too.
    """

    problem: Problem
    want: Want
    alpha: float
    flat: bool = False
    known: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def keep(self, name: str, value: Any, nbytes: float) -> None:
        """Store a value under a name if it is small compared with the free memory, else release it.

        The factorisation is kept in this way for later left-out predictions.
        """
        if nbytes <= GRANTED_BYTES or nbytes <= KEPT_FRACTION * available():
            self.known[name] = value
        else:
            self.known.pop(name, None)

    def __getstate__(self) -> dict:
        return self.__dict__ | {"known": {}}

    @property
    def kept(self) -> Factorization | None:
        """The stored factorisation; None if it was released."""
        return self.known.get("factorization")

    @property
    def factorization(self) -> Factorization:
        """The factorisation of the problem, recomputed if it was released."""
        if self.kept is not None:
            return self.kept
        announce(self.problem)
        made = factor(self.problem, self.want)
        self.keep("factorization", made, made.nbytes)
        return made

    @computed_once
    def posterior(self) -> Posterior:
        """Return the posterior of the fitted model as a Gaussian process."""
        return Posterior(self)

    @computed_once
    def left_out(self) -> LeftOut:
        """Return the left-out predictions and residuals of all training examples."""
        factorization = self.factorization
        found = next(iter(factorization.left_out([self.alpha])))
        # It is released if the results that were computed on demand made it too large.
        self.keep("factorization", factorization, factorization.nbytes)
        return found

    @computed_once
    def left_out_points(self) -> Embedding:
        """Return the left-out predictions as points of the output feature space."""
        return with_training_weights(self.left_out().embed(), self.problem, self.alpha)

    @computed_once
    def points(self) -> PointMap:
        """Return the map from new inputs to their predicted points g(x)."""
        return self.factorization.solve(self.alpha).points

    def moves(self, X: Items) -> Iterator[tuple[slice, Array]]:
        """Yield slices of X, and how g(x) changes if the group of each example is left out."""
        made = self.factorization
        if not made.complete:
            made = factor(self.problem, replace(self.want, moves=True))
        return made.moves(X, self.alpha)

    def predictor_without(self) -> LeftOutModels:
        """Return a function of (X, sets) that predicts X[i] without training examples sets[i]."""
        if "without" in self.known:
            return self.known["without"]
        problem, want = self.problem, replace(self.want, moves=True)
        plain = problem.kernel.separable and problem.gathered is None
        if plain and needs_no_coordinates(problem, self.want):  # weights on outputs are enough
            exact = problem.inputs.features is None
            want = replace(self.want, left_out=not exact, solver="auto")
        made = factor(problem, want).without(self.alpha)
        self.keep("without", made, 8.0 * problem.n**2)
        return made

    def with_groups(self, labels: np.ndarray, moves: bool = False) -> Fitted:
        """Return the model with other groups of examples that are left out together.

        If `moves` is true, the method `moves` can be called, which needs output coordinates.
        """
        problem = replace(self.problem, labels=labels)
        want = replace(self.want, moves=self.want.moves or moves)
        made = Fitted(problem, want, self.alpha, self.flat)
        kept = self.kept
        if kept is not None and kept.has_closed_forms:
            made.keep("factorization", kept.with_problem(problem), kept.nbytes)
        return made

    def operator_spectrum(self) -> Array:
        """Return the eigenvalues of the output operator of a separable problem."""
        return factor(self.problem, replace(self.want, moves=True)).parts[0].b
