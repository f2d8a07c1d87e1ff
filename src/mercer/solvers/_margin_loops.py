"""The pass over the examples of a margin problem, compiled; imported when first needed."""

from __future__ import annotations

import numpy as np

from .._base.loops import compiled

STEPS_PER_EXAMPLE = 10
"""Steps that an example takes before the next one: they touch its own scores only."""


@compiled
def sweep(J, F, losses, weights, order):
    """Take one pairwise step of dual ascent per example of `order`; update F and weights in place.

    F are the scores ⟨w, Φ(x_i, y_c)⟩, and J the joint Gram matrix (n, m, n, m). What an example
    adds to w is carried over to the scores of all others once, after its own steps.
    """
    n, m = losses.shape
    moved, f = np.empty(m), np.empty(m)
    for i in order:
        moved[:] = 0.0
        f[:] = F[i]
        for _ in range(STEPS_PER_EXAMPLE):
            best, worst, high, low = -1, -1, -np.inf, np.inf
            for c in range(m):
                violation = losses[i, c] + f[c]
                if violation > high:
                    best, high = c, violation
                if weights[i, c] > 0.0 and violation < low:
                    worst, low = c, violation
            if high - low <= 1e-14 * (abs(high) + abs(low)):
                break
            own = J[i, :, i, :]
            curvature = own[worst, worst] + own[best, best] - 2.0 * own[worst, best]
            step = weights[i, worst]
            if curvature > 0.0 and (high - low) / curvature < step:
                step = (high - low) / curvature
                weights[i, worst] -= step
            else:
                weights[i, worst] = 0.0
            weights[i, best] += step
            moved[worst] += step
            moved[best] -= step
            for c in range(m):
                f[c] += step * (own[worst, c] - own[best, c])
        for c in range(m):
            if moved[c] != 0.0:
                for j in range(n):
                    for d in range(m):
                        F[j, d] += moved[c] * J[i, c, j, d]
