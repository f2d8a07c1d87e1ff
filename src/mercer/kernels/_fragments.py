"""Compiled loops of the tree kernels."""

import numpy as np
from numba import uint64

from .._base.loops import compiled, parallel


@compiled
def _pair_kernel(a, i, b, j, decay, C):
    """Return the subset-tree kernel of tree i of the batch a and tree j of the batch b.

    It is the sum of C(u, v) over the inner nodes u of the first and v of the second tree. Both
    batches are `InnerNodes`, `decay` is the factor for each production of a fragment, and C is a
    buffer for the values C(u, v).

    Equal productions have the same number of children, and leaves at the same positions, so that
    their inner children correspond in order.
    """
    total = 0.0 * decay
    first, other_first = a.start[i], b.start[j]
    for u in range(first, a.start[i + 1]):
        for v in range(other_first, b.start[j + 1]):
            value = 0.0 * decay
            shift = b.pointer[v] - a.pointer[u]
            if a.production[u] == b.production[v] and b.pointer[v + 1] - a.pointer[u + 1] == shift:
                value = decay
                for e in range(a.pointer[u], a.pointer[u + 1]):
                    value *= 1.0 + C[a.child[e] - first, b.child[e + shift] - other_first]
                total += value
            C[u - first, v - other_first] = value
    return total


def subset_tree_gram(a, b, decay, symmetric):
    """Return the subset-tree kernel of all pairs of trees of two batches, `InnerNodes` a and b.

    `decay` is the factor for each production of a fragment. If `symmetric`, the batches are the
    same and half of the pairs is computed.
    """
    # The decay is complex for derivatives by complex steps.
    K = np.full((len(a.start) - 1, len(b.start) - 1), 0.0 * decay)
    _fill_gram(a, b, decay, symmetric, int(np.diff(b.start).max(initial=0)), K)
    return K


@parallel
def _fill_gram(start, stop, a, b, decay, symmetric, largest, K):
    """Write rows start to stop - 1 of K, the subset-tree kernel of trees a (rows) and b (columns).

    If `symmetric`, a and b are the same trees: only j <= i is computed, and copied to K[j, i].
    `largest` is the largest number of inner nodes of a tree in b.
    """
    for i in range(start, stop):
        C = np.full((a.start[i + 1] - a.start[i], largest), 0.0 * decay)
        for j in range(i + 1 if symmetric else K.shape[1]):
            K[i, j] = _pair_kernel(a, i, b, j, decay, C)
            if symmetric:
                K[j, i] = K[i, j]


def subset_tree_diag(a, decay):
    """Return the subset-tree kernel of each tree of the batch a, `InnerNodes`, with itself."""
    out = np.full(len(a.start) - 1, 0.0 * decay)
    _fill_diag(a, decay, out)
    return out


@parallel
def _fill_diag(start, stop, a, decay, out):
    """Write the subset-tree kernel of trees start to stop - 1 of a with themselves to out."""
    for i in range(start, stop):
        size = a.start[i + 1] - a.start[i]
        out[i] = _pair_kernel(a, i, a, i, decay, np.full((size, size), 0.0 * decay))


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
