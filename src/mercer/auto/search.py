"""The search: candidates are fitted one by one within a time limit, and compared left out."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from math import log2, sqrt
from typing import Any

import numpy as np
from sklearn.base import clone

from .._base.arrays import Items, count, take
from ..estimators import Blend, ForestDependency, KernelDependencyCV
from ..estimators.choice import some_rows
from ..estimators.forest import DIRECTIONS
from ..features import Explicit, FeatureMap, IncompleteCholesky
from ..kernels import Kernel
from ..operators import Covariance, Identity, OperatorKernel
from .blending import and_linear, clearly_better, decoded_otherwise, single_scores, variants
from .candidates import families, forest_kernel, on_fields
from .inputs import Inputs
from .measures import left_out_probabilities
from .outputs import Outputs
from .progress import Clock

CHOSEN_ON = 800
"""The largest number of rows on which length scales are chosen."""
EXACT = 2000
"""Rows up to which ridge models are exact; with more rows they have low rank."""
SETS, EXACT_SETS = 6000, 3
"""Rows of sets up to which the best of their kernels are exact, and how many: low ranks are bad
approximations for sets."""
COUPLED = 100
"""Rows from which on the covariance of outputs is tried: it is held fixed when rows are left out,
which is optimistic on few rows."""
RANK = 600
MANY, BEST = 20_000, 2
"""Rows beyond which only the best families are fitted on all of them, and how many."""
FEW = 500
"""Rows below which forests are scored by folds: out-of-bag predictions underestimate them."""
TREES, FEWEST_TREES, SOME_TREES = 100, 20, 3
"""Trees of a forest, the fewest when time is short, and those that measure the time of a tree."""
QUICK = 2e8
"""Steps of a forest up to which a second one examines all columns at a split; the better one is
kept."""
WIDE = 500
"""Columns from which on trees examine three times the square root of their number at a split."""
STEPS = 1e10
"""Steps of a forest beyond which it has half the trees, and there is no second one."""


@dataclass(frozen=True)
class Pairs:
    """Training data in the form that models take."""

    X: Items
    y: Items
    groups: np.ndarray | None
    weights: np.ndarray | None

    @property
    def n(self) -> int:
        """The number of pairs."""
        return count(self.y)

    def rows(self, index: np.ndarray) -> Pairs:
        """Return some of the pairs."""
        groups = None if self.groups is None else self.groups[index]
        weights = None if self.weights is None else self.weights[index]
        return Pairs(take(self.X, index), take(self.y, index), groups, weights)

    def fitted(self, model: Any) -> Any:
        """Return a model fitted on the pairs, without the warnings of a candidate."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return model.fit(self.X, self.y, groups=self.groups, sample_weight=self.weights)


@dataclass
class Search:
    """Candidates that are fitted on pairs and compared.

    Attributes
    ----------
    inputs, outputs, score, clock, seed
        How columns are read, what predictions are scored by, the time, and a seed.
    output_kernel
        The output kernel that all candidates share, so that they can be blended.
    board
        A row of the leaderboard for each candidate.
    models, rows
        The model of each family that is kept, and its row; of many rows of pairs, until models
        are fitted on all of them, the row of the best kernel on some.
    """

    inputs: Inputs
    outputs: Outputs
    output_kernel: Kernel
    score: Callable[..., float]
    clock: Clock
    seed: int
    board: list[dict[str, Any]] = field(default_factory=list)
    models: dict[str, Any] = field(default_factory=dict)
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)

    def planned(self, pairs: Pairs) -> dict[str, int]:
        """Return the largest number of steps of each kind."""
        lists = self._choices(pairs).values()
        whole = sum(len(kernels) > 1 for kernels in lists) if pairs.n > CHOSEN_ON else 0
        forests = sum(1 for _ in self._forests(pairs))
        return {"ridge": sum(map(len, lists)), "whole": whole, "forest": forests, "baseline": 4}

    def run(self, pairs: Pairs) -> Any:
        """Return the model with the best left-out score: one of a family, a forest or the blend."""
        self._ridges(pairs)
        for name, forest in self._forests(pairs):
            if self.models and not self._affordable(forest, pairs):
                break
            model = self.clock.timed("forest", lambda: pairs.fitted(forest))  # noqa: B023
            called = f"{name}, max_features={forest.max_features:.2g}"
            row, best = self._note(name, called, model, pairs), self.score_of(name)
            if np.isnan(best) or row["score"] > best:
                self.models[name], self.rows[name] = model, row
        singles = list(self.models)
        if len(singles) == 1:
            return self.models[singles[0]]
        first = Blend(list(self.models.values()), self.outputs.decoder(), prefit=True)
        pairs.fitted(first)
        scores = single_scores(first, self.score, pairs.y)
        self._best_blend(first, scores, pairs)
        best = int(np.argmax(scores))
        blend, score = self.models["blend"], self.score_of("blend")
        better = clearly_better(best, scores[best], score, blend, self.outputs.kind_)
        return self.models[singles[best] if better else "blend"]

    def _best_blend(self, first: Blend, scores: np.ndarray, pairs: Pairs) -> None:
        """Keep the best variant of the blend."""
        kind = self.outputs.kind_

        def noted(how: str, blend: Blend) -> tuple[str, Blend, dict[str, Any]]:
            return how, blend, self._note("blend", f"blend, {how}", blend, pairs)

        tried = [noted(how, blend) for how, blend in variants(first, scores, kind)]
        how, blend, row = max(tried, key=lambda one: one[2]["score"])
        linear = and_linear(blend, scores) if kind == "ranking" else None
        if linear is not None:
            how, blend, row = noted(f"{how} and linear", linear)
        for name, decoded in decoded_otherwise(blend, kind):
            _, _, other = noted(f"{how}, {name}", decoded)
            row, blend = (other, decoded) if other["score"] > row["score"] else (row, blend)
        self.models["blend"], self.rows["blend"] = blend, row

    def _ridges(self, pairs: Pairs) -> None:
        """Fit the best kernel of each family; with many rows, only those of the best families."""
        chosen = {
            family: kernel
            for family, kernels in self._choices(pairs).items()
            if (kernel := self._family(family, kernels, pairs)) is not None
        }
        if pairs.n <= CHOSEN_ON:
            return
        order = sorted(chosen, key=lambda family: -self.score_of(family))
        for family in order[: BEST if pairs.n > MANY else len(order)]:
            if self.models and not self.clock.allows("whole", 0.6):
                break
            few = len(self.models) < EXACT_SETS
            exact = pairs.n <= EXACT or (self.inputs.bags_ and pairs.n <= SETS and few)
            kernel = chosen[family]
            model = self.clock.timed("whole", lambda: self._ridge(kernel, pairs, exact))  # noqa: B023
            self.models[family] = model
            self.rows[family] = self._note(family, _short(kernel), model, pairs)

    def _family(self, family: str, kernels: list[Kernel], pairs: Pairs) -> Kernel | None:
        """Return the best kernel of a family on a sample of rows; None if there is no time left."""
        some, best = pairs, None
        if pairs.n > CHOSEN_ON:
            labels = np.arange(pairs.n) if pairs.groups is None else pairs.groups
            some = pairs.rows(some_rows(labels, CHOSEN_ON, self.seed))
        for kernel in kernels:
            if self.board and not self.clock.allows("ridge", 0.4):
                break
            model = self.clock.timed("ridge", lambda: self._ridge(kernel, some))  # noqa: B023
            if best is None or _worth(model) > _worth(best[0]):
                best = model, kernel
        if best is None:
            return None
        model, kernel = best
        self.rows[family] = self._note(family, _short(kernel), model, some)
        if some is pairs:
            self.models[family] = model
        return kernel

    def _choices(self, pairs: Pairs) -> dict[str, list[Any]]:
        """Return kernels by family; those of patches where inputs and outputs are images."""
        shape = tuple(getattr(pairs.y, "shape", ()))[1:]
        fields = on_fields(self.inputs, shape) if pairs.n <= EXACT else {}
        return families(self.inputs, pairs.X) | fields

    def _ridge(self, kernel: Kernel, pairs: Pairs, exact: bool = True) -> KernelDependencyCV:
        """Return a model of one kernel, with its operator and ridge chosen."""
        several = exact and COUPLED <= pairs.n <= EXACT
        operators = [Identity(), Covariance()] if several else [Identity()]
        rank = RANK if pairs.n <= MANY else RANK // 2
        return pairs.fitted(
            KernelDependencyCV(
                kernel if isinstance(kernel, OperatorKernel) else [kernel * o for o in operators],
                self.output_kernel,
                scoring="auto" if self.outputs.kind_ == "labels" else None,
                decoder=self.outputs.decoder(),
                features=None if exact else _map_of(kernel, rank),
            )
        )

    def _forests(self, pairs: Pairs) -> Iterator[tuple[str, ForestDependency]]:
        kernel = forest_kernel(self.inputs, pairs.X)
        if kernel is None:
            return
        n, d = pairs.n, self.inputs.width_
        shape: tuple[int, ...] = getattr(pairs.y, "shape", ())
        q = min(DIRECTIONS, shape[1]) if len(shape) > 1 else DIRECTIONS // 2
        share = 0.5 if d < 100 else 0.2 if d < WIDE else 3.0 / sqrt(d)
        steps = TREES * n * log2(n) * share * d * q
        common: dict[str, Any] = {
            "kernel": kernel,
            "output_kernel": self.output_kernel,
            "n_trees": TREES if steps < STEPS else TREES // 2,
            "min_samples_leaf": max(1, n // 5000),
            "decoder": self.outputs.decoder(),
            "random_state": self.seed,
        }
        bagged = self.outputs.kind_ in ("labels", "class") or n >= FEW
        folds = 10 if n < FEW // 2 else 5
        trees: dict[str, dict[str, Any]] = {"extra trees": {"bootstrap": bagged, "cv": folds}}
        if steps < STEPS:
            trees["random forest"] = {"bootstrap": True, "random_splits": False}
        shares = (share, 1.0) if d < 100 and steps < QUICK else (share,)
        for (name, how), part in product(trees.items(), shares):
            yield name, ForestDependency(max_features=part, **how, **common)

    def _affordable(self, forest: ForestDependency, pairs: Pairs) -> bool:
        """Return whether there is time for a forest, perhaps with fewer trees."""
        if self.clock.limit is None:
            return True
        left, before = 0.7 * self.clock.limit - self.clock.spent, self.clock.spent
        if left <= 0:
            return False
        pairs.fitted(clone(forest).set_params(n_trees=SOME_TREES, bootstrap=True))
        each = (self.clock.spent - before) / SOME_TREES
        grown = each * (1 if forest.bootstrap else 1 + forest.cv)
        forest.n_trees = min(forest.n_trees, int(left / max(grown, 1e-9)))
        return forest.n_trees >= FEWEST_TREES

    def _note(self, family: str, called: str, model: Any, pairs: Pairs) -> dict[str, Any]:
        """Add a model to the leaderboard, and return its row."""

        def made() -> tuple[np.ndarray, np.ndarray]:
            return left_out_probabilities(model.output_kernel_, model.loo_embed(), pairs.y)

        row = {
            "family": family,
            "model": called,
            "alpha": float(getattr(model, "alpha_", np.nan)),
            "rows": pairs.n,
            "score": self.score(pairs.y, model.loo_predict(), made),
            "seconds": round(self.clock.spent, 2),
        }
        self.board.append(row)
        return row

    def score_of(self, family: str) -> float:
        """Return the left-out score of the model of a family; NaN if there is none yet."""
        return self.rows[family]["score"] if family in self.rows else float("nan")


def _worth(model: KernelDependencyCV) -> float:
    """Return the score that chose the ridge, or minus the risk, to compare kernels of a family."""
    return -model.loo_risk_ if np.isnan(model.loo_score_) else model.loo_score_


def _map_of(kernel: Kernel, rank: int) -> FeatureMap:
    """Return a feature map for many rows: the features of the kernel if it has finitely many."""
    return IncompleteCholesky(rank) if kernel.features is None else Explicit()


def _short(kernel: Kernel) -> str:
    """Return the name of a kernel without the units of its columns."""
    return re.sub(r",\s*units=array\(.*?\)(?=\))", "", " ".join(str(kernel).split()))
