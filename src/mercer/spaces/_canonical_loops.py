"""Compiled search for a canonical form of a labelled graph, by individualisation and refinement.

Colours of nodes are hashes that do not depend on the numbers of the nodes. A refinement replaces
the colour of a node by a hash of it and of the colours around it. Where nodes of one colour remain,
one of them gets its own colour, and the search tries each. A leaf of this search has a different
colour for each node, hence an order of the nodes. The form is the smallest hash of the ordered
graph over all leaves. Two leaves with equal hashes are an automorphism; branches that
automorphisms map to earlier ones are skipped.
"""

import numpy as np

from .._base.hash_loops import Word, combine, mix
from .._base.loops import compiled

LEAVES = 4096
"""After so many leaves the search is given up: only graphs of extreme symmetry have more."""
GENERATORS = 64
"""The largest number of automorphisms that are stored."""


@compiled
def sort_nodes(colour, order):
    """Write the nodes in the order of their colours into `order`; return the number of colours."""
    n = len(colour)
    for i in range(n):
        order[i] = i
    gap = n // 2
    while gap > 0:  # Shell's sort; numpy's takes seconds to compile
        for i in range(gap, n):
            v, j = order[i], i
            while j >= gap and colour[order[j - gap]] > colour[v]:
                order[j] = order[j - gap]
                j -= gap
            order[j] = v
        gap //= 2
    classes = 1
    for i in range(1, n):
        if colour[order[i]] != colour[order[i - 1]]:
            classes += 1
    return classes


@compiled
def refine_colours(colour, fresh, order, first, target, mark):
    """Replace colours by hashes of themselves and of those around, until no class splits."""
    n = len(colour)
    classes = sort_nodes(colour, order)
    while classes < n:
        for v in range(n):
            total = Word(0)
            for p in range(first[v], first[v + 1]):
                total += combine(colour[target[p]], mark[p])
            fresh[v] = combine(colour[v], total)
        found = sort_nodes(fresh, order)
        for v in range(n):
            colour[v] = fresh[v]
        if found == classes:
            return
        classes = found


@compiled
def smallest_cell(colour, order, cell):
    """Write the nodes of the smallest class of several nodes into `cell`; return its size.

    `order` is the order of the nodes by colour. The size is 1 if all colours differ.
    """
    n, best, best_start, start = len(colour), 0, 0, 0
    while start < n:
        stop = start + 1
        while stop < n and colour[order[stop]] == colour[order[start]]:
            stop += 1
        size = stop - start
        if size > 1 and (best == 0 or size < best):
            best, best_start = size, start
        start = stop
    for i in range(best):
        cell[i] = order[best_start + i]
    return max(best, 1)


@compiled
def ordered_graph_hash(order, place, first, target, mark, label):
    """Return a hash of the labels and edges of a graph whose nodes have the given order."""
    n = len(order)
    for i in range(n):
        place[order[i]] = i
    total = Word(0)
    for v in range(n):
        total += combine(mix(Word(place[v]) + Word(1)), label[v])
        for p in range(first[v], first[v + 1]):
            ends = combine(Word(place[v]) + Word(1), Word(place[target[p]]) + Word(1))
            total += combine(ends, mark[p])
    return mix(total)


@compiled
def root_of(parent, v):
    """Return the root of node v in a forest."""
    while parent[v] != v:
        v = parent[v]
    return v


@compiled
def is_known_image(v, tried, number, path, depth, generators, count, parent):
    """Return whether an automorphism that fixes the path maps a node that was tried to v."""
    n = len(parent)
    for i in range(n):
        parent[i] = i
    for g in range(count):
        fixes = True
        for d in range(depth):
            if generators[g, path[d]] != path[d]:
                fixes = False
                break
        if fixes:
            for i in range(n):
                parent[root_of(parent, generators[g, i])] = root_of(parent, i)
    found = False
    for i in range(number):
        found = found or root_of(parent, tried[i]) == root_of(parent, v)
    return found


@compiled
def divergence(path, other, depth):
    """Return the first level at which two paths differ, at most depth - 1."""
    for d in range(depth):
        if path[d] != other[d]:
            return d
    return max(depth - 1, 0)


@compiled
def canonical_hash(first, target, mark, label):
    """Return a hash of a labelled graph that is equal exactly for isomorphic graphs.

    Node v has the neighbours target[first[v]:first[v + 1]], by edges with the words `mark`, and the
    word label[v]. If the search is given up, the hash is that of the refined colours alone.
    """
    n = len(label)
    if n == 0:
        return Word(0)
    colours, fresh = np.empty((n + 1, n), np.uint64), np.empty(n, np.uint64)
    order = np.empty(n, np.int64)
    colours[0] = label
    refine_colours(colours[0], fresh, order, first, target, mark)
    cells, sizes = np.empty((n + 1, n), np.int64), np.zeros(n + 1, np.int64)
    following, path = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    orders, paths = np.empty((2, n), np.int64), np.zeros((2, n + 1), np.int64)
    hashes, leaves = np.zeros(2, np.uint64), 0
    generators, count = np.empty((GENERATORS, n), np.int64), 0
    parent, place = np.empty(n, np.int64), np.empty(n, np.int64)
    depth = 0
    while depth >= 0:
        if sizes[depth] == 0:
            sort_nodes(colours[depth], order)
            sizes[depth] = smallest_cell(colours[depth], order, cells[depth])
            following[depth] = 0
            if sizes[depth] == 1:  # a leaf
                found = ordered_graph_hash(order, place, first, target, mark, label)
                leaves += 1
                sizes[depth] = 0
                back = depth - 1
                for k in range(2 if leaves > 1 else 0):  # the first leaf, and the best one
                    if found == hashes[k]:
                        if count < GENERATORS:
                            for i in range(n):
                                generators[count, orders[k, i]] = order[i]
                            count += 1
                        back = divergence(path, paths[k], depth)
                        break
                if leaves == 1 or found < hashes[1]:
                    for k in range(2):
                        if k == 1 or leaves == 1:
                            hashes[k] = found
                            orders[k] = order
                            paths[k] = path
                for d in range(back + 1, depth):
                    sizes[d] = 0
                depth = back
                if leaves >= LEAVES:
                    total = Word(0)
                    for v in range(n):
                        total += mix(colours[0, v])
                    return mix(total)
                continue
        moved = False
        while following[depth] < sizes[depth] and not moved:
            at = following[depth]
            following[depth] = at + 1
            v = cells[depth, at]
            if at > 0 and is_known_image(
                v, cells[depth], at, path, depth, generators, count, parent
            ):
                continue
            path[depth] = v
            colours[depth + 1] = colours[depth]
            colours[depth + 1, v] = combine(colours[depth, v], Word(77))
            refine_colours(colours[depth + 1], fresh, order, first, target, mark)
            sizes[depth + 1] = 0
            moved = True
        if moved:
            depth += 1
        else:
            sizes[depth] = 0
            depth -= 1
    return hashes[1]
