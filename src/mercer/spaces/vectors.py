from __future__ import annotations

from typing import Any

from .._arrays import Array, Items, as_output_array
from .base import Space, resolve


class Vectors(Space):
    """Real vectors of one length, images and other arrays of one shape; a number is a vector.

    Examples
    --------
    >>> from mercer.spaces import Vectors
    >>> Vectors().check([1.0, 2.0])
    array([[1.],
           [2.]])
    """

    name = "vectors"
    KERNEL = "kernels.Linear"
    METRIC = "metrics.squared_error"
    greater_is_better = False
    on_vectors = True

    def check(self, A: Items, name: str = "y") -> Array:
        """Finite numbers in an array of their own shape."""
        return as_output_array(A, name, owner="its kernel")

    def decoder(self, kernel: Any) -> Any:
        """The point itself where features can be undone, a fixed point where k is radial."""
        features = kernel.features
        if features is not None:
            name = "Direct" if features.inverse is not None else "Candidates"
        else:
            name = "Candidates" if kernel.radial is None else "FixedPoint"
        return resolve(f"decoders.{name}")()
