"""Compiled search over edits of a graph: score all neighbours of one graph, keep the best.

The score of a graph with counts n is Σ_f w_f (2 g_f n_f - n_f²), minus a price for each feature
without a column. An edit changes few features: those near the touched nodes and those of pairs
whose distance changed. They are subtracted from and added to the score of the graph before the
edit. Graphs, moves and rules are those of `GraphMoves`.
"""

import numpy as np

from .._base.hash_loops import Word
from .._base.loops import compiled, inlined
from ..kernels._graph_count_loops import (
    DISTANCES,
    bit,
    column_of,
    distance_words,
    distances_from,
    fill_columns,
    local_features,
)
from ..spaces._canonical_loops import canonical_hash

EVERY_NODE = ~Word(0)
"""The mask of all nodes, after edits that renumber nodes."""
NO_PAIR, NO_COLUMN = -2, -1
"""Columns of pairs without a path, and of features without a column."""
FEATURE_ROOM = 1024
"""The number of features and of moves of a graph for which there is room at first."""
RELABEL, SWAP, SET_EDGE, MOVE_EDGE, EXCHANGE_ENDS, REMOVE, ADD, SPLIT_EDGE = range(8)
"""The kinds of moves."""


@compiled
def rows_of_graph(nodes, edges, n, words, first, target, mark, label):
    """Write the neighbours and words of a coded graph by rows; return the number of edges."""
    node_words, edge_words = words
    p = 0
    first[0] = 0
    for i in range(n):
        label[i] = node_words[nodes[i]]
        for j in range(n):
            if edges[i, j] > 0:
                target[p], mark[p] = j, edge_words[edges[i, j]]
                p += 1
        first[i + 1] = p
    return p


@inlined
def list_local(touched, nodes, edges, n, words, families, table, rows, room):
    """List the local features of a coded graph near touched nodes as columns; return the number."""
    first, target, mark, label, work, stack = rows
    key, mask, kind, columns = room
    slots, numbers = table
    m = rows_of_graph(nodes, edges, n, words, first, target, mark, label)
    graph = first[: n + 1], target[:m], mark[:m], label[:n]
    total = local_features(touched, graph, families, work, stack, key, mask, kind)
    fill_columns(key[: min(total, len(key))], slots, numbers, columns)
    return total


@compiled
def list_distances(n, rows, D, queue):
    """Write the distances of all pairs of nodes of the graph of `rows` into D."""
    first, target = rows[0], rows[1]
    for v in range(n):
        distances_from(v, first, target, D[v, :n], queue)


@compiled
def list_pairs(n, rows, D, table, pairs):
    """Write the columns of the two features of each pair of nodes into `pairs`."""
    slots, numbers = table
    plain, degree = rows[4][0], rows[4][1]
    for i in range(n):
        for j in range(i + 1, n):
            d = D[i, j]
            pairs[0, i, j] = pairs[1, i, j] = NO_PAIR
            if d > 0:
                words = distance_words(i, j, d, plain, degree)
                pairs[0, i, j] = column_of(words[0], slots, numbers)
                pairs[1, i, j] = column_of(words[1], slots, numbers)


@compiled
def apply_changes(changes, number, goal, counts):
    """Return how the score changes by features that are removed and added; restore the counts.

    A change is twice the column of a feature, plus 1 where it is added. The columns are shifted by
    one, so that 0 stands for features without a column.
    """
    g, w, price = goal
    total = 0.0
    for q in range(number):
        f = (changes[q] >> 1) - 1
        sign = 2.0 * (changes[q] & 1) - 1.0
        if f < 0:
            total -= sign * price
        else:
            total += w[f] * (sign * 2.0 * (g[f] - counts[f]) - 1.0)
            counts[f] += sign
    for q in range(number):
        f = (changes[q] >> 1) - 1
        if f >= 0:
            counts[f] -= 2.0 * (changes[q] & 1) - 1.0
    return total


@compiled
def score_of_counts(columns, total, pairs, n, goal, counts):
    """Return the score of a graph, given the columns of its features; count them."""
    g, w, price = goal
    outside = 0
    for q in range(total):
        if columns[q] < 0:
            outside += 1
        else:
            counts[columns[q]] += 1.0
    for i in range(n):
        for j in range(i + 1, n):
            for k in range(2):
                f = pairs[k, i, j]
                if f == NO_COLUMN:
                    outside += 1
                elif f >= 0:
                    counts[f] += 1.0
    score = -price * outside
    for f in range(len(w)):
        if counts[f] > 0:
            score += w[f] * counts[f] * (2.0 * g[f] - counts[f])
    return score


@compiled
def list_changed_pairs(touched, n, moved, size, D, pairs, new_D, work, table, changes, number):
    """List the features of pairs of nodes that an edit removes or adds; return the number so far.

    `moved` says whether distances may differ; the graph had `size` nodes before.
    """
    slots, numbers = table
    plain, degree = work[0], work[1]
    everything = touched == EVERY_NODE
    for i in range(size if everything else 0):
        for j in range(i + 1, size):
            for k in range(2):
                if pairs[k, i, j] != NO_PAIR:
                    changes[number] = 2 * (pairs[k, i, j] + 1)
                    number += 1
    for i in range(n):
        for j in range(i + 1, n):
            old = np.int64(-1) if j >= size else D[i, j]
            d = new_D[i, j] if moved else old
            if d == old and not (bit(i) | bit(j)) & touched:
                continue
            if not everything and old > 0:
                for k in range(2):
                    changes[number] = 2 * (pairs[k, i, j] + 1)
                    number += 1
            if d > 0:
                made = distance_words(i, j, d, plain, degree)
                changes[number] = 2 * (column_of(made[0], slots, numbers) + 1) + 1
                changes[number + 1] = 2 * (column_of(made[1], slots, numbers) + 1) + 1
                number += 2
    return number


@inlined
def score_of_child(touched, nodes, edges, n, moved, before, tables, goal, counts, rows, room):
    """Return the score of a graph, given that of the graph before an edit, or NaN without room.

    `moved` says whether distances may differ. `before` holds the features of the graph before.
    """
    words, families, table = tables
    score, size, columns, masks, total, D, pairs, new_D, queue, changes = before
    found = list_local(touched, nodes, edges, n, words, families, table, rows, room)
    if found > len(room[0]) or found + total + 4 * n * n > len(changes):
        return np.nan
    number, new = 0, room[3]
    for q in range(total):
        if masks[q] & touched:
            changes[number] = 2 * (columns[q] + 1)
            number += 1
    for q in range(found):
        changes[number] = 2 * (new[q] + 1) + 1
        number += 1
    if families[DISTANCES]:
        if moved:
            list_distances(n, rows, new_D, queue)
        number = list_changed_pairs(
            touched, n, moved, size, D, pairs, new_D, rows[4], table, changes, number
        )
    return score + apply_changes(changes, number, goal, counts)


@compiled
def is_joined(edges, n, reached, queue):
    """Return whether a coded graph is connected."""
    for v in range(n):
        reached[v] = 0
    reached[0], queue[0], head, tail = 1, 0, 0, 1
    while head < tail:
        u = queue[head]
        head += 1
        for v in range(n):
            if edges[u, v] > 0 and not reached[v]:
                reached[v] = 1
                queue[tail] = v
                tail += 1
    return tail == n


@compiled
def fits_patterns(nodes, edges, n, touched, patterns, used):
    """Return whether the touched nodes have the edges of a pattern of their label, or fewer."""
    for v in range(n):
        if not bit(v) & touched:
            continue
        used[:] = 0
        for j in range(n):
            used[edges[v, j]] += 1
        fits = False
        for r in range(len(patterns)):
            if patterns[r, 0] == nodes[v]:
                inside = True
                for e in range(1, patterns.shape[1]):
                    if used[e] > patterns[r, e]:
                        inside = False
                        break
                if inside:
                    fits = True
                    break
        if not fits:
            return False
    return True


@inlined
def consider(
    touched, nodes, edges, n, change, before, tables, goal, counts, rule, rows, room, best
):
    """Score a graph after an edit, and insert it among the best unless it is known.

    `change` is 0 where no edge was added, removed or moved, 1 where one was, 2 where the graph may
    have come apart. The result is False where the room for features is too small.
    """
    connected, patterns, used, reached, queue = rule
    seen, known, out_nodes, out_edges, out_size, out_score, out_key, tally = best
    if change == 2 and connected and not is_joined(edges, n, reached, queue):
        return True
    if len(patterns) and not fits_patterns(nodes, edges, n, touched, patterns, used):
        return True
    tally[0] += 1
    score = score_of_child(
        touched, nodes, edges, n, change > 0, before, tables, goal, counts, rows, room
    )
    if np.isnan(score):
        return False
    worst = 0
    for k in range(len(out_score)):
        if out_score[k] < out_score[worst]:
            worst = k
    if score <= out_score[worst]:
        return True
    first, target, mark, label = rows[0], rows[1], rows[2], rows[3]
    m = first[n]
    key = canonical_hash(first[: n + 1], target[:m], mark[:m], label[:n])
    for k in range(known):
        if seen[k] == key:
            return True
    for k in range(len(out_score)):
        if out_key[k] == key and out_size[k] > 0:
            return True
    out_score[worst], out_key[worst], out_size[worst] = score, key, n
    for i in range(n):
        out_nodes[worst, i] = nodes[i]
        for j in range(n):
            out_edges[worst, i, j] = edges[i, j]
    return True


@compiled
def put_edge(a, i, j, mark):
    """Write an edge into a symmetric matrix, on both sides."""
    a[i, j] = mark
    a[j, i] = mark


@compiled
def put_move(moves, r, kind, i, j, k, q, x, y):
    """Write move number r, and return the next number; moves beyond the room are only counted."""
    if r < len(moves):
        moves[r, 0], moves[r, 1], moves[r, 2], moves[r, 3] = kind, i, j, k
        moves[r, 4], moves[r, 5], moves[r, 6] = q, x, y
    return r + 1


@compiled
def list_moves(nodes, edges, n, limits, connected, moves):
    """List the moves from a graph: kind, four nodes or marks, and two labels; return the number.

    `limits` are the numbers of node labels and edge labels, and the largest number of nodes.
    """
    labels, marks, largest = limits
    r = 0
    for i in range(n):
        for label in range(labels):
            if label != nodes[i]:
                r = put_move(moves, r, RELABEL, i, 0, 0, 0, label, 0)
        for j in range(i):
            if nodes[i] != nodes[j]:
                r = put_move(moves, r, SWAP, i, j, 0, 0, 0, 0)
            for mark in range(marks + 1):
                if mark != edges[i, j]:
                    r = put_move(moves, r, SET_EDGE, i, j, 0, 0, mark, 0)
        for j in range(n):
            one = edges[i, j]
            if i == j or not one:
                continue
            for k in range(n):
                other = edges[i, k]
                if k != i and k != j and (not other or (k < j and other != one)):
                    r = put_move(moves, r, MOVE_EDGE, i, j, k, 0, 0, 0)
                if k <= i or k == j or edges[k, j]:
                    continue
                for q in range(n):
                    if q != i and q != j and q != k and edges[k, q] and not edges[i, q]:
                        r = put_move(moves, r, EXCHANGE_ENDS, i, j, k, q, 0, 0)
        if n > 1:
            r = put_move(moves, r, REMOVE, i, 0, 0, 0, 0, 0)
            ends, one, other = 0, -1, -1
            for x in range(n):
                if x != i and edges[i, x]:
                    ends += 1
                    other, one = one, x
            if ends == 2 and not edges[one, other]:
                for mark in range(1, marks + 1):
                    if mark == edges[i, one] or mark == edges[i, other]:
                        r = put_move(moves, r, REMOVE, i, one, other, 0, mark, 0)
    for label in range(labels if n < largest else 0):
        if not connected:
            r = put_move(moves, r, ADD, 0, 0, 0, 0, label, 0)
        for i in range(n):
            for mark in range(1, marks + 1):
                r = put_move(moves, r, ADD, i, 0, 0, 0, label, mark)
            for j in range(i):
                old = edges[i, j]
                for one in range(1, marks + 1 if old else 0):
                    for other in range(1, marks + 1):
                        if one == old or other == old or (one == 1 and other == 1):
                            r = put_move(moves, r, SPLIT_EDGE, i, j, one, other, label, 0)
    return r


@compiled
def apply_move(move, nodes, edges, n, made, a):
    """Write the graph after a move into `made` and a; return size, touched nodes and change.

    The change is 0 where no edge was added, removed or moved, 1 where one was, and 2 where the
    graph may have come apart.
    """
    for v in range(n):
        made[v] = nodes[v]
        for w in range(n):
            a[v, w] = edges[v, w]
    kind, i, j, k, q, x, y = move[0], move[1], move[2], move[3], move[4], move[5], move[6]
    if kind == RELABEL:
        made[i] = x
        return n, bit(i), 0
    if kind == SWAP:
        made[i], made[j] = nodes[j], nodes[i]
        return n, bit(i) | bit(j), 0
    if kind == SET_EDGE:
        put_edge(a, i, j, x)
        return n, bit(i) | bit(j), (0 if x and edges[i, j] else (1 if x else 2))
    if kind == MOVE_EDGE:
        put_edge(a, i, j, edges[i, k])
        put_edge(a, i, k, edges[i, j])
        return n, bit(i) | bit(j) | bit(k), (0 if edges[i, k] else 2)
    if kind == EXCHANGE_ENDS:
        put_edge(a, i, j, 0)
        put_edge(a, k, q, 0)
        put_edge(a, i, q, edges[k, q])
        put_edge(a, k, j, edges[i, j])
        return n, bit(i) | bit(j) | bit(k) | bit(q), 2
    if kind == REMOVE:
        if x:
            put_edge(a, j, k, x)
        last = n - 1
        if i != last:
            made[i] = made[last]
            for v in range(last):
                put_edge(a, i, v, a[last, v])
            a[i, i] = edges[last, last]
        return last, EVERY_NODE, 2
    made[n] = x
    for v in range(n + 1):
        put_edge(a, n, v, 0)
    if kind == ADD:
        if not y:
            return n + 1, bit(n), 1
        put_edge(a, i, n, y)
        return n + 1, bit(i) | bit(n), 1
    put_edge(a, i, j, 0)
    put_edge(a, i, n, k)
    put_edge(a, j, n, q)
    return n + 1, bit(i) | bit(j) | bit(n), 1


@compiled
def expand(nodes, edges, moves, limits, tables, goal, counts, rule, rows, parent, room, best):
    """Score all neighbours of a graph, and insert the best; return False without enough room."""
    words, families, table = tables
    columns, masks, D, pairs, new_D, queue, undo, made, a = parent
    n = len(nodes)
    number = list_moves(nodes, edges, n, limits, rule[0], moves)
    total = list_local(EVERY_NODE, nodes, edges, n, words, families, table, rows, room)
    if total > len(room[0]) or number > len(moves):
        return False
    counts[:] = 0.0
    columns[:total], masks[:total] = room[3][:total], room[1][:total]
    if families[DISTANCES]:
        list_distances(n, rows, D, queue)
        list_pairs(n, rows, D, table, pairs)
    score = score_of_counts(columns, total, pairs, n if families[DISTANCES] else 0, goal, counts)
    before = score, n, columns, masks, total, D, pairs, new_D, queue, undo
    for r in range(number):
        size, touched, change = apply_move(moves[r], nodes, edges, n, made, a)
        if not consider(
            touched, made, a, size, change, before, tables, goal, counts, rule, rows, room, best
        ):
            return False
    return True
