from __future__ import annotations

import numpy as np

from .._arrays import Array, Items, count
from .components import ComponentGram, ComponentKernel


class Pointwise(ComponentKernel):
    """K(x, x') = scale · diag(x ∘ x'): component c of the output from component c of the input.

    The paper's diagonal regularisation is ``(1 - t) * k * Identity() + t * Pointwise()``, with
    inputs and outputs of one length: it prefers maps that change each pixel by a factor.

    Parameters
    ----------
    scale
        A number ≥ 0; ``0.3 * Pointwise()`` sets it.

    References
    ----------
    Kadri et al. (2013), Section 4.2; Weston et al. (2007).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.operators import Pointwise
    >>> X = np.array([[1.0, 2.0], [3.0, 1.0], [2.0, 2.0]])
    >>> model = KernelDependency(Pointwise(), alpha=1e-9).fit(X, X * [2.0, -1.0])
    >>> model.predict([[5.0, 5.0]]).round(3)
    array([[10., -5.]])
    """

    def __init__(self, scale: float = 1.0):
        self.scale = scale

    def scaled(self, factor: float) -> Pointwise:
        """A factor more."""
        return Pointwise(factor * self.scale)

    def fit(self, X: Items, V: Array, weights: Array | None = None) -> Pointwise:
        """Inputs and outputs must have the same components."""
        if not self.scale >= 0:
            raise ValueError(f"Pointwise is scaled by a number ≥ 0, got {self.scale!r}.")
        if X.shape[1] != V.shape[1]:
            raise ValueError(
                f"Pointwise pairs component with component, so inputs and outputs need the same "
                f"number of them: got {X.shape[1]} input and {V.shape[1]} output components. "
                "Resize one side, or use a kernel times Identity()."
            )
        super().fit(X, V)
        return self

    def by_component(self, A: Items, B: Items | None = None) -> ComponentGram:
        """A matrix of rank one for each component."""
        A = self.inputs.check(A, "A")
        B = A if B is None else self.inputs.check(B, "B")

        def scalar(c: int) -> Array:
            return self.scale * A[:, c, None] * B[None, :, c]

        return ComponentGram(np.arange(self.width_), scalar, count(A), count(B))
