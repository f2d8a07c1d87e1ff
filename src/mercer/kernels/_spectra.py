"""Compiled loops of the mass spectrum kernel."""

import numpy as np

from .._base.loops import compiled, parallel


@compiled
def overlap(a_mass, a_weight, i, i_end, b_mass, b_weight, j, j_end, width, slope):
    """Return the overlap of two mass spectra, a sum over peaks less than `width` apart.

    A pair of peaks adds the product of their weights times 1 - slope · |difference of masses|. The
    first spectrum has the sorted masses a_mass[i:i_end] and the weights a_weight[i:i_end], the
    second one b_mass[j:j_end] and b_weight[j:j_end].
    """
    total = 0.0 * slope  # complex for a complex-step derivative
    for p in range(i, i_end):
        while j < j_end and b_mass[j] <= a_mass[p] - width:
            j += 1
        q = j
        while q < j_end and b_mass[q] < a_mass[p] + width:
            total += a_weight[p] * b_weight[q] * (1.0 - slope * abs(a_mass[p] - b_mass[q]))
            q += 1
    return total


def overlaps(a_start, a_mass, a_weight, b_start, b_mass, b_weight, width, slope, symmetric):
    """Return the overlap of all pairs of mass spectra of two batches.

    Spectrum i of the first batch has the masses a_mass[a_start[i]:a_start[i + 1]], and weights at
    the same indices; b_start, b_mass and b_weight describe the second batch. `width` and `slope`
    are those of `overlap`. If `symmetric`, the batches are the same and half of the pairs is
    computed.
    """
    kind = np.result_type(a_weight, slope)
    K = np.zeros((len(a_start) - 1, len(b_start) - 1), kind)
    _fill_overlaps(
        a_start,
        a_mass,
        a_weight.astype(kind),
        b_start,
        b_mass,
        b_weight.astype(kind),
        width,
        kind.type(slope),
        symmetric,
        K,
    )
    return K


@parallel
def _fill_overlaps(
    start, stop, a_start, a_mass, a_weight, b_start, b_mass, b_weight, width, slope, symmetric, K
):
    """Write the overlaps of spectra start to stop - 1 with all others to rows of K.

    The arguments are those of `overlaps`.
    """
    for i in range(start, stop):
        for j in range(i + 1 if symmetric else K.shape[1]):
            K[i, j] = overlap(
                a_mass,
                a_weight,
                a_start[i],
                a_start[i + 1],
                b_mass,
                b_weight,
                b_start[j],
                b_start[j + 1],
                width,
                slope,
            )
            if symmetric:
                K[j, i] = K[i, j]


def self_overlaps(a_start, a_mass, a_weight, width, slope):
    """Return the overlap of each mass spectrum with itself.

    The arguments are as in `overlaps`.
    """
    kind = np.result_type(a_weight, slope)
    out = np.zeros(len(a_start) - 1, kind)
    _fill_self_overlaps(a_start, a_mass, a_weight.astype(kind), width, kind.type(slope), out)
    return out


@parallel
def _fill_self_overlaps(start, stop, a_start, a_mass, a_weight, width, slope, out):
    """Write the overlap of each of the spectra start to stop - 1 with itself to out.

    The arguments are those of `overlaps`.
    """
    for i in range(start, stop):
        out[i] = overlap(
            a_mass,
            a_weight,
            a_start[i],
            a_start[i + 1],
            a_mass,
            a_weight,
            a_start[i],
            a_start[i + 1],
            width,
            slope,
        )
