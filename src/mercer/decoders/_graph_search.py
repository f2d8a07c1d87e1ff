"""Graphs for the search decoder: the compiled expansion of one graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.arrays import Items
from ..kernels._bags import stable_hash
from ..kernels._graphs import UNLABELLED
from ..kernels.graph_counts import GraphCounts, KeyTable
from ..spaces.graph_moves import CodedGraph, GraphMoves
from ._explorer import Explorer, Goal, Scored

PATTERN_FREE = np.zeros((0, 1), dtype=np.int64)
"""The patterns of graphs without such a rule."""


class GraphExplorer(Explorer):
    """Scores of graphs and of their neighbours, compiled for the features of `GraphCounts`.

    Parameters
    ----------
    kernel
        The fitted kernel.
    moves
        The moves of its training graphs.
    """

    compiled = True

    def __init__(self, kernel: GraphCounts, moves: GraphMoves):
        from ..kernels._graph_count_loops import CYCLES, PATHS, WORK_ROWS
        from ._graph_search_loops import FEATURE_ROOM

        self.kernel, self.moves = kernel, moves
        nodes, marks = kernel.node_label is not None, kernel.edge_label is not None
        labelled = nodes and bool(moves.node_labels) and moves.node_labels[0] is not None
        node_words = [stable_hash(v) if labelled else UNLABELLED for v in moves.node_labels]
        edge_words = [stable_hash(e) if marks else UNLABELLED for e in moves.edge_labels]
        words = (
            np.array(node_words, dtype=np.uint64),
            np.array([np.uint64(0), *edge_words], dtype=np.uint64),
        )
        table, families = KeyTable(kernel.keys_), kernel.families()
        self.tables = words, families, (table.slots, table.numbers)
        n = self.size = moves.largest + 1
        patterns = PATTERN_FREE if moves.patterns is None else moves.patterns
        integers = np.zeros((4, max(n, len(edge_words) + 2)), np.int64)
        self.rule = moves.connected, patterns, integers[0, : len(edge_words) + 1], *integers[1:3]
        self.limits = len(node_words), len(edge_words), moves.largest
        deepest = max(families[PATHS], families[CYCLES]) + 2
        self.rows = (
            np.zeros(n + 1, np.int64), np.zeros(n * n, np.int64), np.zeros(n * n, np.uint64),
            np.zeros(n, np.uint64), np.zeros((WORK_ROWS, n), np.uint64),
            np.zeros((3, deepest), np.int64),
        )  # fmt: skip
        self.counts = np.zeros(len(kernel.keys_))
        self._make_room(FEATURE_ROOM)

    def _make_room(self, size: int) -> None:
        """Allocate arrays for `size` features of a graph."""
        n = self.size
        words = np.zeros((3, size), np.uint64)
        self.edits = np.zeros((4 * size, 7), np.int64)
        integers = np.zeros((3, size), np.int64)
        self.room = words[0], words[1], integers[0], integers[1]
        self.parent = (
            integers[2], words[2], np.zeros((n, n), np.int64), np.zeros((2, n, n), np.int64),
            np.zeros((n, n), np.int64), np.zeros(n, np.int64),
            np.zeros(4 * size + 16 * n * n, np.int64), np.zeros(n, np.int64),
            np.zeros((n, n), np.int64),
        )  # fmt: skip

    # -- items --------------------------------------------------------------------------------

    def coded(self, items: Items) -> list[Any]:
        """Return training graphs as numbers."""
        return [self.moves.code(item) for item in items]

    def decoded(self, item: CodedGraph) -> Any:
        """Return a graph of the user's kind."""
        return self.moves.decode(item)

    def smallest(self) -> CodedGraph:
        """Return one node of the most frequent label."""
        return self.moves.smallest_code()

    def score(self, items: list[CodedGraph], goal: Goal) -> list[Scored]:
        """Return graphs with their keys and scores."""
        graphs = [self.moves.decode(item) for item in items]
        scores = goal.scores(self.kernel.features, graphs)
        keys = map(self._key, items)
        return [Scored(*row) for row in zip(keys, items, scores.tolist(), strict=True)]

    def _key(self, item: CodedGraph) -> int:
        """Return a key of a graph, equal for isomorphic ones."""
        from ..spaces._canonical_loops import canonical_hash
        from ._graph_search_loops import rows_of_graph

        first, target, mark, label = self.rows[:4]
        n = len(item.nodes)
        m = rows_of_graph(item.nodes, item.edges, n, self.tables[0], first, target, mark, label)
        return int(canonical_hash(first[: n + 1], target[:m], mark[:m], label[:n]))

    def expand(self, item: CodedGraph, goal: Goal, least: float, k: int, seen: set) -> list[Scored]:
        """Return the best `k` neighbours that are not in `seen` and score more than `least`."""
        from ._graph_search_loops import expand

        size, offset = self.size, goal.offset
        while True:
            known = np.fromiter(seen, np.uint64, len(seen))
            best = (
                known, len(known), np.zeros((k, size), np.int64),
                np.zeros((k, size, size), np.int64), np.zeros(k, np.int64),
                np.full(k, least - offset), np.zeros(k, np.uint64), np.zeros(2, np.int64),
            )  # fmt: skip
            aim = goal.g, goal.w, goal.price
            done = expand(
                item.nodes, item.edges, self.edits, self.limits, self.tables, aim, self.counts,
                self.rule, self.rows, self.parent, self.room, best,
            )  # fmt: skip
            if done:
                break
            self._make_room(2 * len(self.room[0]))
        self.scored += int(best[7][0])
        copied = (
            (int(key), CodedGraph(own[:m].copy(), a[:m, :m].copy()), float(score) + offset)
            for own, a, m, score, key in zip(*best[2:7], strict=True)
            if m
        )
        return [Scored(*one) for one in copied]
