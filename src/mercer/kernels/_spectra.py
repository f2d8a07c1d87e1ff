"""Compiled loops of the mass spectrum kernel."""

import numpy as np

from .._base.loops import compiled, parallel


@compiled
def _overlap(a, i, b, j, width, slope):
    """Return the overlap of spectrum i of the batch a and spectrum j of the batch b.

    A pair of peaks less than `width` apart adds the product of their weights times
    1 - slope · |difference of masses|. Both batches are `PeakArrays`.
    """
    total = 0.0 * slope  # complex for a complex-step derivative
    first, end = b.start[j], b.start[j + 1]
    for p in range(a.start[i], a.start[i + 1]):
        while first < end and b.mass[first] <= a.mass[p] - width:
            first += 1
        q = first
        while q < end and b.mass[q] < a.mass[p] + width:
            total += a.weight[p] * b.weight[q] * (1.0 - slope * abs(a.mass[p] - b.mass[q]))
            q += 1
    return total


def overlaps(a, b, width, slope, symmetric):
    """Return the overlap of all pairs of mass spectra of two batches, `PeakArrays` a and b.

    A pair of peaks less than `width` apart adds the product of their weights times
    1 - slope · |difference of masses|. If `symmetric`, the batches are the same and half of the
    pairs is computed.
    """
    kind = np.result_type(a.weight, slope)
    K = np.zeros((len(a.start) - 1, len(b.start) - 1), kind)
    _fill_overlaps(a.as_type(kind), b.as_type(kind), width, kind.type(slope), symmetric, K)
    return K


@parallel
def _fill_overlaps(start, stop, a, b, width, slope, symmetric, K):
    """Write the overlaps of spectra start to stop - 1 of a with all of b to rows of K.

    If `symmetric`, a and b are the same spectra: only j <= i is computed, and copied to K[j, i].
    """
    for i in range(start, stop):
        for j in range(i + 1 if symmetric else K.shape[1]):
            K[i, j] = _overlap(a, i, b, j, width, slope)
            if symmetric:
                K[j, i] = K[i, j]


def self_overlaps(a, width, slope):
    """Return the overlap of each mass spectrum with itself.

    The arguments are as in `overlaps`.
    """
    kind = np.result_type(a.weight, slope)
    out = np.zeros(len(a.start) - 1, kind)
    _fill_self_overlaps(a.as_type(kind), width, kind.type(slope), out)
    return out


@parallel
def _fill_self_overlaps(start, stop, a, width, slope, out):
    """Write the overlap of spectra start to stop - 1 of a with themselves to out.

    The arguments are those of `overlaps`.
    """
    for i in range(start, stop):
        out[i] = _overlap(a, i, a, i, width, slope)
