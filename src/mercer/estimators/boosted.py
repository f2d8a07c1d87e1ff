from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from .._base.arrays import Array, Items, blocks, count
from .._base.checks import Limits, array, must, offsets
from .._base.parameters import integer, parameters
from .._base.statistics import are_counts, repeat_by_weight
from ..decoders import Decoder
from ..embedding import Embedding
from ..features import FeatureMap
from ..kernels import Kernel
from ..problem import Side
from .coordinate_model import CoordinateModel
from .trees import Scaling, TreeNodes, features_of

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingRegressor

LATER, MORE = 1.5, 10
"""Other folds have LATER times the best number of trees of the first fold, plus MORE."""
THREADED_ROWS = 10_000
"""From this many rows on, several threads grow a tree; with fewer rows they mostly wait."""
ROWS_AT_ONCE = 2000
"""The number of rows that are evaluated at once."""
Folds = list[tuple[np.ndarray, np.ndarray]]
"""The rows outside and inside of each fold."""


@parameters
class BoostedDependency(CoordinateModel):
    r"""Gradient-boosted trees with structured outputs: one sum of trees for each output direction.

    :math:`g(x) = m + \sum_j f_j(x) d_j`, where :math:`m` is the mean of the output coordinates,
    :math:`d_j` are their principal directions (the coordinates themselves where they are few) and
    each :math:`f_j` is a sum of
    trees that scikit-learn's `HistGradientBoostingRegressor` grows. The number of trees of each
    direction is the one with the smallest squared error on left-out folds.

    Parameters
    ----------
    kernel : Kernel, default=None
        A kernel with finite features, which the trees examine; None for `Linear`, the vectors
        themselves.
    output_kernel : Kernel, default=None
        As in `KernelDependency`; it must have finite features.
    n_trees : int, default=200
        The largest number of trees for each direction.
    learning_rate : float, default=0.1
        As in `HistGradientBoostingRegressor`.
    max_leaf_nodes : int, default=31
        As in `HistGradientBoostingRegressor`.
    min_samples_leaf : int, default=20
        As in `HistGradientBoostingRegressor`.
    directions : int, default=30
        The largest number of output directions that trees are grown for.
    cv : int, default=5
        The number of folds by which left-out predictions are made.
    decoder : Decoder, default=None
        As in `KernelDependency`.
    random_state : int, RandomState or None, default=None
        The seed of the sample that bins are computed on, where there are more than 200,000 rows.

    Notes
    -----
    The number of trees is chosen on the left-out predictions, which are therefore slightly
    optimistic. Models are saved as plain arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators import BoostedDependency
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    >>> Y = np.column_stack([np.sign(X[:, 0]), X[:, 0] * X[:, 1]])
    >>> model = BoostedDependency().fit(X, Y)
    >>> model.predict([[0.5, 0.5]]).shape, model.score(X, Y) > 0.9
    ((1, 2), True)
    """

    kernel: Kernel | str | None = None
    output_kernel: Kernel | str | None = None
    n_trees: int = 200
    learning_rate: float = 0.1
    max_leaf_nodes: int = 31
    min_samples_leaf: int = 20
    directions: int = 30
    cv: int = 5
    decoder: Decoder | None = None
    random_state: int | np.random.RandomState | None = None

    needs_features = "trees examine features"

    def _output_features(self, y: Items) -> None:
        """Return None, for the output kernel's own features; refuse infinitely many."""
        if Side(self.output_kernel_, y).is_spanned(count(y)):
            raise ValueError(
                f"{self.output_kernel_} has infinitely many features, or more than there are "
                "examples: use ForestDependency, or RegressorDependency with output_features."
            )

    def _fit_coordinates(
        self, A: np.ndarray, V: np.ndarray, labels: np.ndarray, weights: np.ndarray
    ) -> Embedding:
        """Fit trees from features A to principal directions of V; return the left-out points."""
        import sklearn.ensemble  # noqa: F401  its threads are limited below; slow to import

        scaling, w = Scaling.of(A, weights), weights
        A = scaling(A)
        mean = w @ V / w.sum()
        directions = _principal_directions(V - mean, w, integer(self.directions, "directions"))
        T = (V - mean) @ np.linalg.pinv(directions)
        with threadpool_limits(None if len(A) >= THREADED_ROWS else 1, user_api="openmp"):
            folds = list(self._draw_folds(labels))
            F, self.n_trees_ = self._left_out_predictions(A, T, folds, w)
            grown = [self._fit_trees(A, t, w, n) for t, n in zip(T.T, self.n_trees_, strict=True)]
        map = BoostedMap.of(self.input_kernel_, scaling, grown, mean, directions)
        return self._set_points(map, mean + F @ directions, w)

    def _left_out_predictions(
        self, A: np.ndarray, T: np.ndarray, folds: Folds, w: np.ndarray
    ) -> tuple[np.ndarray, list[int]]:
        """Return left-out predictions of all targets T, and the best number of trees for each."""
        found, counts = np.empty_like(T), []
        for j, target in enumerate(T.T):
            stages = self._left_out_stages(A, target, folds, w)
            best = _best_stage(stages, target, w)
            found[:, j] = stages[:, best]
            counts.append(best + 1)
        return found, counts

    def _left_out_stages(
        self, A: np.ndarray, t: np.ndarray, folds: Folds, w: np.ndarray
    ) -> np.ndarray:
        """Return left-out predictions of one target t by the first 1, 2, … trees, as columns.

        The best number of trees in the first fold, with a margin, limits that in the others.
        """
        n_trees, found = integer(self.n_trees, "n_trees"), None
        for seen, out in folds:
            grown = self._fit_trees(A[seen], t[seen], w[seen], n_trees)
            part = np.stack(list(grown.staged_predict(A[out])), axis=1)
            if found is None:
                best = _best_stage(part, t[out], w[out]) + 1
                n_trees = min(n_trees, MORE + int(LATER * best))
                found = np.empty((len(A), n_trees))
            found[out] = part[:, :n_trees]
        assert found is not None
        return found

    def _fit_trees(
        self, A: np.ndarray, t: np.ndarray, w: np.ndarray, n_trees: int
    ) -> HistGradientBoostingRegressor:
        """Fit boosted trees from features A to one target t with sample weights w.

        Rows are repeated if all weights are integers, because the bins of features and
        `min_samples_leaf` count rows, whatever their weights.
        """
        from sklearn.ensemble import HistGradientBoostingRegressor  # slow to import

        regressor = HistGradientBoostingRegressor(
            max_iter=n_trees,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=self.min_samples_leaf,
            early_stopping=False,
            random_state=self.random_state,
        )
        if are_counts(w):
            rows = repeat_by_weight(w)
            return regressor.fit(A[rows], t[rows])
        return regressor.fit(A, t, None if (w == w[0]).all() else w)


@parameters
class BoostedMap(FeatureMap):
    """Feature map from inputs to the output coordinates that boosted trees predict.

    Trees are grown by scikit-learn, and saved and evaluated without it.

    Parameters
    ----------
    kernel : Kernel
        The fitted kernel whose features the trees examine.
    scaling : Scaling
        How its features are scaled.
    trees : TreeNodes
        The trees of all directions, those of one direction after those of another.
    values : array
        What each node adds to the prediction; only leaves are used.
    starts : array
        The number of the first tree of each direction, and the number of trees.
    offset : array of shape (q,)
        The output coordinates that the sums of trees are added to.
    directions : array of shape (d, q)
        The directions that the trees predict, in units of their spread.
    """

    kernel: Kernel
    scaling: Scaling
    trees: TreeNodes
    values: Array
    starts: Array
    offset: Array
    directions: Array

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        scaling: Scaling,
        grown: list[HistGradientBoostingRegressor],
        mean: np.ndarray,
        directions: np.ndarray,
    ) -> BoostedMap:
        """Return the map of fitted scikit-learn regressors, one for each output direction."""
        predictors = [p for regressor in grown for (p,) in regressor._predictors]
        nodes = np.concatenate([predictor.nodes for predictor in predictors])
        trees = TreeNodes.of(
            [len(predictor.nodes) for predictor in predictors],
            np.where(nodes["is_leaf"], -1, nodes["feature_idx"]),
            np.ascontiguousarray(nodes["num_threshold"]),
            nodes["left"],
            nodes["right"],
        )
        first = np.array([float(np.ravel(r._baseline_prediction)[0]) for r in grown])
        starts = np.cumsum([0, *(len(regressor._predictors) for regressor in grown)])
        values = np.ascontiguousarray(nodes["value"])
        return cls(kernel, scaling, trees, values, starts, mean + first @ directions, directions)

    def check_loaded(self, limits: Limits) -> None:
        """Check a loaded map: each node has a value, and each direction has trees."""
        array(self.values, "values", np.float64, self.trees.n_nodes)
        offsets(self.starts, "starts", len(self.trees.roots))
        must((np.diff(self.starts) > 0).all(), "a direction has no trees")
        array(self.offset, "offset", np.float64, None)
        array(self.directions, "directions", np.float64, len(self.starts) - 1, len(self.offset))

    def transform(self, A: Items) -> np.ndarray:
        """Return the predicted output coordinates, one row for each input."""
        return self.predict(self.scaling(features_of(self.kernel, A)))

    def predict(self, A: np.ndarray) -> np.ndarray:
        """Return the output coordinates that the trees predict from scaled features A."""
        found = np.empty((len(A), len(self.offset)))
        for rows in blocks(len(A), ROWS_AT_ONCE):
            added = self.values[self.trees.leaves(A[rows], np.float64)]
            sums = np.add.reduceat(added, self.starts[:-1], axis=1)
            found[rows] = self.offset + sums @ self.directions
        return found


def _best_stage(stages: np.ndarray, t: np.ndarray, w: np.ndarray) -> int:
    """Return the column of `stages` with the smallest weighted squared error to the target t."""
    return int(np.argmin(w @ (stages - t[:, None]) ** 2))


def _principal_directions(V: np.ndarray, w: np.ndarray, most: int) -> np.ndarray:
    """Return at most `most` principal directions of V, as rows, times the deviations along them.

    Row i of the centred outputs V counts `w[i]` times.

    If V has at most `most` columns, the directions are its columns that vary. Constant outputs have
    one direction of length zero.
    """
    V = np.sqrt(w / w.sum())[:, None] * V
    if V.shape[1] > most:
        _, s, Q = np.linalg.svd(V, full_matrices=False)
        rows = s[:most, None] * Q[:most]
    else:
        rows = np.diag(np.sqrt((V**2).sum(axis=0)))
    size = np.abs(rows).max(axis=1)
    return rows[size > 1e-12 * size.max()] if size.any() else rows[:1]
