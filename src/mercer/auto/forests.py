"""The forests and boosted trees of a search, and whether there is time for them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import log2, sqrt
from typing import Any

from sklearn.base import clone

from ..estimators import BoostedDependency, ForestDependency
from ..estimators.coordinate_model import output_coordinates
from ..estimators.forest import DIRECTIONS
from ..kernels import Kernel
from ..problem import Side
from .candidates import forest_kernel
from .inputs import Inputs
from .kinds.base import Kind
from .pairs import Pairs
from .presets import Preset
from .progress import Clock

FOLDED_ROWS = 500
"""With fewer rows, forests are scored on folds, because out-of-bag scores are too low."""
IN_FOLDS = 0.6
"""The fraction of trees of a forest that is grown again for each fold."""
FEWEST_TREES, SOME_TREES = 20, 3
"""The smallest number of trees when time is short, and the number that measures the time."""
ALL_COLUMNS_STEPS, COMPARED_TREES = 2e8, 20
"""A forest of at most ALL_COLUMNS_STEPS steps may examine all columns at a split, if that reduces
the out-of-bag error of COMPARED_TREES trees."""
ROOT_COLUMNS = 500
"""From this many columns on, trees examine 3 √columns of them at a split."""
ONE_FOREST_STEPS = 1e10
"""With more steps, there is only one forest, with half of the trees."""
LARGE = 10_000
"""From this many rows on, boosted trees have more leaves."""
BOOSTED, PER_COORDINATE = 60, 5
"""The smallest numbers of rows for boosted trees, in total and for each output coordinate."""


class TreeCandidates:
    """The tree models that a search fits: an iterable of (name, unfitted model).

    Parameters
    ----------
    inputs, outputs
        How columns are read.
    output_kernel
        The output kernel that all candidates share.
    pairs
        The training data.
    preset
        The sizes of the search.
    seed
        The seed of all trees.
    """

    def __init__(
        self,
        inputs: Inputs,
        outputs: Kind,
        output_kernel: Kernel,
        pairs: Pairs,
        preset: Preset,
        seed: int,
    ):
        self.outputs, self.pairs, self.preset = outputs, pairs, preset
        self.kernel = forest_kernel(inputs, pairs.X)
        self.width, self.seed = inputs.width_, seed
        self.common: dict[str, Any] = {
            "kernel": self.kernel,
            "output_kernel": output_kernel,
            "decoder": outputs.decoder(),
            "random_state": seed,
        }

    @property
    def count(self) -> int:
        """The number of tree models."""
        return len(self._forest_arguments()) + self.can_boost if self.kernel is not None else 0

    @cached_property
    def can_boost(self) -> bool:
        """Whether boosted trees are among the candidates.

        They need enough rows, more rows than columns, and `PER_COORDINATE` rows for each of
        finitely many output coordinates. They are not tried for label sets: boosted trees are
        judged by folds, and so are the models that they are blended with. Models of four fifths
        of the rows predict smaller scores than those of all rows, so that thresholds would be
        calibrated too low.
        """
        few = self.pairs.n < BOOSTED or not self._max_directions
        if self.kernel is None or few or self.outputs.needs_exact_folds:
            return False
        kernel = clone(self.common["output_kernel"]).fit(self.pairs.complete)
        side = Side(kernel, self.pairs.complete)
        if side.is_spanned(self.pairs.n):
            return False
        return PER_COORDINATE * output_coordinates(side)[1].shape[1] <= self.pairs.n

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        if self.kernel is None:
            return
        if self.can_boost:
            yield "boosted trees", self._boosted_trees()
        fraction = self._best_column_fraction()
        for name, arguments in self._forest_arguments().items():
            yield name, self._forest(arguments, max_features=fraction)

    @property
    def _max_directions(self) -> int:
        """The largest number of output directions that boosted trees are grown for."""
        return min(self.preset.directions, self.pairs.n // max(self.width, 1))

    def _boosted_trees(self) -> BoostedDependency:
        """Return the unfitted boosted trees, with sizes that suit the number of rows."""
        preset, n = self.preset, self.pairs.n
        few = n < FOLDED_ROWS
        return BoostedDependency(
            n_trees=preset.boosted // 3 if few else preset.boosted,
            learning_rate=1.5 * preset.learning_rate if few else preset.learning_rate,
            max_leaf_nodes=8 if few else 15 if n < LARGE else 31,
            min_samples_leaf=max(5, min(20, n // 25)),
            directions=self._max_directions,
            **self.common,
        )

    def _forest(self, arguments: dict[str, Any], **more: Any) -> ForestDependency:
        """Return an unfitted forest with default sizes, changed by `arguments` and `more`."""
        n, trees = self.pairs.n, self.preset.trees
        if not arguments["bootstrap"]:
            trees = int(IN_FOLDS * trees)
        elif self._n_steps >= ONE_FOREST_STEPS:
            trees //= 2
        defaults: dict[str, Any] = {
            "n_trees": trees,
            "min_samples_leaf": max(1, n // 5000),
            "tol": 0.0 if n < FOLDED_ROWS else self.preset.tolerance,
        }
        return ForestDependency(**defaults | self.common | arguments | more)

    def _forest_arguments(self) -> dict[str, dict[str, Any]]:
        """Return the arguments of `ForestDependency` for each kind of forest, by name."""
        n = self.pairs.n
        bagged = self.outputs.has_labels or n >= FOLDED_ROWS
        kinds = {"extra trees": {"bootstrap": bagged, "cv": 10 if n < BOOSTED else 5}}
        if self._n_steps < ONE_FOREST_STEPS and not self.can_boost:
            kinds["random forest"] = {"bootstrap": True, "random_splits": False}
        return kinds

    @property
    def _column_fraction(self) -> float:
        """The default fraction of columns that a tree examines at a split."""
        d = self.width
        return 0.5 if d < 100 else 0.2 if d < ROOT_COLUMNS else 3.0 / sqrt(d)

    @property
    def _n_steps(self) -> float:
        """An estimate of the number of elementary steps that fitting a forest takes."""
        shape: tuple[int, ...] = getattr(self.pairs.y, "shape", ())
        q = min(DIRECTIONS, shape[1]) if len(shape) > 1 else DIRECTIONS // 2
        n = self.pairs.n
        return self.preset.trees * n * log2(n) * self._column_fraction * self.width * q

    def _best_column_fraction(self) -> float:
        """Return the fraction of columns, the default or 1, with the smaller out-of-bag error."""
        if self.width >= 100 or self._n_steps >= ALL_COLUMNS_STEPS:
            return self._column_fraction
        few = {"bootstrap": True, "n_trees": COMPARED_TREES}
        fractions = (self._column_fraction, 1.0)
        risks = [
            self._out_of_bag_risk(self._forest(few, max_features=fraction))
            for fraction in fractions
        ]
        return 1.0 if risks[1] < risks[0] else self._column_fraction

    def _out_of_bag_risk(self, forest: ForestDependency) -> float:
        """Fit a forest, and return the mean squared error of its out-of-bag predictions."""
        model = self.pairs.fit_model(forest)
        return float(model.loo_embed().sqdistances_to(model.outputs_).mean())

    def limit_trees(self, model: Any, clock: Clock) -> bool:
        """Lower the number of trees of a model to the time left; return whether enough remain."""
        if clock.limit is None:
            return True
        left, before = 0.7 * clock.limit - clock.spent, clock.spent
        if left <= 0:
            return False
        some = clone(model).set_params(n_trees=SOME_TREES)
        forest = isinstance(model, ForestDependency)
        self.pairs.fit_model(some.set_params(bootstrap=True) if forest else some)
        each = (clock.spent - before) / SOME_TREES
        grown = each * (1 + model.cv if forest and not model.bootstrap else 1)
        model.n_trees = min(model.n_trees, int(left / max(grown, 1e-9)))
        return model.n_trees >= FEWEST_TREES
