from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._arrays import Items, count, host, take
from .._parameters import parameters, whole
from ..decoders import Decoder
from ..embedding import Embedding, Frame, PointMap, SpanFrame
from ..kernels import Kernel
from ..kernels.base import as_output_kernel
from ..problem import repeats
from ..solvers import Cache
from .base import StructuredEstimator, afresh, warn_if_constant
from .behind_predictions import LeftOutPoints, finite_kernel
from .choice import calibrated
from .head import output_problem
from .pairs import folds_of, group_labels, sample_weights
from .trees import BITS, Forest, LeafMeans, Scaling, features_of, memberships

DIRECTIONS = 64
"""Output directions that trees are grown on, at most: the principal ones where there are more."""


@parameters
class ForestDependency(LeftOutPoints, StructuredEstimator):
    """Output-kernel trees: a forest whose leaves average outputs in their feature space.

    g(x) = Σ_i c_i(x) Φ(y_i), where c_i(x) is the mean over trees of the share that y_i has in the
    leaf of x. Trees are grown by scikit-learn on coordinates of the outputs, each in units of its
    spread, so that a split lowers the variance in the output feature space.

    Parameters
    ----------
    kernel
        A kernel with finite features, which the trees ask about; None for `Linear`, the vectors
        themselves.
    output_kernel, decoder
        As in `KernelDependency`.
    n_trees
        The number of trees.
    random_splits
        Whether thresholds are drawn at random (extremely randomised trees) rather than the best.
    max_features, min_samples_leaf
        As in scikit-learn's trees.
    bootstrap
        Whether each tree learns from examples drawn with replacement, whole groups where there are
        groups. Left-out predictions are the out-of-bag ones then.
    standardize
        Whether output coordinates are grown on in units of their spread; else as they are.
    cv
        The number of folds that left-out predictions are made by where there is no bootstrap.
    random_state
        What the trees are drawn by.

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

    kernel: Any = None
    output_kernel: Any = None
    n_trees: int = 200
    random_splits: bool = True
    max_features: Any = 1.0
    min_samples_leaf: int = 1
    bootstrap: bool = False
    standardize: bool = True
    cv: int = 5
    decoder: Decoder | None = None
    random_state: Any = None

    dropped: ClassVar[dict[str, str]] = {
        "outputs_": "the training outputs",
        "left_out_": "left-out predictions",
        "folds_": "the folds of left-out predictions",
    }

    @afresh
    def fit(
        self, X: Items, y: Items, groups: Items | None = None, sample_weight: Any = None
    ) -> ForestDependency:
        """Grow the trees.

        Parameters
        ----------
        X, y
            Inputs and their outputs.
        groups
            A label for each pair: pairs of one label are drawn, and left out, together.
        sample_weight
            How much each pair counts.
        """
        kernel, output = self._input_kernel(), as_output_kernel(self.output_kernel)
        given = X
        X, y = self._check_pairs(kernel, output, X, y)
        labels, w = group_labels(groups, count(y)), sample_weights(sample_weight, count(y))
        weights = np.ones(len(labels)) if w is None else w
        counted = y if w is None else take(y, repeats(w))  # as the kernels of ridge regressions
        self.input_kernel_, self.output_kernel_ = kernel.fit(X), clone(output).fit(counted)
        warn_if_constant(self.output_kernel_, y)
        self.outputs_ = y
        V, frame = self._coordinates(y)
        raw = features_of(self.input_kernel_, X)
        scaling = Scaling.of(raw)
        A, T = scaling(raw), _targets(V, self.standardize)
        random = check_random_state(self.random_state)
        forest = self._grown(A, T, labels, weights, random)
        self.points_ = _point_map(self.input_kernel_, scaling, forest, V, frame)
        if self.bootstrap:
            C = forest.out_of_bag(_written(V, frame))
        else:
            C = self._by_folds(A, T, _written(V, frame), labels, weights, random)
        self.left_out_ = Embedding(C, frame, left_out=labels, inputs=given)
        decoder = self._fitted_decoder(self.output_kernel_, y, self.decoder)
        self.decoder_ = calibrated(decoder, self.left_out_, y)
        return self

    def _input_kernel(self) -> Kernel:
        return finite_kernel(self.kernel, "trees ask about features")

    def _coordinates(self, y: Items) -> tuple[np.ndarray, Frame]:
        """The outputs in the coordinates that ridge models of the same output kernel have."""
        problem = output_problem(self.output_kernel_, y)
        made = Cache().outputs(problem)
        spanned = SpanFrame(self.output_kernel_, y)
        return host(made.coordinates), spanned if problem.spanned else made.frame

    def _grown(
        self, A: np.ndarray, T: np.ndarray, labels: np.ndarray, weights: np.ndarray, random: Any
    ) -> Forest:
        """The trees, each on its bag; one without weight is grown for folds alone."""
        from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor  # slow to import

        kind = ExtraTreeRegressor if self.random_splits else DecisionTreeRegressor
        tree = kind(max_features=self.max_features, min_samples_leaf=self.min_samples_leaf)
        n_trees = whole(self.n_trees, "n_trees")
        mass = np.repeat(weights[:, None], n_trees, axis=1)
        if self.bootstrap:
            mass *= _bags(labels, n_trees, random)
        return Forest.grow(tree, A, T, mass, random.randint(2**31 - 1, size=n_trees))

    def _by_folds(
        self,
        A: np.ndarray,
        T: np.ndarray,
        V: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray,
        random: Any,
    ) -> np.ndarray:
        """Predictions of every example by a forest that did not see its fold."""
        self.folds_ = folds = folds_of(labels, whole(self.cv, "cv"))
        C = np.empty_like(V)
        for fold in range(int(folds.max()) + 1):
            seen, out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            forest = self._grown(A[seen], T[seen], labels[seen], weights[seen], random)
            M = memberships(forest.trees.leaves(A[out]), None, forest.trees.n_nodes)
            C[out] = M @ forest.means(V[seen]) / self.n_trees
        return C

    def _scalar_kernels(self) -> list[Kernel]:
        return [self._input_kernel()]


def _written(V: np.ndarray, frame: Frame) -> np.ndarray:
    """The training outputs in the frame: their coordinates, or themselves with weight one."""
    return V if frame.compact else np.eye(len(V))


def _point_map(
    kernel: Kernel, scaling: Scaling, forest: Forest, V: np.ndarray, frame: Frame
) -> PointMap:
    weigher = LeafMeans(kernel, scaling, forest.trees, csr_array(forest.shares.T))
    if not frame.compact:
        return PointMap(weigher, None, frame, weigher)
    map = LeafMeans(kernel, scaling, forest.trees, forest.means(V))
    return PointMap(map, None, frame, weigher)


def _targets(V: np.ndarray, standardize: bool) -> np.ndarray:
    """What trees are grown on: output coordinates in units of their spread, the main ones."""
    V = V - V.mean(axis=0)
    if V.shape[1] > DIRECTIONS:
        U, s, _ = np.linalg.svd(V, full_matrices=False)
        V, standardize = (U * s)[:, :DIRECTIONS], False
    if standardize:
        return Scaling.of(V)(V)
    size = float(np.sqrt((V**2).mean())) or 1.0
    return np.round(V / size * 2.0**BITS) / 2.0**BITS


def _bags(labels: np.ndarray, n_trees: int, random: Any) -> np.ndarray:
    """How often each example is in the bag of each tree: groups are drawn whole."""
    n = int(labels.max()) + 1
    drawn = [np.bincount(random.randint(n, size=n), minlength=n) for _ in range(n_trees)]
    return np.stack(drawn, axis=1)[labels]
