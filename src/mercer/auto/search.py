"""The search: candidates fitted one after the other within a time limit, judged left out."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np

from .._arrays import Items, count, take
from ..decoders import ExpectedF1
from ..estimators import Blend, ForestDependency, KernelDependencyCV
from ..estimators.choice import calibrated, some_rows
from ..features import IncompleteCholesky
from ..kernels import Kernel
from ..operators import Covariance, Identity
from .candidates import families, forest_kernel
from .inputs import Inputs
from .outputs import Outputs

CHOSEN_ON = 800
"""Rows that length scales are chosen on, at most."""
EXACT = 2000
"""Rows up to which ridge models are exact; beyond, of low rank."""
RANK = 600
FEW = 500
"""Rows below which forests are left out by folds: out-of-bag predictions understate them."""
TREES = 100
LABELS = 64
"""Labels up to which sets are decoded by expected F1, which takes their cube."""
MARGIN = 0.3
"""A single model is taken instead of the blend where it is better by this over √rows, about a
standard error: on few rows the best of several is often so by luck."""


@dataclass
class Clock:
    """What is left of a time limit, and what things took."""

    limit: float | None
    start: float = field(default_factory=time.perf_counter)
    longest: dict[str, float] = field(default_factory=dict)
    tell: Callable[[str, float], None] | None = None

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self.start

    def allows(self, kind: str, share: float = 0.9) -> bool:
        """Whether another thing of a kind is likely to end in time."""
        if self.limit is None:
            return True
        return self.spent + self.longest.get(kind, 0.0) < share * self.limit

    def timed(self, kind: str, run: Callable[[], Any]) -> Any:
        """Run something and remember how long things of its kind take."""
        before = self.spent
        made = run()
        took = self.spent - before
        self.longest[kind] = max(self.longest.get(kind, 0.0), took)
        if self.tell is not None:
            self.tell(kind, took)
        return made


@dataclass(frozen=True)
class Pairs:
    """Training data as models take it."""

    X: Items
    y: Items
    groups: np.ndarray | None
    weights: np.ndarray | None

    @property
    def n(self) -> int:
        """The number of pairs."""
        return count(self.y)

    def rows(self, index: np.ndarray) -> Pairs:
        """Some of the pairs."""
        groups = None if self.groups is None else self.groups[index]
        weights = None if self.weights is None else self.weights[index]
        return Pairs(take(self.X, index), take(self.y, index), groups, weights)

    def fitted(self, model: Any) -> Any:
        """A model, fitted on the pairs; what it doubts is no news to who did not choose it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return model.fit(self.X, self.y, groups=self.groups, sample_weight=self.weights)


@dataclass
class Search:
    """Fits candidates on pairs; `board` has a row for each."""

    inputs: Inputs
    outputs: Outputs
    score: Callable[[Items, Items], float]
    clock: Clock
    seed: int
    board: list[dict[str, Any]] = field(default_factory=list)
    models: dict[str, Any] = field(default_factory=dict)

    def planned(self, pairs: Pairs) -> dict[str, int]:
        """How many things of each kind there are to do at most."""
        lists = families(self.inputs, self._sentences(pairs)).values()
        whole = sum(len(kernels) > 1 for kernels in lists) if pairs.n > CHOSEN_ON else 0
        forests = sum(1 for _ in self._forests(pairs.n))
        return {"ridge": sum(map(len, lists)), "whole": whole, "forest": forests, "baseline": 4}

    def run(self, pairs: Pairs) -> Any:
        """The model with the best left-out score: the best of a family, a forest or the blend."""
        for family, kernels in families(self.inputs, self._sentences(pairs)).items():
            self._family(family, kernels, pairs)
        for name, forest in self._forests(pairs.n):
            if self.models and not self.clock.allows("forest", 0.6):
                break
            self.clock.timed("forest", lambda: self._take(name, name, forest, pairs))  # noqa: B023
        singles = dict(self.models)
        if len(singles) == 1:
            return next(iter(singles.values()))
        blend = Blend(list(singles.values()), self.outputs.decoder(), prefit=True)
        self._take("blend", "blend", blend, pairs)
        if self.outputs.kind_ == "labels" and blend.left_out_.coordinates.shape[1] <= LABELS:
            self._decoded_by_f1(blend, pairs)
        worth = {"blend": self._score_of("blend")}
        for (name, model), points in zip(singles.items(), blend.left_out_models_, strict=True):
            decoder = calibrated(model.decoder_, points, model.outputs_)
            worth[name] = self.score(pairs.y, model._flattened(decoder.decode(points)))
        best = max(worth, key=lambda name: worth[name])
        close = worth[best] - worth["blend"] <= MARGIN / sqrt(pairs.n)
        return self.models["blend" if close else best]

    def _decoded_by_f1(self, blend: Blend, pairs: Pairs) -> None:
        """Decode the blend by expected F1 where that is better left out."""
        other = copy.copy(blend)
        other.decoder_ = ExpectedF1().fit(blend.output_kernel_, pairs.y)
        before = self._score_of("blend")
        self._note("blend", "blend, expected F1", other, pairs)
        if self._score_of("blend") > before:
            self.models["blend"] = other
        else:
            self.board.append(self.board.pop(-2))  # the last row of a family is that of its model

    def _family(self, family: str, kernels: list[Kernel], pairs: Pairs) -> None:
        """Try the kernels of a family, on some of the rows where there are many."""
        some = pairs
        if pairs.n > CHOSEN_ON and len(kernels) > 1:
            labels = np.arange(pairs.n) if pairs.groups is None else pairs.groups
            some = pairs.rows(some_rows(labels, CHOSEN_ON, self.seed))
        best: Any = None
        for kernel in kernels:
            if self.models and not self.clock.allows("ridge", 0.5):
                break
            model = self.clock.timed("ridge", lambda: self._ridge(kernel, some))  # noqa: B023
            if some is not pairs:
                self._note(family, str(kernel), model, some, rows=some.n)
            if best is None or model.loo_risk_ < best[0].loo_risk_:
                best = model, kernel
        if best is None:
            return
        model, kernel = best
        if some is pairs:
            self.models[family] = model
            self._note(family, str(kernel), model, pairs)
        elif not self.models or self.clock.allows("whole", 0.7):
            whole = self.clock.timed("whole", lambda: self._ridge(kernel, pairs))
            self.models[family] = whole
            self._note(family, str(kernel), whole, pairs)

    def _ridge(self, kernel: Kernel, pairs: Pairs) -> KernelDependencyCV:
        """Operator and ridge chosen for one kernel."""
        many = pairs.n > EXACT
        operators = [Identity()] if many else [Identity(), Covariance()]
        return pairs.fitted(
            KernelDependencyCV(
                [kernel * operator for operator in operators],
                self.outputs.kernel(),
                scoring=None,
                decoder=self.outputs.decoder(),
                features=IncompleteCholesky(RANK) if many else None,
            )
        )

    def _forests(self, n: int) -> Iterator[tuple[str, ForestDependency]]:
        kernel = forest_kernel(self.inputs)
        if kernel is None:
            return
        labels = self.outputs.kind_ in ("labels", "class")
        bagged = labels or n >= FEW
        common: dict[str, Any] = {
            "kernel": kernel,
            "output_kernel": self.outputs.kernel(),
            "n_trees": TREES,
            "min_samples_leaf": max(1, n // 5000),
            "decoder": self.outputs.decoder(),
            "random_state": self.seed,
        }
        width = 0.5 if self.inputs.width_ < 100 else 0.2
        folds = 10 if n < FEW // 2 else 5
        drawn = ForestDependency(max_features=width, bootstrap=bagged, cv=folds, **common)
        best = ForestDependency(max_features=width, bootstrap=True, random_splits=False, **common)
        yield from (("extra trees", drawn), ("random forest", best))

    def _take(self, name: str, kernel: str, model: Any, pairs: Pairs) -> None:
        self.models[name] = pairs.fitted(model)
        self._note(name, kernel, self.models[name], pairs)

    def _note(
        self, family: str, kernel: str, model: Any, pairs: Pairs, rows: int | None = None
    ) -> None:
        self.board.append(
            {
                "family": family,
                "model": kernel,
                "alpha": float(getattr(model, "alpha_", np.nan)),
                "rows": pairs.n if rows is None else rows,
                "score": self.score(pairs.y, model.loo_predict()),
                "seconds": round(self.clock.spent, 2),
            }
        )

    def _score_of(self, family: str) -> float:
        return next(row["score"] for row in reversed(self.board) if row["family"] == family)

    def _sentences(self, pairs: Pairs) -> bool:
        """Whether some column of text has several words a cell."""
        texts = [str(name) for name, kind in self.inputs.kinds_.items() if kind == "text"]
        few = list(pairs.X[:200]) if texts else []
        return any(np.median([row[name].count(" ") for row in few]) >= 2 for name in texts)
