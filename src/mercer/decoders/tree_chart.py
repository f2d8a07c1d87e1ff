from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import cached_property, partial
from itertools import repeat
from typing import Any

import numpy as np

from .._base.arrays import Items, host, object_array
from .._base.parameters import parameters
from ..embedding import Embedding
from ..kernels import Kernel, Normalized, Productions
from ..kernels._joint_items import items_of_first_kernel
from ..kernels._trees import flat_trees
from ..kernels.tree import TreeKernel
from ._chart import Chart
from ._grammar import Grammar, Rules, as_brackets, as_lists
from ._tree_search import TreeSearch
from .base import Decoder, Found, Ranked, unsuited_kernel
from .candidates import Candidates

LONGEST_CHART = 100
"""The largest number of symbols (or nodes) for which further trees of a chart are listed."""


@parameters
class TreeChart(Decoder):
    r"""A decoder of the best tree that the grammar of the training trees derives.

    Maximises :math:`2 \langle g, \Phi(y) \rangle - l(y, y)` over all trees whose productions occur
    in training trees, by a chart over the symbols that the leaves spell, or over sizes where they
    are not given.

    Parameters
    ----------
    leaves : "input" or None, default="input"
        "input" if the leaves of a tree spell its input, as those of a parse tree do; None if
        they are free.
    symbols : callable or None, default=None
        A function from an input to the list of its symbols. None: the words of a string that has
        blanks, else its characters; the items of a list or tuple.
    max_size : int or None, default=None
        The largest number of nodes of a tree with free leaves; None for that of the largest
        training tree.

    Notes
    -----
    Let :math:`c_f` be the counts of the features in a tree. With the output kernel
    `Productions` the score is :math:`\sum_f w_f (2 g_f c_f - c_f^2)`, and for all integers
    :math:`c` and :math:`m`, :math:`c^2 \ge (2m + 1) c - m (m + 1)`, with equality for :math:`c = m`
    and :math:`c = m + 1`. Inserted for :math:`c_f^2`, this leaves a sum over the productions of a
    tree that a chart maximises: an upper bound, reached by trees whose counts are m_f or m_f + 1.
    The search begins with m_f = ⌊g_f⌋ and goes on with the counts of the tree that it found; a tree
    that is the best of its own bound is the best of all.

    Where this proves no tree to be the best, the trees of the chart with the least bound are
    scored by falling bound, until no further tree can be better, at most 2,000 of them.
    `certify` says how much better another tree can be.

    For other tree kernels the trees of the first search are compared by the kernel itself; then
    the best need not be among them.

    A production is used only where it occurs in a training tree: below the same production, at the
    same position. If an input has no such tree, this restriction is dropped. If it still has no
    tree, the output is the best training tree. A chain of single children is at most as long as
    the longest one in a training tree. With free leaves the training trees are scored as well. For
    left-out points, training trees that were left out with the point are ignored.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.decoders import TreeChart
    >>> from mercer.kernels import Productions, Spectrum
    >>> X = ["a", "b", "a+b", "b+a", "a+a+b"]
    >>> y = ["(E a)", "(E b)", "(E (E a) + (E b))", "(E (E b) + (E a))",
    ...      "(E (E (E a) + (E a)) + (E b))"]
    >>> model = KernelDependency(Spectrum(2), Productions(), alpha=0.1, decoder=TreeChart())
    >>> model.fit(X, y).predict(["b+b+a"])[0]
    '(E (E (E b) + (E b)) + (E a))'
    """

    has_ranked_lists = True

    leaves: str | None = "input"
    symbols: Callable[[Any], list] | None = None
    max_size: int | None = None

    def fit(self, kernel: Kernel, y: Items) -> TreeChart:
        """Store the training trees; their grammar is computed at first use."""
        plain = kernel.multiple.kernel
        inner = plain.inner if isinstance(plain, Normalized) else plain
        if not isinstance(inner, TreeKernel):
            raise unsuited_kernel(self, kernel, "on trees")
        if self.leaves not in ("input", None):
            raise ValueError(f'leaves must be "input" or None, got {self.leaves!r}.')
        self.kernel_: Any = kernel
        self.pool_ = Candidates().fit(kernel, y)
        return self

    def __getstate__(self) -> dict:
        return {k: v for k, v in super().__getstate__().items() if k != "_grammar"}

    @property
    def _exact(self) -> bool:
        """Whether the kernel has the features of the grammar, so that scores are exact."""
        return isinstance(self.kernel_.multiple.kernel, Productions)

    @cached_property
    def _grammar(self) -> Grammar:
        """The grammar of the distinct training trees."""
        kernel = self.kernel_.multiple.kernel
        pairs = (kernel.decay if kernel.height > 1 else 0.0) if self._exact else 0.5
        return Grammar(self.pool_.outputs_, pairs)

    def decode(self, points: Embedding) -> np.ndarray:
        """Return the tree with the highest score at each predicted point."""
        return self.certify(points).outputs

    def decode_top(self, points: Embedding, k: int) -> list[Ranked]:
        """Return the trees with the highest scores that the search found, at most `k`."""
        return [rows[:k] for rows, _ in self._rank_trees(points, k)]

    def certify(self, points: Embedding) -> Found:
        """Return the best tree of each predicted point, its score, and the optimality gap.

        The gap is an upper bound of how much better another tree can be. It is NaN unless the
        output kernel is `Productions`.

        Parameters
        ----------
        points : Embedding
            The predicted points of the output feature space.
        """
        ranked = self._rank_trees(points, 1)
        return Found(
            object_array([rows[0][0] for rows, _ in ranked]),
            np.array([rows[0][1] for rows, _ in ranked]),
            np.array([gap for _, gap in ranked]),
        )

    def _rank_trees(self, points: Embedding, k: int) -> list[tuple[Ranked, float]]:
        """Return for each point the trees found, best first, and the optimality gap of the first.

        The trees are pairs (tree, score).
        """
        weights, items = points.frame.expansion(points.coordinates)
        G = host(weights) @ self._grammar.count_in_flat_trees(
            flat_trees(items_of_first_kernel(items), "y")
        )
        competing = self._best_training_trees(points, k)
        ranked = []
        for t, rules in enumerate(self._rules(points)):
            incumbent = competing[t][0][1] if self.leaves is None else -np.inf
            search = self._run_search(G[t], rules, self._required_leaves(points, t), incumbent)
            trees = self._scored_trees(search.found, points, t)
            if self.leaves is None or not trees:
                trees = self._merge_ranked(trees, competing[t])
            trees.sort(key=lambda pair: -pair[1])
            ranked.append((trees, self._gap(search, trees[0][1])))
        return ranked

    def _best_training_trees(self, points: Embedding, k: int) -> list[Ranked]:
        """Return the `k` best training trees of each predicted point, up to `max_size` nodes."""
        if self.max_size is None or self.leaves == "input":
            return self.pool_.decode_top(points, k)
        sizes = dict(zip(self._keys(self.pool_.outputs_), self._grammar.sizes, strict=True))
        every = self.pool_.decode_top(points, len(sizes))
        return [
            [pair for pair in row if sizes[self._keys([pair[0]])[0]] <= self.max_size][:k]
            or [(row[0][0], -np.inf)]
            for row in every
        ]

    def _keys(self, trees: Items) -> list[Hashable]:
        """Return a hashable key of each tree; equal trees have equal keys."""
        return self.kernel_.space.keys(trees)

    def _merge_ranked(self, first: Ranked, second: Ranked) -> Ranked:
        """Return the pairs of `first`, then those of `second` with trees that `first` lacks."""
        known = set(self._keys([tree for tree, _ in first]))
        return first + [pair for pair in second if self._keys([pair[0]])[0] not in known]

    def _rules(self, points: Embedding) -> Iterator[Rules]:
        """Yield for each predicted point the rules of training trees not left out with it."""
        owners = self.pool_._owners(points)
        if owners is None or points.left_out is None:
            yield from repeat(self._grammar.rules(np.arange(len(self._grammar.sizes))), len(points))
            return
        for group in points.left_out:
            yield self._grammar.rules(np.flatnonzero(owners != group))

    def _required_leaves(self, points: Embedding, t: int) -> list[Hashable] | None:
        """Return the symbols that the leaves of the tree of point t must spell; None if free."""
        if self.leaves is None:
            return None
        if points.inputs is None:
            raise ValueError(
                'leaves="input" needs points that know their inputs: predict from inputs, or use '
                "leaves=None."
            )
        x = points.inputs[t]
        if self.symbols is not None:
            return list(self.symbols(x))
        if isinstance(x, str):
            return list(x.split() if " " in x.strip() else x.strip())
        return list(x)

    def _run_search(
        self, g: np.ndarray, rules: Rules, symbols: list[Hashable] | None, incumbent: float
    ) -> TreeSearch:
        """Return the completed search for the best trees at one point g.

        Productions are first allowed only below those that they were seen below. If no tree can be
        derived so, all productions with the right label are allowed. `symbols` are those that the
        leaves must spell, and `incumbent` is the score of the best training tree.
        """
        size = self.max_size or rules.largest
        for only_seen in (True, False):
            search = TreeSearch(self._grammar, g, partial(Chart, rules, symbols, size, only_seen))
            last = search.climb()
            if last is None:
                continue
            best = max(search.best, incumbent / self.kernel_.multiple.scale)
            small = (size if symbols is None else len(symbols)) <= LONGEST_CHART
            if self._exact and small and not search.proved(best):
                search.score_listed_trees(*last, best)
            break
        return search

    def _scored_trees(self, found: dict[Any, float], points: Embedding, t: int) -> Ranked:
        """Return (tree, score) pairs of the trees that the search for point t found.

        The trees are written as the training trees are.
        """
        outputs = [self._as_training_form(tree) for tree in found]
        if self._exact or not outputs:
            scale = self.kernel_.multiple.scale
            return [(y, scale * s) for y, s in zip(outputs, found.values(), strict=True)]
        scores = host(points[t : t + 1].scores(object_array(outputs)))[0]
        return [(y, float(s)) for y, s in zip(outputs, scores, strict=True)]

    def _gap(self, search: TreeSearch, best: float) -> float:
        """Return an upper bound of the highest score minus the score `best`; NaN if unknown."""
        if not search.found or not self._exact:
            return np.nan
        scale = self.kernel_.multiple.scale
        return 0.0 if search.proved(best / scale) else scale * search.bound - best

    def _as_training_form(self, tree: Any) -> Any:
        """Return a nested tree as the training trees are written: a string, lists or tuples."""
        like = self.pool_.outputs_[0]
        if isinstance(like, str):
            return as_brackets(tree)
        return as_lists(tree) if isinstance(like, list) else tree
