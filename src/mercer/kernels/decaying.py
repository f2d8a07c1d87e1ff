from __future__ import annotations

import numpy as np

from .._base.parameters import positive
from .base import Kernel
from .gradients import analytic_gradient


class Decaying(Kernel):
    """Base class of kernels whose values are polynomials in a parameter `decay` in (0, 1]."""

    decay: float

    def _checked_decay(self) -> complex:
        """Return the decay after checking that it is positive and at most 1."""
        if positive(np.real(self.decay), "decay") > 1:
            raise ValueError(
                f"decay must be at most 1 (larger parts count less), got {self.decay!r}."
            )
        return self.decay

    # The decay may be complex, for a derivative by a complex step.
    parameter_gradient = property(
        lambda self: analytic_gradient(self, "decay", most={"decay": 1.0})
    )
