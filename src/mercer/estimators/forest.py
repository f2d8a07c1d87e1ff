from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import RandomState
from scipy.sparse import csr_array
from sklearn.utils import check_random_state

from .._base.parameters import integer, parameters
from ..decoders import Decoder
from ..embedding import Embedding, PointMap, SpanFrame
from ..kernels import Kernel
from ..problem import Side
from .coordinate_model import CoordinateModel
from .trees import (
    ROUNDED_BITS,
    Forest,
    LeafMeans,
    LeftOutLeaves,
    Scaling,
    grow_trees,
    memberships,
)

FIRST_TREES = 25
"""The number of trees that are grown before the out-of-bag error is examined."""
DIRECTIONS = 64
"""The largest number of output directions of trees; of more, the principal ones are used."""


@parameters
class ForestDependency(CoordinateModel):
    r"""Random forest whose leaves average the training outputs in their feature space.

    :math:`g(x) = \sum_i c_i(x) \Phi(y_i)`, where :math:`c_i(x)` is the mean over trees of the
    fraction that :math:`y_i` has in the leaf of :math:`x`. Trees are grown by scikit-learn on
    coordinates of the outputs, each in units of its spread, so that a split lowers the variance in
    the output feature space.

    Parameters
    ----------
    kernel : Kernel, default=None
        A kernel with finite features, on which trees split; None for `Linear`, the vectors
        themselves.
    output_kernel : Kernel, default=None
        As in `KernelDependency`.
    n_trees : int, default=200
        The number of trees.
    random_splits : bool, default=True
        Whether thresholds are drawn at random (extremely randomised trees) rather than the best.
    max_features : int, float or str, default=1.0
        As in scikit-learn's trees.
    min_samples_leaf : int, default=1
        As in scikit-learn's trees.
    bootstrap : bool, default=False
        Whether each tree learns from examples (or groups) drawn with replacement. Left-out
        predictions are then the out-of-bag ones.
    standardize : bool, default=True
        Whether trees are grown on output coordinates in units of their spread.
    tol : float, default=0
        With a bootstrap, the forest is complete when twice as many trees lower the out-of-bag error
        by less than this fraction; 0 for all trees.
    cv : int, default=5
        The number of folds of left-out predictions if there is no bootstrap.
    decoder : Decoder, default=None
        As in `KernelDependency`.
    random_state : int, RandomState or None, default=None
        The seed of the trees.

    Notes
    -----
    Left-out predictions of a bootstrap come from about a third of the trees, and understate the
    forest on few examples.

    References
    ----------
    Geurts, Wehenkel, d'Alché-Buc (2006): Kernelizing the output of tree-based methods.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators import ForestDependency
    >>> from mercer.kernels import Labels
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> y = [["night"] if x < 0.5 else ["day", "sun"] for x in X[:, 0]]
    >>> model = ForestDependency(output_kernel=Labels(), n_trees=20, random_state=0).fit(X, y)
    >>> model.predict([[0.1], [0.9]])
    array([list(['night']), list(['day', 'sun'])], dtype=object)
    """

    kernel: Kernel | str | None = None
    output_kernel: Kernel | str | None = None
    n_trees: int = 200
    random_splits: bool = True
    max_features: int | float | str | None = 1.0
    min_samples_leaf: int = 1
    bootstrap: bool = False
    standardize: bool = True
    tol: float = 0.0
    cv: int = 5
    decoder: Decoder | None = None
    random_state: int | np.random.RandomState | None = None

    needs_features = "trees split on features"

    def _fit_coordinates(
        self, A: np.ndarray, V: np.ndarray, labels: np.ndarray, weights: np.ndarray
    ) -> Embedding:
        """Grow the forest from features A to coordinates V; return the left-out points."""
        if Side(self.output_kernel_, self.outputs_).is_spanned(len(V)):
            self.frame_ = SpanFrame(self.output_kernel_, self.outputs_)
        scaling, frame, w = Scaling.of(A, weights), self.frame_, weights
        A, T = scaling(A), _targets(V, w, self.standardize)
        outputs = V if frame.compact else np.eye(len(V))  # coordinates, or weights on themselves
        random = check_random_state(self.random_state)
        forest = self._grow(A, T, labels, w, random)
        # The fractions of leaves are weights on the training outputs, of which points are made.
        fractions = csr_array(forest.leaf_fractions.T)
        weights_of = LeafMeans(self.input_kernel_, scaling, forest.trees, fractions)
        means = replace(weights_of, values=fractions @ V) if frame.compact else weights_of
        self.points_ = PointMap(means, None, frame, weights_of)
        found = LeftOutLeaves(len(V))
        if self.bootstrap:
            found.add(np.arange(len(V)), np.arange(len(V)), *forest.out_of_bag_leaves())
        for seen, out in () if self.bootstrap else self._draw_folds(labels):
            other = self._grow(A[seen], T[seen], labels[seen], w[seen], random)
            M = memberships(other.trees.leaves(A[out]), None, other.trees.n_nodes)
            found.add(out, seen, M / len(other.trees.roots), other.leaf_fractions)
        return Embedding(found.means(outputs), frame, weigh=found.weights)

    def _grow(
        self, A: np.ndarray, T: np.ndarray, labels: np.ndarray, weights: np.ndarray, random: Any
    ) -> Forest:
        """Grow the trees from features A to targets T, each on its own bootstrap sample."""
        from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor  # slow to import

        kind = ExtraTreeRegressor if self.random_splits else DecisionTreeRegressor
        tree = kind(max_features=self.max_features, min_samples_leaf=self.min_samples_leaf)
        n_trees = integer(self.n_trees, "n_trees")
        mass = np.repeat(weights[:, None], n_trees, axis=1)
        seeds = random.randint(2**31 - 1, size=n_trees)
        if self.bootstrap:
            mass *= _bag_counts(labels, n_trees, random)
        if not (self.bootstrap and self.tol):
            return Forest.of(grow_trees(tree, A, T, mass, seeds), A, mass)
        return _grow_until_flat(tree, A, T, weights, mass, seeds, self.tol)


def _grow_until_flat(
    tree: Any,
    A: np.ndarray,
    T: np.ndarray,
    w: np.ndarray,
    mass: np.ndarray,
    seeds: np.ndarray,
    tol: float,
) -> Forest:
    """Grow trees from features A to targets T until the out-of-bag error stops falling.

    The number of trees is doubled each time. Tree i has the sample weights `mass[:, i]`, and row j
    counts `w[j]` times in the error.
    """
    size, error, grown = FIRST_TREES, np.inf, list[Any]()
    while True:
        more = slice(len(grown), size)
        grown += grow_trees(tree, A, T, mass[:, more], seeds[more])
        forest = Forest.of(grown, A, mass[:, :size])
        before, error = error, float(w @ ((forest.out_of_bag(T) - T) ** 2).sum(axis=1))
        if error > (1.0 - tol) * before or size >= len(seeds):
            return forest
        size *= 2


def _targets(V: np.ndarray, w: np.ndarray, standardize: bool) -> np.ndarray:
    """Return the targets of the trees: output coordinates V, centred, scaled and rounded.

    Row i counts `w[i]` times. If there are more than `DIRECTIONS` coordinates, these are the
    leading principal components.
    """
    shares = w / w.sum()
    V = V - shares @ V
    if V.shape[1] > DIRECTIONS:
        _, _, Q = np.linalg.svd(np.sqrt(shares)[:, None] * V, full_matrices=False)
        V, standardize = V @ Q[:DIRECTIONS].T, False
    if standardize:
        return Scaling.of(V, w)(V)
    size = float(np.sqrt((shares @ V**2).mean())) or 1.0
    return np.round(V / size * 2.0**ROUNDED_BITS) / 2.0**ROUNDED_BITS


def _bag_counts(labels: np.ndarray, n_trees: int, random: RandomState) -> np.ndarray:
    """Return how often each bootstrap sample of groups has each example, (examples, trees)."""
    n = int(labels.max()) + 1
    drawn = [np.bincount(random.randint(n, size=n), minlength=n) for _ in range(n_trees)]
    return np.stack(drawn, axis=1)[labels]
