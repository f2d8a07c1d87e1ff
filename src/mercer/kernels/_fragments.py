"""Compiled loops of the tree kernels."""

import numpy as np
from numba import uint64

from .._base.loops import compiled, parallel


@compiled
def _pair_kernel(
    i, i_end, a_production, a_pointer, a_child, j, j_end, b_production, b_pointer, b_child, decay, C
):
    """Return the subset-tree kernel of two trees, given as arrays of their inner nodes.

    It is the sum of C(u, v) over the inner nodes u of the first and v of the second tree. The first
    tree has the inner nodes i to i_end - 1 in postorder; a_production[u] is the production of node
    u, and a_child[a_pointer[u]:a_pointer[u + 1]] are its inner children. The arguments from j to
    b_child describe the second tree. `decay` is the factor for each production of a fragment, and C
    is a buffer for the values C(u, v).

    Equal productions have the same number of children, and leaves at the same positions, so that
    their inner children correspond in order.
    """
    total = 0.0 * decay
    for u in range(i, i_end):
        for v in range(j, j_end):
            value = 0.0 * decay
            shift = b_pointer[v] - a_pointer[u]
            if a_production[u] == b_production[v] and b_pointer[v + 1] - a_pointer[u + 1] == shift:
                value = decay
                for e in range(a_pointer[u], a_pointer[u + 1]):
                    value *= 1.0 + C[a_child[e] - i, b_child[e + shift] - j]
                total += value
            C[u - i, v - j] = value
    return total


def subset_tree_gram(
    a_start,
    a_production,
    a_pointer,
    a_child,
    b_start,
    b_production,
    b_pointer,
    b_child,
    decay,
    symmetric,
):
    """Return the subset-tree kernel of all pairs of trees of two batches.

    Tree i of the first batch has the inner nodes a_start[i] to a_start[i + 1] - 1. Node u has the
    production a_production[u] and the inner children a_child[a_pointer[u]:a_pointer[u + 1]]. The
    arguments b_start to b_child describe the second batch.
    `decay` is the factor for each production of a fragment. If `symmetric`, the batches are the
    same and half of the pairs is computed.
    """
    largest = int(np.diff(b_start).max(initial=0))
    # The decay is complex for derivatives by complex steps.
    K = np.full((len(a_start) - 1, len(b_start) - 1), 0.0 * decay)
    _fill_gram(
        a_start,
        a_production,
        a_pointer,
        a_child,
        b_start,
        b_production,
        b_pointer,
        b_child,
        decay,
        symmetric,
        largest,
        K,
    )
    return K


@parallel
def _fill_gram(
    start,
    stop,
    a_start,
    a_production,
    a_pointer,
    a_child,
    b_start,
    b_production,
    b_pointer,
    b_child,
    decay,
    symmetric,
    largest,
    K,
):
    """Write rows start to stop - 1 of K, the subset-tree kernel of trees a (rows) and b (columns).

    If `symmetric`, a and b are the same trees: only j <= i is computed, and copied to K[j, i].
    `largest` is the largest number of inner nodes of a tree in b. The other arguments are those of
    `subset_tree_gram`.
    """
    for i in range(start, stop):
        C = np.full((a_start[i + 1] - a_start[i], largest), 0.0 * decay)
        for j in range(i + 1 if symmetric else K.shape[1]):
            K[i, j] = _pair_kernel(
                a_start[i],
                a_start[i + 1],
                a_production,
                a_pointer,
                a_child,
                b_start[j],
                b_start[j + 1],
                b_production,
                b_pointer,
                b_child,
                decay,
                C,
            )
            if symmetric:
                K[j, i] = K[i, j]


def subset_tree_diag(a_start, a_production, a_pointer, a_child, decay):
    """Return the subset-tree kernel of each tree with itself.

    The arguments are those of `subset_tree_gram`.
    """
    out = np.full(len(a_start) - 1, 0.0 * decay)
    _fill_diag(a_start, a_production, a_pointer, a_child, decay, out)
    return out


@parallel
def _fill_diag(start, stop, a_start, a_production, a_pointer, a_child, decay, out):
    """Write the subset-tree kernel of trees start to stop - 1 with themselves to out.

    The arguments are those of `subset_tree_diag`.
    """
    for i in range(start, stop):
        C = np.full((a_start[i + 1] - a_start[i], a_start[i + 1] - a_start[i]), 0.0 * decay)
        out[i] = _pair_kernel(
            a_start[i],
            a_start[i + 1],
            a_production,
            a_pointer,
            a_child,
            a_start[i],
            a_start[i + 1],
            a_production,
            a_pointer,
            a_child,
            decay,
            C,
        )


@compiled
def subtree_hashes(label, pointer, child):
    """Return a hash of the subtree below each node, and the size of the subtree.

    Nodes are in postorder. Node i has the hash label[i] of its label, and the children
    child[pointer[i]:pointer[i + 1]].
    """
    hashes, size = label.copy(), np.ones(len(label), dtype=np.int64)
    for i in range(len(label)):
        for e in range(pointer[i], pointer[i + 1]):
            # The hash so far is scrambled before the next child is added: the order matters.
            x = (hashes[i] ^ (hashes[i] >> uint64(29))) * uint64(0xBF58476D1CE4E5B9)
            y = (hashes[child[e]] ^ (hashes[child[e]] >> uint64(31))) * uint64(0x94D049BB133111EB)
            hashes[i] = (x ^ (x >> uint64(32))) + y
            size[i] += size[child[e]]
        if pointer[i + 1] > pointer[i]:
            hashes[i] ^= uint64(0x9E3779B97F4A7C15)  # a leaf is not an inner node
    return hashes, size
