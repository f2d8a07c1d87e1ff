"""Regression trees as arrays: grown by scikit-learn, stored and evaluated without it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array, issparse
from sklearn import config_context

from .._base.arrays import Array, Items, blocks, compressed_rows, dense, host
from .._base.checks import Limits, array, indices, must
from .._base.parameters import parameters
from ..features import FeatureMap
from ..kernels import Kernel

if TYPE_CHECKING:
    from sklearn.tree import BaseDecisionTree

ROUNDED_BITS = 20
"""Binary places that inputs and targets of trees are rounded to, in units of their spread.

Sums of such targets are exact, so that changing units cannot change which of two equally good
splits is taken.
"""


ROWS_TIMES_TREES = 2**17
"""The largest number of rows times trees that are evaluated at once."""


@dataclass(frozen=True)
class Scaling:
    """Standardisation of columns to mean 0 and deviation 1, followed by rounding.

    Attributes
    ----------
    mean, spread
        The mean and the standard deviation of every column.
    """

    mean: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, A: np.ndarray, weights: np.ndarray) -> Scaling:
        """Return the scaling of the columns of A with sample weights of the rows.

        A constant column is divided by 1.
        """
        shares = weights / weights.sum()
        mean = shares @ A
        spread = np.sqrt(shares @ (A - mean) ** 2)
        varies = spread > 1e-12 * np.abs(A).max(axis=0)
        return cls(mean, np.where(varies, spread, 1.0))

    def __call__(self, A: np.ndarray) -> np.ndarray:
        """Standardise the columns, and round them to multiples of 2^-ROUNDED_BITS."""
        return np.round((A - self.mean) / self.spread * 2.0**ROUNDED_BITS) / 2.0**ROUNDED_BITS


@dataclass(frozen=True)
class TreeNodes:
    """The nodes of several decision trees in one set of arrays.

    Attributes
    ----------
    roots
        The first node of each tree.
    feature, threshold
        A node tests whether feature ≤ threshold; the feature of a leaf is -1.
    left, right
        The next node if the test is true, and if it is false.
    """

    roots: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray

    @classmethod
    def of(cls, sizes: list[int], feature: Array, threshold: Array, *children: Array) -> TreeNodes:
        """Return the nodes of trees of given sizes.

        `children` are the left and the right child of each node, numbered within its tree.
        """
        roots = np.cumsum([0, *sizes])[:-1]
        shift = np.repeat(roots, sizes)
        return cls(roots, feature, threshold, *(child + shift for child in children))

    @classmethod
    def of_fitted_trees(cls, regressors: list[BaseDecisionTree]) -> TreeNodes:
        """Return the nodes of fitted scikit-learn trees."""
        trees = [regressor.tree_ for regressor in regressors]
        return cls.of(
            [tree.node_count for tree in trees],
            np.concatenate([np.maximum(tree.feature, -1) for tree in trees]),
            np.concatenate([tree.threshold for tree in trees]),
            np.concatenate([tree.children_left for tree in trees]),
            np.concatenate([tree.children_right for tree in trees]),
        )

    def check_loaded(self, limits: Limits) -> None:
        """Check loaded trees: node numbers exist, and children come after their parents."""
        n = self.n_nodes
        indices(self.roots, "roots", 0, n)
        indices(self.feature, "feature", -1, limits.size, n)
        array(self.threshold, "threshold", np.float64, n)
        asks = self.feature >= 0
        for children, name in ((self.left, "left"), (self.right, "right")):
            after = indices(children, name, -1, n, n)[asks] > np.flatnonzero(asks)
            must(after.all(), f"{name} has a node before its parent")

    @property
    def n_nodes(self) -> int:
        """The number of nodes in all trees together."""
        return len(self.feature)

    def leaves(self, A: Array, precision: Any = np.float32) -> np.ndarray:
        """Return the number of the leaf of each row of A in each tree, (rows, trees).

        scikit-learn's forests compare inputs in single precision, its boosted trees in double.
        """
        A = np.asarray(A, dtype=precision)
        found = np.tile(self.roots, (len(A), 1))
        for rows in blocks(len(A), max(1, ROWS_TIMES_TREES // len(self.roots))):
            self._descend(A[rows], found[rows])
        return found

    def _descend(self, A: np.ndarray, nodes: np.ndarray) -> None:
        """Move rows of A from their current nodes down to leaves, by changing `nodes` in place.

        Parameters
        ----------
        A
            Some rows of the inputs.
        nodes
            The node that each row starts from in each tree, a contiguous array (rows, trees).
        """
        at, width = nodes.reshape(-1), nodes.shape[1]
        open_ = np.arange(len(at))
        while open_.size:
            open_ = open_[self.feature[at[open_]] >= 0]
            here = at[open_]
            yes = A[open_ // width, self.feature[here]] <= self.threshold[here]
            at[open_] = np.where(yes, self.left[here], self.right[here])


@dataclass(frozen=True)
class Forest:
    """Fitted trees, with the leaf of each training row in each tree.

    Attributes
    ----------
    trees
        The trees.
    leaves
        The leaf of each training row in each tree.
    mass
        How much each training row counts in each tree; zero where the tree did not see it.
    """

    trees: TreeNodes
    leaves: np.ndarray
    mass: np.ndarray

    @classmethod
    def of(cls, regressors: list[BaseDecisionTree], A: np.ndarray, mass: np.ndarray) -> Forest:
        """Return the forest of trees fitted on inputs A; tree i has sample weights `mass[:, i]`."""
        trees = TreeNodes.of_fitted_trees(regressors)
        return cls(trees, trees.leaves(A), mass)

    @cached_property
    def leaf_fractions(self) -> csc_array:
        """The fraction of the weight of each leaf that each training row has, (rows, nodes)."""
        P = memberships(self.leaves, self.mass, self.trees.n_nodes)
        totals = np.asarray(P.sum(axis=0)).ravel()
        return csc_array(P @ diags_array(1.0 / np.where(totals > 0, totals, 1.0)))

    def out_of_bag_leaves(self) -> tuple[csr_array, csc_array]:
        """Return fractions of each row in the leaves of trees not grown on it, and the leaves.

        The leaves are `leaf_fractions`. Rows that all trees were grown on count in all trees.
        """
        unseen = (self.mass == 0).astype(float)
        unseen[~unseen.any(axis=1)] = 1.0
        shares = unseen / unseen.sum(axis=1, keepdims=True)
        return memberships(self.leaves, shares, self.trees.n_nodes), self.leaf_fractions

    def out_of_bag(self, V: np.ndarray) -> np.ndarray:
        """Return predictions of V for each row, the mean over the trees not grown on it."""
        M, fractions = self.out_of_bag_leaves()
        return M @ (fractions.T @ V)


class LeftOutLeaves:
    """The leaves of left-out rows in the trees that did not see them.

    Parameters
    ----------
    n
        The number of rows.

    Attributes
    ----------
    parts
        For each fold the rows that are left out, the rows that its trees were grown on, the
        fraction of each of the former in each leaf, and that of each of the latter.
    """

    def __init__(self, n: int):
        self.n = n
        self.parts: list[tuple[np.ndarray, np.ndarray, csr_array, csc_array]] = []

    def add(
        self, out: np.ndarray, seen: np.ndarray, memberships: csr_array, fractions: csc_array
    ) -> None:
        """Add a fold, with what `parts` lists of it."""
        self.parts.append((out, seen, memberships, fractions))

    def means(self, V: np.ndarray) -> np.ndarray:
        """Return the left-out predictions of V: the means of its rows in the leaves."""
        found = np.empty(V.shape)
        for out, seen, M, fractions in self.parts:
            found[out] = M @ (fractions.T @ V[seen])
        return found

    def weights(self) -> np.ndarray:
        """Return the weights of all rows in the left-out prediction of each, (n, n)."""
        found = np.zeros((self.n, self.n))
        for out, seen, M, fractions in self.parts:
            found[np.ix_(out, seen)] = (M @ fractions.T).toarray()
        return found


def grow_trees(
    tree: BaseDecisionTree, A: np.ndarray, T: np.ndarray, mass: np.ndarray, seeds: np.ndarray
) -> list[BaseDecisionTree]:
    """Grow a tree from inputs A to targets T for each column of sample weights `mass`."""
    rounded, T = A.astype(np.float32), np.ascontiguousarray(T, dtype=float)
    tree._validate_params()
    parameters, grown, fewest = tree.get_params(), [], tree.min_samples_leaf
    # Checks take longer than small trees: of parameters, and of weights that are all one.
    with config_context(skip_parameter_validation=True, assume_finite=True):
        for seed, weights in zip(seeds, mass.T, strict=True):
            rows = np.flatnonzero(weights > 0)
            w = None if (weights[rows] == 1.0).all() else weights[rows]
            own = {"random_state": int(seed)} | _smallest_leaf(fewest, w)
            one = type(tree)(**parameters | own)
            grown.append(one.fit(rounded[rows], T[rows], w, check_input=False))
    return grown


def _smallest_leaf(fewest: Any, w: np.ndarray | None) -> dict[str, Any]:
    """Return the parameters of a tree whose leaves have `fewest` rows, counted by their weights w.

    `fewest` is the number or the fraction of rows, as in scikit-learn, which counts rows whatever
    their weights. A leaf has at most half of the rows.
    """
    if w is None or fewest == 1:
        return {}
    total = float(w.sum())
    least = float(np.ceil(fewest * total)) if isinstance(fewest, float) else float(fewest)
    return {"min_samples_leaf": 1, "min_weight_fraction_leaf": min(0.5, (1 - 1e-9) * least / total)}


def memberships(leaves: np.ndarray, values: np.ndarray | None, n_nodes: int) -> csr_array:
    """Return a sparse matrix (rows, nodes) that is nonzero at the leaves of each row.

    The entries are `values`, or ones if `values` is None.
    """
    n, trees = leaves.shape
    data = np.ones(n * trees) if values is None else np.ravel(values).astype(float)
    starts = np.arange(0, n * trees + 1, trees)
    return compressed_rows(data, leaves.ravel(), starts, (n, n_nodes))


@parameters
class LeafMeans(FeatureMap):
    """Feature map from an input to the mean of the values of its leaves, over all trees.

    Parameters
    ----------
    kernel
        A fitted kernel whose features the trees split on.
    scaling
        How its features are scaled.
    trees
        The trees.
    values
        One row for each node: the mean of the training outputs in it.
    """

    kernel: Kernel
    scaling: Scaling
    trees: TreeNodes
    values: Array

    def transform(self, A: Items) -> np.ndarray:
        """Return for each input the mean over trees of the values of its leaves."""
        leaves = self.trees.leaves(self.scaling(features_of(self.kernel, A)))
        found = memberships(leaves, None, self.trees.n_nodes) @ self.values
        return (found.toarray() if issparse(found) else found) / leaves.shape[1]

    def weights(self, X: Items, C: Array) -> np.ndarray:
        """Return the weights of the training outputs in predictions; `C` is ignored."""
        return self.transform(X)

    def without_training_data(self, map: FeatureMap) -> Any:
        """Return this map if it is also the `map` of the model, else None."""
        return self if map is self else None


def features_of(kernel: Kernel, A: Items) -> np.ndarray:
    """Return kernel.features(A) as a dense NumPy array, one row for each item."""
    features: Any = kernel.features
    return host(dense(features(A)))
