from __future__ import annotations

from .._arrays import Array, Items
from .._parameters import positive
from .base import Kernel
from .gradients import ParameterGradient, by_complex_step


class Decaying(Kernel):
    """A kernel that is a polynomial in its `decay`, at most 1: `_pairs` and `_alone` at any value.

    Those take a complex decay too, which gives the derivative.
    """

    decay: float

    def _settled(self) -> float:
        if positive(self.decay, "decay") > 1:
            raise ValueError(
                f"decay must be at most 1 (larger parts count less), got {self.decay!r}."
            )
        return float(self.decay)

    def _pairs(self, A: Items, B: Items, decay: complex) -> Array:
        raise NotImplementedError

    def _alone(self, A: Items, decay: complex) -> Array:
        raise NotImplementedError

    def _gram(self, A: Items, B: Items) -> Array:
        return self._pairs(A, B, self._settled())

    def _diag(self, A: Items) -> Array:
        return self._alone(A, self._settled())

    @property
    def parameter_gradient(self) -> ParameterGradient:
        """Of the decay."""
        at = self._settled()
        return ParameterGradient.of_grams(
            {"decay": at},
            lambda A, B: {"decay": by_complex_step(lambda x: self._pairs(A, B, x), at)},
            lambda A: {"decay": by_complex_step(lambda x: self._alone(A, x), at)},
            {"decay": 1.0},
        )
