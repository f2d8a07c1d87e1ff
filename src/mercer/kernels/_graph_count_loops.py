"""Compiled loops that list the features of labelled graphs, which `GraphCounts` counts.

A graph of n nodes is given by rows: node v has the word label[v] and the neighbours
target[first[v]:first[v + 1]], by edges with the words `mark`. A feature is a word (its key), with a
kind, and a mask of the nodes whose labels or edges it depends on, node v at bit v modulo 64. After
an edit only features change whose masks share a bit with the touched nodes: the search of decoders
lists these alone.
"""

import numpy as np

from .._base.hash_loops import Word, combine, mix
from .._base.loops import compiled, inlined

NODES, EDGES, LABEL, DEGREE, VALENCE, LABELLED, BARE = range(7)
BOND, BOND_DEGREES, BOND_AROUND, PATH = range(7, 11)
CYCLE, CYCLE_LABELS, CYCLE_BONDS, CYCLE_DEGREES, CYCLE_NODE, CYCLE_AROUND = range(11, 17)
DISTANCE, DISTANCE_DEGREES = 17, 18
"""The kinds of features; keys are mixed with kind + 32 times a length or radius."""
SIZES, NODE_LABELS, DEGREES, RADIUS, BONDS, PATHS, CYCLES, DISTANCES = range(8)
"""The entries of the array of families: 0 or 1, a radius, or a largest number of nodes."""
BASE = Word(0x9E3779B97F4A7C15)
"""The base of the polynomials that are the hashes of paths."""
WORK_ROWS = 10
"""The rows of the array of words, one column a node, that `local_features` works in."""


@inlined
def bit(v):
    """Return the word with the bit of node v."""
    return Word(1) << Word(v & 63)


@inlined
def put(m, word, around, code, key, mask, kind):
    """Write feature number m, if there is room for it, and return the next number."""
    if m < len(key):
        key[m] = combine(word, Word(code))
        mask[m] = around
        kind[m] = code
    return m + 1


@compiled
def local_features(touched, graph, families, work, stack, key, mask, kind):
    """List the features of a graph, except distances, whose masks share a bit with `touched`.

    The result is their number; those beyond the length of `key` are counted and not written.
    """
    first, target, mark, label = graph
    n, m = len(label), 0
    plain, degree, around, near, colour, fresh = (
        work[0],
        work[1],
        work[2],
        work[3],
        work[4],
        work[5],
    )
    bare, fresh_bare, ball, wider = work[6], work[7], work[8], work[9]
    for v in range(n):
        plain[v] = mix(label[v] + Word(1))
        degree[v] = mix(Word(first[v + 1] - first[v]) + Word(2))
        colour[v], bare[v], ball[v] = plain[v], degree[v], bit(v)
        marks = Word(0)
        for p in range(first[v], first[v + 1]):
            marks += mix(mark[p])
        if bit(v) & touched:
            if families[SIZES]:
                m = put(m, Word(0), bit(v), NODES, key, mask, kind)
            if families[NODE_LABELS]:
                m = put(m, plain[v], bit(v), LABEL, key, mask, kind)
            if families[DEGREES]:
                m = put(m, degree[v], bit(v), DEGREE, key, mask, kind)
                m = put(m, combine(plain[v], marks), bit(v), VALENCE, key, mask, kind)
    for r in range(1, max(families[RADIUS], 1) + 1):
        for v in range(n):
            total, total_bare, grown = Word(0), Word(0), ball[v]
            for p in range(first[v], first[v + 1]):
                total += combine(colour[target[p]], mark[p])
                total_bare += mix(bare[target[p]])
                grown |= ball[target[p]]
            fresh[v], fresh_bare[v] = combine(colour[v], total), combine(bare[v], total_bare)
            wider[v] = grown
        for v in range(n):
            colour[v], bare[v], ball[v] = fresh[v], fresh_bare[v], wider[v]
            if r == 1:
                around[v], near[v] = colour[v], ball[v]
            if r <= families[RADIUS] and ball[v] & touched:
                m = put(m, colour[v], ball[v], LABELLED + 32 * r, key, mask, kind)
                if r <= 2:
                    m = put(m, bare[v], ball[v], BARE + 32 * r, key, mask, kind)
    for v in range(n):
        for p in range(first[v], first[v + 1]):
            t = target[p]
            if t < v:
                continue
            ends = bit(v) | bit(t)
            if families[SIZES] and ends & touched:
                m = put(m, Word(0), ends, EDGES, key, mask, kind)
            if not families[BONDS]:
                continue
            if ends & touched:
                word = combine(plain[v] + plain[t], mark[p])
                m = put(m, word, ends, BOND, key, mask, kind)
                pair = combine(plain[v], degree[v]) + combine(plain[t], degree[t])
                m = put(m, combine(pair, mark[p]), ends, BOND_DEGREES, key, mask, kind)
            if (near[v] | near[t]) & touched:
                word = combine(around[v] + around[t], mark[p])
                m = put(m, word, near[v] | near[t], BOND_AROUND, key, mask, kind)
    if families[PATHS] >= 3:
        m = path_features_of(touched, graph, families[PATHS], work, stack, m, key, mask, kind)
    if families[CYCLES] >= 3:
        m = cycle_features_of(touched, graph, families[CYCLES], work, stack, m, key, mask, kind)
    return m


@compiled
def path_features_of(touched, graph, longest, work, stack, m, key, mask, kind):
    """List the paths of 3 to `longest` nodes: equal from both ends, each once."""
    first, target, mark, label = graph
    n, plain = len(label), work[0]
    path, following = stack[0], stack[1]
    forward, backward = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    power, seen = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    for start in range(n):
        path[0], following[0], depth = start, first[start], 0
        forward[0], backward[0], power[0], seen[0] = plain[start], plain[start], BASE, bit(start)
        while depth >= 0:
            v = path[depth]
            if following[depth] == first[v + 1]:
                depth -= 1
                continue
            p = following[depth]
            following[depth] = p + 1
            w = target[p]
            if seen[depth] & bit(w):  # bits may be shared by two of more than 64 nodes
                known = False
                for d in range(depth + 1):
                    if path[d] == w:
                        known = True
                        break
                if known:
                    continue
            ahead = (forward[depth] * BASE + mix(mark[p])) * BASE + plain[w]
            back = backward[depth] + power[depth] * (mix(mark[p]) + BASE * plain[w])
            inside = seen[depth] | bit(w)
            if depth >= 1 and w > start and inside & touched:
                code = PATH + 32 * (depth + 2)
                m = put(m, mix(ahead) + mix(back), inside, code, key, mask, kind)
            if depth + 2 < longest:
                depth += 1
                path[depth], following[depth] = w, first[w]
                forward[depth], backward[depth], seen[depth] = ahead, back, inside
                power[depth] = power[depth - 1] * BASE * BASE
    return m


@compiled
def strip_leaves(first, target, open_ends, n):
    """Count the edges of each node that are left when leaves are removed again and again.

    Nodes outside of cycles, and not between two of them, have 0. The result is whether any is left.
    """
    for v in range(n):
        open_ends[v] = Word(first[v + 1] - first[v])
    stripped = True
    while stripped:
        stripped = False
        for v in range(n):
            if open_ends[v] == 1:
                stripped = True
                open_ends[v] = Word(0)
                for p in range(first[v], first[v + 1]):
                    w = target[p]
                    if open_ends[w] > 0:
                        open_ends[w] -= Word(1)
    left = 0
    for v in range(n):
        if open_ends[v] > 0:
            left += 1
    return left > 2


@compiled
def cycle_features_of(touched, graph, longest, work, stack, m, key, mask, kind):
    """List features of the cycles of 3 to `longest` nodes, each from its first node once."""
    first, target, mark, label = graph
    n, plain, degree, around, near = len(label), work[0], work[1], work[2], work[3]
    path, following, edge, open_ends = stack[0], stack[1], stack[2], work[4]
    if not strip_leaves(first, target, open_ends, n):
        return m
    for start in range(n):
        if open_ends[start] == 0:
            continue
        path[0], following[0], depth = start, first[start], 0
        while depth >= 0:
            v = path[depth]
            if following[depth] == first[v + 1]:
                depth -= 1
                continue
            p = following[depth]
            following[depth] = p + 1
            w = target[p]
            if w < start or open_ends[w] == 0:
                continue
            if w > start:
                if depth + 1 < longest:
                    known = False
                    for d in range(1, depth + 1):
                        if path[d] == w:
                            known = True
                            break
                    if not known:
                        depth += 1
                        path[depth], following[depth], edge[depth] = w, first[w], p
                continue
            if depth < 2 or path[1] > path[depth]:
                continue
            length, inside, wide = depth + 1, Word(0), Word(0)
            labels, bonds, degrees = Word(0), Word(0), Word(0)
            for d in range(length):
                i, after = path[d], path[(d + 1) % length]
                inside |= bit(i)
                wide |= near[i]
                q = p if d == depth else edge[d + 1]
                labels += mix(plain[i])
                bonds += combine(plain[i] + plain[after], mark[q])
                degrees += mix(degree[i])
            if not wide & touched:
                continue
            if inside & touched:
                m = put(m, Word(0), inside, CYCLE + 32 * length, key, mask, kind)
                m = put(m, labels, inside, CYCLE_LABELS + 32 * length, key, mask, kind)
                m = put(m, bonds, inside, CYCLE_BONDS + 32 * length, key, mask, kind)
                m = put(m, degrees, inside, CYCLE_DEGREES + 32 * length, key, mask, kind)
            for d in range(length):
                i = path[d]
                if inside & touched:
                    m = put(m, plain[i], inside, CYCLE_NODE + 32 * length, key, mask, kind)
                if (inside | near[i]) & touched:
                    code = CYCLE_AROUND + 32 * length
                    m = put(m, around[i], inside | near[i], code, key, mask, kind)
    return m


@compiled
def distances_from(v, first, target, distance, queue):
    """Write the distance of each node from v into `distance`, -1 where there is no path."""
    distance[:] = -1
    distance[v], queue[0], head, tail = 0, v, 0, 1
    while head < tail:
        u = queue[head]
        head += 1
        for p in range(first[u], first[u + 1]):
            w = target[p]
            if distance[w] < 0:
                distance[w] = distance[u] + 1
                queue[tail] = w
                tail += 1


@inlined
def distance_words(i, j, d, plain, degree):
    """Return the keys of the two features of a pair of nodes at distance d."""
    labels = combine(plain[i] + plain[j], Word(DISTANCE + 32 * d))
    pair = combine(plain[i], degree[i]) + combine(plain[j], degree[j])
    return labels, combine(pair, Word(DISTANCE_DEGREES + 32 * d))


@compiled
def features_of_graphs(start, pointer, target, mark, label, families, ends, key, mask, kind):
    """List the features of all graphs of a union; ends[i] is where those of graph i end.

    The result is their number; those beyond the length of `key` are counted and not written.
    """
    m, deepest = 0, max(families[PATHS], families[CYCLES]) + 2
    stack = np.empty((3, deepest), np.int64)
    for i in range(len(start) - 1):
        begin, end = start[i], start[i + 1]
        n, low, high = end - begin, pointer[begin], pointer[end]
        first = pointer[begin : end + 1] - low
        own = target[low:high] - begin
        graph = first, own, mark[low:high], label[begin:end]
        work = np.empty((WORK_ROWS, n), np.uint64)
        room = slice(min(m, len(key)), len(key))
        m += local_features(
            ~Word(0), graph, families, work, stack, key[room], mask[room], kind[room]
        )
        if families[DISTANCES]:
            distance, queue = np.empty(n, np.int64), np.empty(n, np.int64)
            for v in range(n):
                distances_from(v, first, own, distance, queue)
                for w in range(v + 1, n):
                    d = distance[w]
                    if d > 0:
                        words = distance_words(v, w, d, work[0], work[1])
                        for k in range(2):
                            if m < len(key):
                                key[m], mask[m] = words[k], bit(v) | bit(w)
                                kind[m] = DISTANCE + k + 32 * d
                            m += 1
        ends[i] = m
    return m


@compiled
def fill_table(keys, slots, columns):
    """Fill an open hash table: slot of a key by its last bits, then the next free one."""
    last = Word(len(slots) - 1)
    for i in range(len(keys)):
        p = np.int64(keys[i] & last)
        while columns[p] >= 0:
            p = (p + 1) & np.int64(last)
        slots[p], columns[p] = keys[i], i


@inlined
def column_of(word, slots, columns):
    """Return the column of a key in a table of `fill_table`; -1 if it has no column."""
    last = np.int64(len(slots) - 1)
    p = np.int64(word & Word(last))
    while columns[p] >= 0 and slots[p] != word:
        p = (p + 1) & last
    return columns[p]


@compiled
def fill_columns(key, slots, columns, found):
    """Write the column of each key into `found`, -1 for those that are not in the table."""
    for i in range(len(key)):
        found[i] = column_of(key[i], slots, columns)
