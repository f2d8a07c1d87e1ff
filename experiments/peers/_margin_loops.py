"""Compiled loop over the examples of a large-margin problem; imported when first needed."""

from __future__ import annotations

import numpy as np

from mercer._base.loops import compiled

STEPS_PER_EXAMPLE = 10
"""The number of steps of an example, which need only its own scores, before the next example."""


@compiled
def sweep(J, F, losses, weights, order):
    """Take steps of dual ascent for each example of `order`; change the scores F and `weights`.

    F holds the scores ⟨w, Φ(x_i, y_c)⟩ of n inputs and m candidates, and J the joint Gram matrix
    (n, m, n, m); `losses` and the dual variables `weights` are (n, m). The scores of the other
    examples are updated once, after the steps of an example.
    """
    n, m = losses.shape
    change, f = np.empty(m), np.empty(m)
    for i in order:
        change[:] = 0.0
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
            block = J[i, :, i, :]
            curvature = block[worst, worst] + block[best, best] - 2.0 * block[worst, best]
            step = weights[i, worst]
            if curvature > 0.0 and (high - low) / curvature < step:
                step = (high - low) / curvature
                weights[i, worst] -= step
            else:
                weights[i, worst] = 0.0
            weights[i, best] += step
            change[worst] += step
            change[best] -= step
            for c in range(m):
                f[c] += step * (block[worst, c] - block[best, c])
        for c in range(m):
            if change[c] != 0.0:
                for j in range(n):
                    for d in range(m):
                        F[j, d] += change[c] * J[i, c, j, d]
