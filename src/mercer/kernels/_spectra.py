"""Compiled loops of the mass spectrum kernel."""

import numpy as np

from .._base.loops import compiled, parallel


@compiled
def overlap(m, a, i, i_end, u, b, j, j_end, width, slope):
    """Return Σ a_p b_q (1 - slope |m_p - u_q|) over pairs of peaks whose masses differ by < width.

    The first spectrum has the sorted masses m[i:i_end] and the weights a[i:i_end], the second one
    u[j:j_end] and b[j:j_end].
    """
    total = 0.0 * slope  # complex for a derivative
    for p in range(i, i_end):
        while j < j_end and u[j] <= m[p] - width:
            j += 1
        q = j
        while q < j_end and u[q] < m[p] + width:
            total += a[p] * b[q] * (1.0 - slope * abs(m[p] - u[q]))
            q += 1
    return total


def overlaps(mp, m, a, up, u, b, width, slope, symmetric):
    """Return the overlap of all pairs of mass spectra of two batches.

    Spectrum i of the first batch has the masses m[mp[i]:mp[i + 1]], and weights a at the same
    indices; up, u and b describe the second batch. If `symmetric`, the batches are the same and
    half of the pairs is computed.
    """
    kind = np.result_type(a, slope)
    K = np.zeros((len(mp) - 1, len(up) - 1), kind)
    _fill_overlaps(
        mp, m, a.astype(kind), up, u, b.astype(kind), width, kind.type(slope), symmetric, K
    )
    return K


@parallel
def _fill_overlaps(start, stop, mp, m, a, up, u, b, width, slope, symmetric, K):
    """Write the overlaps of spectra start to stop - 1 with all others to rows of K."""
    for i in range(start, stop):
        for j in range(i + 1 if symmetric else K.shape[1]):
            K[i, j] = overlap(m, a, mp[i], mp[i + 1], u, b, up[j], up[j + 1], width, slope)
            if symmetric:
                K[j, i] = K[i, j]


def self_overlaps(mp, m, a, width, slope):
    """Return the overlap of each mass spectrum with itself.

    The arguments are as in `overlaps`.
    """
    kind = np.result_type(a, slope)
    d = np.zeros(len(mp) - 1, kind)
    _fill_self_overlaps(mp, m, a.astype(kind), width, kind.type(slope), d)
    return d


@parallel
def _fill_self_overlaps(start, stop, mp, m, a, width, slope, d):
    """Write the overlap of each of the spectra start to stop - 1 with itself to d."""
    for i in range(start, stop):
        d[i] = overlap(m, a, mp[i], mp[i + 1], m, a, mp[i], mp[i + 1], width, slope)
