"""Kernels on ordered labelled trees: bracketed strings or nested tuples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._base.arrays import Array, Items
from ..spaces import Trees
from ._bags import Bags, inner_products, sqnorms
from ._trees import FlatTree, flat_trees
from .decaying import Decaying


class TreeKernel(Decaying):
    """Base class of kernels on trees, with a weight `decay` of larger fragments."""

    space = Trees()

    def check(self, A: Items, name: str = "X") -> np.ndarray:
        """Check trees; return them as `FlatTree` objects."""
        self._checked_decay()
        return flat_trees(A, name)

    def _bags(self, A: Items) -> Bags:
        """Return the feature counts of each tree of a batch."""
        raise NotImplementedError

    def _gram(self, A: Items, B: Items) -> Array:
        """Return the inner products of the feature counts of all pairs of trees."""
        left = self._bags(A)
        return inner_products(left, left if B is A else self._bags(B))

    def _diag(self, A: Items) -> Array:
        """Return the squared norm of the feature counts of each tree."""
        return sqnorms(self._bags(A))


class Subtree(TreeKernel):
    r"""Number of pairs of equal complete subtrees of two trees, weighted by their size.

    :math:`k(a, b) = \sum_{u \in a, v \in b} [u = v]\, \text{decay}^{\text{size}(u)}` over subtrees.
    A subtree is a node with all that is below it, down to the leaves; `size` is its number of
    nodes. Trees are bracketed strings, "(S (N dog) (V barks))", or nested tuples, ("S", ("N",
    "dog"), ("V", "barks")); the order of children matters.

    Parameters
    ----------
    decay : float, default=1.0
        The factor for each node of a subtree, in (0, 1].

    Notes
    -----
    Each node has one subtree, so that features take linear time, and a Gram matrix is a sparse
    product.

    References
    ----------
    Vishwanathan, Smola: Fast kernels for string and tree matching, NIPS 2002.

    Examples
    --------
    >>> from mercer.kernels import Subtree
    >>> Subtree()(["(S (N dog) (V barks))", "(S (N dog) (V sleeps))"])
    array([[5., 2.],
           [2., 5.]])
    """

    def __init__(self, decay: float = 1.0):
        self.decay = decay

    def _bags(self, A: Items) -> Bags:
        """Return the counts of complete subtrees, weighted by decay^(size / 2)."""
        parts = (tree.subtrees() for tree in A)
        return Bags.of((hashes, self._checked_decay() ** (size / 2.0)) for hashes, size in parts)


class Productions(TreeKernel):
    r"""Weighted number of shared productions (a label and those of its children) and their pairs.

    :math:`k(a, b) = \sum_p c_p(a) c_p(b) + \text{decay} \sum_q c_q(a) c_q(b)`, with :math:`c_p` the
    number of nodes of a production :math:`p` (a label and the labels of its children in order) and
    :math:`c_q` that of pairs :math:`q`: a production, a position on its right side, and the
    production there. These are the fragments
    of `SubsetTree` that a chart can score, so that `mercer.decoders.TreeChart` finds the best tree.

    Parameters
    ----------
    decay : float, default=0.5
        The weight of a pair relative to a production, in (0, 1].
    height : int, default=2
        2 for productions and pairs, 1 for productions only.

    Examples
    --------
    >>> from mercer.kernels import Productions
    >>> Productions()(["(S (N dog) (V barks))", "(S (N dog) (V sleeps))"])
    array([[4. , 2.5],
           [2.5, 4. ]])
    """

    def __init__(self, decay: float = 0.5, height: int = 2):
        self.decay = decay
        self.height = height

    def check(self, A: Items, name: str = "X") -> np.ndarray:
        """Check trees; return them as `FlatTree` objects."""
        if self.height not in (1, 2):
            raise ValueError(f"height must be 1 or 2, got {self.height!r}.")
        return super().check(A, name)

    def _bags(self, A: Items) -> Bags:
        """Return the weighted productions and (parent, child) production pairs of each tree."""
        return Bags.of(self._bag(tree) for tree in A)

    def _bag(self, tree: FlatTree) -> tuple[np.ndarray, np.ndarray]:
        """Return hashes and weights of the productions, and of their pairs, of one tree."""
        productions = tree.productions()[np.diff(tree.pointer) > 0]
        if self.height == 1:
            return productions, np.ones(len(productions))
        pairs = tree.production_pairs()
        weights = np.repeat([1.0, self._checked_decay() ** 0.5], [len(productions), len(pairs)])
        return np.concatenate([productions, pairs]), weights


class SubsetTree(TreeKernel):
    r"""Weighted number of shared tree fragments with whole productions (Collins and Duffy).

    :math:`k(a, b) = \sum_{u \in a, v \in b} C(u, v)`, where :math:`C(u, v) = 0` unless :math:`u`
    and :math:`v` are the same production (the same label, and children of the same labels in the
    same order, leaves at the same positions), and then :math:`C(u, v) = \text{decay} \prod_j (1 +
    C(u_j, v_j))` over the children; a leaf has :math:`C = 0`.

    Parameters
    ----------
    decay : float, default=0.5
        The factor for each production of a fragment, in (0, 1].

    Notes
    -----
    The compiled recursion from the leaves up takes time proportional to the product of the sizes of
    two trees. Values grow fast with the size, so that ``Normalized`` and a decay below 1 are usual.
    The kernel of a tree of a single node, which has no production, is 0.

    References
    ----------
    Collins, Duffy: Convolution kernels for natural language, NIPS 2001.

    Examples
    --------
    >>> from mercer.kernels import SubsetTree
    >>> SubsetTree(decay=1.0)(["(S (N dog) (V barks))", "(S (N dog) (V sleeps))"])
    array([[6., 3.],
           [3., 6.]])
    """

    def __init__(self, decay: float = 0.5):
        self.decay = decay

    def _gram(self, A: Items, B: Items) -> Array:
        """Return the weighted number of shared fragments for all pairs."""
        from ._fragments import subset_tree_gram

        left = InnerNodes.of(A)
        right = left if B is A else InnerNodes.of(B)
        return subset_tree_gram(left, right, self._checked_decay(), A is B)

    def _diag(self, A: Items) -> Array:
        """Return k(a, a), the weighted number of pairs of equal fragments of each tree a."""
        from ._fragments import subset_tree_diag

        return subset_tree_diag(InnerNodes.of(A), self._checked_decay())


class InnerNodes(NamedTuple):
    """The inner nodes of a batch of trees, as arrays for the compiled loops.

    Leaves do not contribute to the recursion of `SubsetTree`.

    Attributes
    ----------
    start
        Tree t has the inner nodes start[t] to start[t + 1] - 1, in postorder.
    production
        A hash of the production of each node.
    pointer, child
        The inner children of node u are child[pointer[u]:pointer[u + 1]].
    """

    start: np.ndarray
    production: np.ndarray
    pointer: np.ndarray
    child: np.ndarray

    @classmethod
    def of(cls, trees: Items) -> InnerNodes:
        """Return the inner nodes of a batch of `FlatTree` objects."""
        production: list[np.ndarray] = []
        degrees: list[np.ndarray] = [np.zeros(1, dtype=np.int64)]
        child: list[np.ndarray] = []
        start = [0]
        for tree in trees:
            hashes = tree.productions()
            inside = np.diff(tree.pointer) > 0
            number = np.cumsum(inside) - 1 + start[-1]
            is_inner_child = inside[tree.child]
            degree = np.add.reduceat(np.append(is_inner_child, 0), tree.pointer[:-1]) * inside
            production.append(hashes[inside])
            degrees.append(degree[inside])
            child.append(number[tree.child[is_inner_child]])
            start.append(start[-1] + int(inside.sum()))
        pointer = np.cumsum(np.concatenate(degrees))
        return cls(np.array(start), np.concatenate(production), pointer, np.concatenate(child))
