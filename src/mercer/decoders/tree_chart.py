from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import numpy as np

from .._arrays import Items, host, object_array
from .._parameters import parameters
from ..embedding import Embedding
from ..kernels import Kernel, Productions
from ..kernels._trees import flattened
from ..kernels.tree import TreeKernel
from ._grammar import Chart, Grammar, bracketed, listed
from .base import Decoder, Found, Ranked, unsuited

ROUNDS = 12
"""Charts that are filled for one point before its best tree is left unproved."""


def _climb(
    grammar: Grammar, g: np.ndarray, chart: Callable[[np.ndarray], Chart]
) -> tuple[dict[Any, float], float]:
    """Fill charts under one bound after the other, until a tree is the best of its own.

    Return the trees found with their scores, and the least upper bound of all.
    """
    found: dict[Any, float] = {}
    least, w, below = np.inf, grammar.weights, np.maximum(np.floor(g), 0.0)
    for _ in range(ROUNDS):
        gains = np.append(w * (2.0 * g - (2.0 * below + 1.0)), -grammar.pair_weight)
        best = chart(gains).best()
        if best is None:
            break
        value, tree = best
        counts, others = grammar.features_of(tree)
        score = float(w @ (2.0 * g * counts - counts**2)) - grammar.pair_weight * others
        bound = value + float(w @ (below * (below + 1.0)))
        least = min(least, bound)
        known = tree in found
        found[tree] = score
        if known or bound - score <= 1e-9 * max(1.0, abs(score)):
            break
        below = np.maximum(np.where(2.0 * g > 2.0 * counts + 1.0, counts, counts - 1.0), 0.0)
    return found, least


@parameters
class TreeChart(Decoder):
    """The best tree over a grammar that is read off the training trees; trees are made anew.

    Maximises 2⟨g, Φ(y)⟩ - l(y, y) over all trees whose productions occur in training trees, by a
    chart over the symbols that the leaves spell, or over sizes where they are not given.

    Parameters
    ----------
    leaves
        "input" if the leaves of a tree spell its input, as those of a parse tree do; None if
        they are free.
    symbols
        A function from an input to the list of its symbols. None: the words of a string that has
        blanks, else its characters; a list or tuple as it is.
    max_size
        The largest number of nodes of a tree with free leaves; None for that of the largest
        training tree.

    Notes
    -----
    Let c_f be the counts of the features in a tree. With the output kernel `Productions` the score
    is Σ_f w_f (2 g_f c_f - c_f²), and for all whole numbers c and m, c² ≥ (2m + 1) c - m (m + 1),
    with equality for c = m and c = m + 1. Put in for c_f², this leaves a sum over the productions
    of a tree that a chart maximises: an upper bound, reached by trees whose counts are m_f or
    m_f + 1. The search begins with m_f = ⌊g_f⌋ and goes on with the counts of the tree that it
    found; a tree that is the best of its own bound is the best of all.

    For other tree kernels the trees of that search are compared by the kernel itself; then the best
    need not be among them.

    A production stands only where one did in a training tree: below the same production, at the
    same place. Inputs that cannot be derived so are derived without that rule, then with further
    productions, each child of which stands at its place in some production of the same label.
    Inputs that cannot be derived at all get the best training tree.

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

    leaves: str | None = "input"
    symbols: Callable[[Any], list] | None = None
    max_size: int | None = None

    def fit(self, kernel: Kernel, y: Items) -> TreeChart:
        """Keep the training trees; the grammar is read when it is first used."""
        plain = kernel.multiple.kernel
        inner = getattr(plain, "kernel", plain)  # of a normalised one
        if not isinstance(inner, TreeKernel):
            raise unsuited(self, kernel, "on trees")
        if self.leaves not in ("input", None):
            raise ValueError(f'leaves must be "input" or None, got {self.leaves!r}.')
        self.kernel_: Any = kernel
        self.trees_ = object_array(list(y))
        return self

    def __getstate__(self) -> dict:
        return {k: v for k, v in super().__getstate__().items() if k != "_read"}

    @property
    def _exact(self) -> bool:
        """Whether the features of the kernel are those of the grammar."""
        return isinstance(self.kernel_.multiple.kernel, Productions)

    def _grammar(self, trees: Items, mixed: bool) -> Grammar:
        """The grammar of some trees, read once."""
        held: tuple[Items, dict[bool, Grammar]] | None = self.__dict__.get("_read")
        if held is None or held[0] is not trees:
            held = self.__dict__["_read"] = (trees, {})
        if mixed not in held[1]:
            kernel = self.kernel_.multiple.kernel
            pairs = (kernel.decay if kernel.height > 1 else 0.0) if self._exact else 0.5
            held[1][mixed] = Grammar(trees, pairs, mixed)
        return held[1][mixed]

    def decode(self, points: Embedding) -> np.ndarray:
        """The best tree of each point."""
        return self.certify(points).outputs

    def decode_top(self, points: Embedding, k: int) -> list[Ranked]:
        """The best trees that the search came by, at most `k`."""
        return [rows[:k] for rows, _ in self._ranked(points)]

    def certify(self, points: Embedding) -> Found:
        """The best tree of each point, its score, and a bound on what it misses.

        The bound is NaN where the kernel has other features than productions.
        """
        ranked = self._ranked(points)
        return Found(
            object_array([rows[0][0] for rows, _ in ranked]),
            np.array([rows[0][1] for rows, _ in ranked]),
            np.array([gap for _, gap in ranked]),
        )

    def _ranked(self, points: Embedding) -> list[tuple[Ranked, float]]:
        weights, trees = points.frame.expansion(points.coordinates)
        weights = host(weights)
        size = self.max_size or max(len(tree.label) for tree in flattened(trees, "y"))
        ranked = []
        for t in range(len(points)):
            found, bound = self._searched(weights[t], trees, self._spelled(points, t), size)
            ranked.append(self._settled(found, bound, points, t))
        return ranked

    def _spelled(self, points: Embedding, t: int) -> list[Hashable] | None:
        """The symbols that the leaves of a point's tree must spell."""
        if self.leaves is None:
            return None
        if points.inputs is None:
            raise ValueError('leaves="input" needs points that know their inputs.')
        x = points.inputs[t]
        if self.symbols is not None:
            return list(self.symbols(x))
        if isinstance(x, str):
            return list(x.split() if " " in x.strip() else x.strip())
        return list(x)

    def _searched(
        self, weights: np.ndarray, trees: Items, symbols: list[Hashable] | None, size: int
    ) -> tuple[dict[Any, float], float]:
        """Search trees whose productions stand where such did; else wherever they may; else all."""
        found: dict[Any, float] = {}
        for mixed, seen in ((False, True), (False, False), (True, False)):
            grammar = self._grammar(trees, mixed)
            chart = partial(Chart, grammar, symbols, size, seen)
            found, bound = _climb(grammar, weights @ grammar.counts, chart)
            if found:
                break
        return found, bound

    def _settled(
        self, found: dict[Any, float], bound: float, points: Embedding, t: int
    ) -> tuple[Ranked, float]:
        """Trees as they were given, best first, and the gap of the best."""
        scale = self.kernel_.multiple.scale
        made = [(self._given(tree), scale * score) for tree, score in found.items()]
        if not made or not self._exact:
            outputs = object_array([y for y, _ in made] or list(self.trees_))
            scores = host(points[t : t + 1].scores(outputs))[0]
            made = [(y, float(s)) for y, s in zip(outputs, scores, strict=True)]
        made.sort(key=lambda row: -row[1])
        if not found or not self._exact:
            return made, np.nan
        gap = scale * bound - made[0][1]
        return made, 0.0 if gap <= 1e-9 * max(1.0, abs(made[0][1])) else gap

    def _given(self, tree: Any) -> Any:
        """A tree of the kind that was learnt from."""
        like = self.trees_[0]
        if isinstance(like, str):
            return bracketed(tree)
        return listed(tree) if isinstance(like, list) else tree
