"""The compiled recursion of the subset-tree kernel."""

import numpy as np
from numba import uint64

from .._base.loops import compiled, parallel


@compiled
def _pair(i, i_end, p, a_ptr, a_child, j, j_end, q, b_ptr, b_child, decay, C):
    """Return Σ C(u, v) over the nodes of two trees in postorder; C is a buffer.

    Equal productions have equally many children, leaves at the same positions, so that the inner
    children pair off in order.
    """
    total = 0.0 * decay
    for u in range(i, i_end):
        for v in range(j, j_end):
            value = 0.0 * decay
            shift = b_ptr[v] - a_ptr[u]
            if p[u] == q[v] and b_ptr[v + 1] - a_ptr[u + 1] == shift:
                value = decay
                for e in range(a_ptr[u], a_ptr[u + 1]):
                    value *= 1.0 + C[a_child[e] - i, b_child[e + shift] - j]
                total += value
            C[u - i, v - j] = value
    return total


def fragments(a, p, a_ptr, a_child, b, q, b_ptr, b_child, decay, symmetric):
    """Return the kernel of all pairs; of one batch with itself, the lower half is mirrored."""
    largest = int(np.diff(b).max(initial=0))
    K = np.full((len(a) - 1, len(b) - 1), 0.0 * decay)  # complex for a derivative
    _fragments(a, p, a_ptr, a_child, b, q, b_ptr, b_child, decay, symmetric, largest, K)
    return K


@parallel
def _fragments(
    start, stop, a, p, a_ptr, a_child, b, q, b_ptr, b_child, decay, symmetric, largest, K
):
    """Write the kernel of the pairs of some rows into K."""
    for i in range(start, stop):
        C = np.full((a[i + 1] - a[i], largest), 0.0 * decay)
        for j in range(i + 1 if symmetric else K.shape[1]):
            K[i, j] = _pair(
                a[i], a[i + 1], p, a_ptr, a_child, b[j], b[j + 1], q, b_ptr, b_child, decay, C
            )
            if symmetric:
                K[j, i] = K[i, j]


def own_fragments(a, p, a_ptr, a_child, decay):
    """Return the kernel of every tree with itself."""
    d = np.full(len(a) - 1, 0.0 * decay)
    _own_fragments(a, p, a_ptr, a_child, decay, d)
    return d


@parallel
def _own_fragments(start, stop, a, p, a_ptr, a_child, decay, d):
    """Write the kernel of some trees with themselves into d."""
    for i in range(start, stop):
        C = np.full((a[i + 1] - a[i], a[i + 1] - a[i]), 0.0 * decay)
        d[i] = _pair(a[i], a[i + 1], p, a_ptr, a_child, a[i], a[i + 1], p, a_ptr, a_child, decay, C)


@compiled
def whole_subtrees(label, pointer, child):
    """Return a hash of the tree below each node, from the leaves up, and its size."""
    hashes, size = label.copy(), np.ones(len(label), dtype=np.int64)
    for i in range(len(label)):
        for e in range(pointer[i], pointer[i + 1]):
            # In order: what was there is scrambled before the next child is added.
            x = (hashes[i] ^ (hashes[i] >> uint64(29))) * uint64(0xBF58476D1CE4E5B9)
            y = (hashes[child[e]] ^ (hashes[child[e]] >> uint64(31))) * uint64(0x94D049BB133111EB)
            hashes[i] = (x ^ (x >> uint64(32))) + y
            size[i] += size[child[e]]
        if pointer[i + 1] > pointer[i]:
            hashes[i] ^= uint64(0x9E3779B97F4A7C15)  # a leaf is not an inner node
    return hashes, size
