"""A fitted model: what was solved, and everything that is read off it afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._base.arrays import Array, Items
from .._base.memory import available
from .._base.plan import SMALL
from ..embedding import Embedding
from ..problem import Problem, Want
from ..solvers import Factorization, LeftOut, Spectral, factor
from ..solvers.factorization import LeftOutModels
from ..solvers.low_rank import needs_no_coordinates
from ..solvers.weights import weighed

KEPT = 0.125
"""The share of free memory up to which a model keeps its factorisation."""


@dataclass(frozen=True)
class Fitted:
    """The problem that a model solved, at the ridge it was solved at.

    Left-out predictions, prediction sets and variances are read off this, and never off a model
    made again from parameters. The factorisation is neither pickled nor saved; where it is gone it
    is made again from the problem, whose kernels are fitted and whose landmarks are drawn.

    Attributes
    ----------
    problem
        The problem, kernels fitted.
    want
        How it was solved: the solver asked for, and how left-out predictions are judged.
    alpha
        The ridge.
    """

    problem: Problem
    want: Want
    alpha: float
    _kept: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def keep(self, factorization: Factorization) -> None:
        """Keep a factorisation that gives left-out predictions, if it is small."""
        self._kept["factorization"] = factorization
        self._release()

    def _release(self) -> None:
        """Drop the factorisation if it is large; what is computed on demand has made it grow."""
        kept = self._kept.get("factorization")
        if kept is not None and not _is_small(kept.nbytes):
            del self._kept["factorization"]

    def __getstate__(self) -> dict:
        return self.__dict__ | {"_kept": {}}

    @property
    def factorization(self) -> Factorization:
        """The factorisation, made again where it was let go."""
        if "factorization" not in self._kept:
            want = replace(self.want, solver=_for_left_out(self.want.solver))
            made = factor(self.problem, replace(want, relative=False))
            self.keep(made)
            return made
        return self._kept["factorization"]

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What `make` gives, made when it is first asked for and kept with the model."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    def left_out(self) -> LeftOut:
        """Predictions of all training examples by models that did not see them."""
        made = self.once("left_out", lambda: next(iter(self.factorization.left_out([self.alpha]))))
        self._release()
        return made

    def left_out_points(self) -> Embedding:
        """The same as points."""
        return self.once(
            "points", lambda: weighed(self.left_out().embed(), self.problem, self.alpha)
        )

    def embed(self, X: Items) -> Embedding:
        """Points of new inputs in the frame that `left_out_points` and `moves` are written in."""
        return self.once("map", lambda: self.factorization.solve(self.alpha).points)(X)

    def moves(self, X: Items) -> Iterator[tuple[slice, Array]]:
        """How leaving each example's group out moves the points of new inputs, block by block."""
        return self.factorization.moves(X, self.alpha)

    def without(self) -> LeftOutModels:
        """A function to points of inputs by models that leave examples out, each input its own."""
        if "without" in self._kept:
            return self._kept["without"]
        made = factor(self.problem, self._to_leave_out()).without(self.alpha)
        if _is_small(8.0 * self.problem.n**2):
            self._kept["without"] = made
        return made

    def _to_leave_out(self) -> Want:
        """Weights on the outputs where that is all it takes, else output coordinates."""
        problem, want = self.problem, replace(self.want, relative=False)
        plain = problem.loss is None and problem.separable and problem.gathered is None
        if plain and needs_no_coordinates(problem, want):
            exact = problem.inputs.features is None
            return replace(want, left_out=not exact, solver="auto")
        return replace(want, moves=True, solver=_for_left_out(want.solver))

    def leaving_out(self, labels: np.ndarray) -> Fitted:
        """The same model, prepared for the models that leave each of these groups out."""
        want = replace(self.want, moves=True)
        made = Fitted(replace(self.problem, labels=labels), want, self.alpha)
        kept = self._kept.get("factorization")
        if isinstance(kept, Spectral) and np.array_equal(labels, self.problem.left_out_labels):
            made.keep(kept)
        return made

    def with_folds(self, folds: np.ndarray) -> Fitted:
        """Return the same model with these groups left out together."""
        problem = replace(self.problem, labels=folds)
        made = Fitted(problem, self.want, self.alpha)
        kept = self._kept.get("factorization")
        if type(kept) is Spectral:  # those with other fields are factored again
            made.keep(replace(kept, problem=problem))
        return made


def _is_small(nbytes: float) -> bool:
    return nbytes <= SMALL or nbytes <= KEPT * available()


def operator_spectrum(fitted: Fitted) -> Array:
    """The eigenvalues of the output operator of a separable problem."""
    from ..solvers import Cache, Spectral
    from ..solvers.low_rank import in_low_rank, low_rank_rows

    problem, cache = fitted.problem, Cache()
    if problem.inputs.features is None:
        factorization: Any = Spectral.factor(problem, fitted.want, cache)
    else:
        factorization = in_low_rank(problem, low_rank_rows(problem), cache.outputs(problem))
    return factorization.parts[0].b


def _for_left_out(solver: Any) -> Any:
    """A solver that gives left-out predictions: a Cholesky factor alone does not."""
    return "auto" if solver == "cholesky" else solver
