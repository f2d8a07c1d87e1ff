"""Convex mixtures of operators, and the grids of them that leave-one-out chooses from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .._arrays import Array, namespace
from ..kernels.base import whole
from .base import Operator, dense
from .moments import Moments


class Mixture(Operator):
    """B = Σ_m w_m B_m / mean(eigenvalues of B_m), with weights w_m ≥ 0 that sum to one.

    Each part is brought to a mean eigenvalue of one first (the identity stays as it is), so that
    weights mean the same whatever the units of the outputs.

    Parameters
    ----------
    operators
        The parts.
    weights
        One for each part.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import Covariance, Identity, Mixture, Moments
    >>> V = np.diag([np.sqrt(6.0), np.sqrt(2.0)])
    >>> Mixture([Identity(), Covariance()], [0.5, 0.5]).matrix(Moments.of(V, V))
    array([[1.25, 0.  ],
           [0.  , 0.75]])
    """

    def __init__(self, operators: Sequence[Operator], weights: Sequence[float]):
        self.operators = operators
        self.weights = weights

    def __str__(self) -> str:
        parts = zip(self.weights, self.operators, strict=False)
        return f"Mixture({' + '.join(f'{w:g} {operator}' for w, operator in parts)})"

    own_coordinates = property(lambda self: any(part.own_coordinates for part in self._parts()))

    def matrix(self, moments: Moments) -> Array:
        """The weighted sum of the normalised matrices; parts of weight zero are not computed."""
        used = [(w, part) for w, part in zip(self._checked(), self.operators, strict=True) if w]
        matrices = [w * _normalised(part.matrix(moments)) for w, part in used]
        if len({B.ndim for B in matrices}) > 1:
            matrices = [dense(B) for B in matrices]
        return sum(matrices[1:], start=matrices[0])

    def _parts(self) -> Sequence[Operator]:
        for part in self.operators:
            if not isinstance(part, Operator) or part.learnt:
                raise TypeError(
                    f"Mixture mixes operators that the moments give, such as Identity() and "
                    f"Covariance(); got {part!r}."
                )
        return self.operators

    def _checked(self) -> list[float]:
        self._parts()
        weights = np.asarray(self.weights, dtype=float)
        if weights.shape != (len(self.operators),):
            raise ValueError(
                f"Mixture needs one weight for each of its {len(self.operators)} operators, got "
                f"{self.weights!r}."
            )
        if not ((weights >= 0).all() and np.isclose(weights.sum(), 1)):
            raise ValueError(
                f"the weights of a Mixture must be ≥ 0 and sum to 1, got {self.weights!r}."
            )
        return weights.tolist()


def mixtures(operators: Sequence[Operator], steps: int = 4) -> list[Mixture]:
    """All mixtures with weights that are multiples of 1 / steps, the pure operators among them.

    Examples
    --------
    >>> from mercer.operators import Covariance, Identity, mixtures
    >>> [mixture.weights for mixture in mixtures([Identity(), Covariance()], steps=2)]
    [(0.0, 1.0), (0.5, 0.5), (1.0, 0.0)]
    """
    if len(operators) == 0:
        raise ValueError("mixtures([]) has nothing to mix: give at least one operator.")
    shares = _shares(len(operators), whole(steps, "steps"))
    return [Mixture(list(operators), tuple(i / steps for i in share)) for share in shares]


def _shares(parts: int, total: int) -> Iterator[tuple[int, ...]]:
    """All ways to deal `total` pieces out to `parts` places."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        yield from ((first, *rest) for rest in _shares(parts - 1, total - first))


def _normalised(B: Array) -> Array:
    """B over its mean eigenvalue; zero stays zero."""
    xp = namespace(B)
    mean = float(xp.mean(B if B.ndim == 1 else xp.linalg.diagonal(B)))
    return B / mean if mean > 0 else B
