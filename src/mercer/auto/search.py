"""The search: models are fitted within a time limit and compared by left-out predictions."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import sqrt
from typing import Any

import numpy as np

from .._base.statistics import exceeds_standard_error
from ..estimators import Blend, KernelDependencyCV
from ..estimators.choices import random_rows
from ..features import Explicit, FeatureMap, IncompleteCholesky
from ..kernels import Kernel
from ..operators import Covariance, Identity, OperatorKernel
from .blending import (
    average_with_linear,
    scores_of_single_models,
    single_is_clearly_better,
    weighted_variants,
    with_other_decoder,
)
from .candidates import Family, image_families, kernel_families
from .climbing import climb
from .forests import TreeCandidates
from .inputs import Inputs
from .kinds.base import Kind
from .measures import left_out_probabilities
from .pairs import Pairs
from .presets import Preset
from .progress import Clock

COMPARED_DIGITS = 12
"""The number of decimal places of scores that are compared."""
EXACT_SET_ROWS, EXACT_SETS = 6000, 3
"""With at most EXACT_SET_ROWS rows, the best EXACT_SETS kernels on sets are exact, because low
ranks approximate kernels on sets badly."""
COUPLED = 100
"""From this many rows on, the covariance of outputs is tried. It is not recomputed when rows are
left out, so that scores on few rows would be too good."""
FULL_RANK_ROWS = 10_000
"""With more rows, ranks are smaller, in proportion to 1 / √rows, down to half of the rank."""


@dataclass
class ModelSearch:
    """Search for the best model: kernel ridge models, trees, and blends of the best of them.

    Attributes
    ----------
    inputs, outputs, score, clock, seed, preset
        How columns are read, what predictions are scored by, the time, a seed, and the sizes.
    output_kernel
        The output kernel that all candidates share, so that they can be blended.
    board
        A row of the leaderboard for each candidate.
    models, rows
        The model of each family that is kept, and its row; of many rows of pairs, until models
        are fitted on all of them, the row of the best kernel on some.
    """

    inputs: Inputs
    outputs: Kind
    output_kernel: Kernel
    score: Callable[..., float]
    clock: Clock
    seed: int
    preset: Preset = field(default_factory=Preset)
    board: list[dict[str, Any]] = field(default_factory=list)
    models: dict[str, Any] = field(default_factory=dict)
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)

    def planned_steps(self, pairs: Pairs) -> dict[str, int]:
        """Return the approximate number of fits of each kind, for the progress report."""
        lists = self._kernel_families(pairs).values()
        ridges = sum(min(4, family.size) if self.preset.climbs else family.size for family in lists)
        whole = min(len(lists), self.preset.families + 1) if pairs.n > self.preset.sample else 0
        return {
            "ridge": ridges,
            "whole": whole,
            "trees": self._tree_candidates(pairs).count,
        }

    def run(self, pairs: Pairs) -> Any:
        """Fit all candidates, and return the model with the best left-out score."""
        self._fit_ridge_models(pairs)
        trees = self._tree_candidates(pairs)
        for name, model in trees:
            if self.models and not trees.limit_trees(model, self.clock):
                break
            self.models[name] = self.clock.time_step("trees", partial(pairs.fit_model, model))
            self.rows[name] = self._add_to_leaderboard(name, name, self.models[name], pairs)
        singles = list(self.models)
        if len(singles) == 1:
            return self.models[singles[0]]
        first = Blend(list(self.models.values()), self.outputs.decoder(), prefit=True)
        pairs.fit_model(first)
        scores = scores_of_single_models(first, self.score, pairs.y)
        self._add_best_blend(first, scores, pairs)
        best = int(np.argmax(np.round(scores, COMPARED_DIGITS)))
        blend, score = self.models["blend"], self.score_of("blend")
        better = single_is_clearly_better(best, scores[best], score, blend, self.outputs)
        return self.models[singles[best] if better else "blend"]

    def _add_best_blend(self, first: Blend, scores: np.ndarray, pairs: Pairs) -> None:
        """Score variants of the blend `first`, and store the best one as the model "blend".

        `scores` are the left-out scores of the single models.
        """

        def add_variant(how: str, blend: Blend) -> tuple[str, Blend, dict[str, Any]]:
            """Add a blend to the leaderboard; return its name, the blend and its row."""
            return how, blend, self._add_to_leaderboard("blend", f"blend, {how}", blend, pairs)

        tried = [
            add_variant(how, blend) for how, blend in weighted_variants(first, scores, self.outputs)
        ]
        how, blend, row = max(tried, key=lambda one: round(one[2]["score"], COMPARED_DIGITS))
        average = self.outputs.has_linear_average
        linear = average_with_linear(blend, scores) if average else None
        if linear is not None:
            how, blend, row = add_variant(f"{how} and linear", linear)
        decoded = with_other_decoder(blend, self.outputs)
        if decoded is not None:
            _, other, score = add_variant(f"{how}, {decoded[0]}", decoded[1])
            row, blend = (score, other) if score["score"] > row["score"] else (row, blend)
        self.models["blend"], self.rows["blend"] = blend, row

    def _tree_candidates(self, pairs: Pairs) -> TreeCandidates:
        """Return the unfitted tree models to compare."""
        return TreeCandidates(
            self.inputs, self.outputs, self.output_kernel, pairs, self.preset, self.seed
        )

    def _fit_ridge_models(self, pairs: Pairs) -> None:
        """Fit and store the best kernel ridge model of each family of kernels."""
        sample, chosen = pairs, {}
        if pairs.n > self.preset.sample:
            labels = np.arange(pairs.n) if pairs.groups is None else pairs.groups
            sample = pairs.rows(random_rows(labels, self.preset.sample, self.seed))
        for name, family in self._kernel_families(pairs).items():
            best = self._best_kernel(family, sample)
            if best is not None:
                chosen[name], model = best
                self.rows[name] = self._add_to_leaderboard(
                    name, _kernel_name(chosen[name]), model, sample
                )
                if sample is pairs:
                    self.models[name] = model
        if sample is not pairs:
            self._refit_on_all_rows(chosen, pairs)

    def _refit_on_all_rows(self, chosen: dict[str, Any], pairs: Pairs) -> None:
        """Refit to all rows the best kernels of a sample, and the linear kernel.

        `chosen` is the best kernel of each family on a sample of the rows.
        """
        order = sorted(chosen, key=lambda name: -self.score_of(name))
        kept = [name for name in order if name != "linear"][: self.preset.families]
        for name in [name for name in order if name in (*kept, "linear")]:
            if self.models and not self.clock.allows_step("whole", 0.6):
                break
            few = len(self.models) < EXACT_SETS
            sets = self.inputs.bags_ and pairs.n <= EXACT_SET_ROWS and few
            kernel, exact = chosen[name], pairs.n <= self.preset.exact or sets
            fit = partial(self._fit_ridge_model, kernel, pairs, exact)
            model = self.clock.time_step("whole", fit)
            self.models[name] = model
            self.rows[name] = self._add_to_leaderboard(name, _kernel_name(kernel), model, pairs)

    def _best_kernel(self, family: Family, pairs: Pairs) -> tuple[Any, KernelDependencyCV] | None:
        """Return the best kernel of a family and its fitted model; None if no time is left."""
        first, *others = family.rows

        def fit(kernel: Any) -> KernelDependencyCV | None:
            """Return the model fitted with a kernel; None if no time is left."""
            if self.board and not self.clock.allows_step("ridge", 0.4):
                return None
            return self.clock.time_step("ridge", partial(self._fit_ridge_model, kernel, pairs))

        start = family.start
        if self.preset.climbs:
            best_of_list = climb(len(first), start, lambda k: fit(first[k]), self._is_better)
        else:
            attempts = [(k, fit(kernel)) for k, kernel in enumerate(first)]
            fitted = [(k, model) for k, model in attempts if model is not None]
            best_of_list = max(fitted, key=lambda one: _selection_score(one[1]), default=None)
        if best_of_list is None:
            return None
        at, model = best_of_list
        best = first[at], model
        for row in others:
            other = fit(row[at])
            if other is not None and _selection_score(other) > _selection_score(best[1]):
                best = row[at], other
        return best

    @staticmethod
    def _is_better(one: KernelDependencyCV, other: KernelDependencyCV) -> tuple[bool, bool]:
        """Return whether `one` is better than `other`, and whether by over a standard error."""
        losses = [model.loo_embed().sqdistances_to(model.outputs_) for model in (one, other)]
        return _selection_score(one) > _selection_score(other), exceeds_standard_error(
            np.asarray(losses[1] - losses[0]), one.loo_embed().sample_weight
        )

    def _kernel_families(self, pairs: Pairs) -> dict[str, Family]:
        """Return the families of kernels to try, with patch kernels if outputs are images."""
        shape = tuple(getattr(pairs.y, "shape", ()))[1:]
        few = pairs.n <= self.preset.exact
        fields = image_families(self.inputs, shape, pairs.n, self.preset.pixels) if few else {}
        return kernel_families(self.inputs, pairs.X) | fields

    def _fit_ridge_model(
        self, kernel: Kernel, pairs: Pairs, exact: bool = True
    ) -> KernelDependencyCV:
        """Return a ridge model fitted with one kernel; it chooses the operator and the ridge.

        It has low rank unless `exact`.
        """
        one = self.outputs.is_array and np.shape(pairs.y)[1:] == (1,)
        coupled = exact and COUPLED <= pairs.n <= self.preset.exact and not one
        operators = [Identity(), Covariance()] if coupled else [Identity()]
        rank = int(self.preset.rank * min(1.0, max(0.5, sqrt(FULL_RANK_ROWS / pairs.n))))
        return pairs.fit_model(
            KernelDependencyCV(
                kernel if isinstance(kernel, OperatorKernel) else [kernel * o for o in operators],
                self.output_kernel,
                scoring=self.outputs.scoring,
                decoder=self.outputs.decoder(),
                features=None if exact else _low_rank_features(kernel, rank),
            )
        )

    def _add_to_leaderboard(
        self, family: str, model_name: str, model: Any, pairs: Pairs
    ) -> dict[str, Any]:
        """Score the left-out predictions of a model; return its row, added to the leaderboard."""

        def class_probabilities() -> tuple[np.ndarray, np.ndarray]:
            """Return the classes and the left-out class probabilities."""
            return left_out_probabilities(model.output_kernel_, model.loo_embed(), pairs.y)

        row = {
            "family": family,
            "model": model_name,
            "alpha": float(getattr(model, "alpha_", np.nan)),
            "rows": pairs.n,
            "score": self.score(pairs.y, model.loo_predict(), class_probabilities, pairs.weights),
            "seconds": round(self.clock.spent, 2),
        }
        self.board.append(row)
        return row

    def score_of(self, family: str) -> float:
        """Return the left-out score of the best model of a family; NaN if there is none."""
        return self.rows[family]["score"] if family in self.rows else float("nan")


def _selection_score(model: KernelDependencyCV) -> float:
    """Return the left-out score of a model, or minus its left-out risk if it has no score.

    Scores that differ by rounding alone are equal.
    """
    if np.isnan(model.loo_score_):
        return -model.loo_risk_
    return round(model.loo_score_, COMPARED_DIGITS)


def _low_rank_features(kernel: Kernel, rank: int) -> FeatureMap:
    """Return the explicit feature map of a kernel, or one of rank `rank` if there is none."""
    return IncompleteCholesky(rank) if kernel.features is None else Explicit()


NOT_SHOWN = r",\s*units=array\(.*?\)(?=\))|fields=Fields\(points=array\(.*?\)\),?\s*"
"""Parameters of kernels that are not shown: the units of columns, and the points of a grid."""


def _kernel_name(kernel: Kernel) -> str:
    """Return the repr of a kernel without its array parameters."""
    return re.sub(NOT_SHOWN, "", " ".join(str(kernel).split()))
