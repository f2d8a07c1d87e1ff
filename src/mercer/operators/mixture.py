"""Convex mixtures of operators, and the grids of them that leave-one-out chooses from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np

from .._base.arrays import Array
from .._base.parameters import integer
from .._base.symmetric import add, inner, trace
from .base import Operator
from .moments import Moments


class Mixture(Operator):
    r"""Convex combination of operators, each normalised to the same size.

    :math:`B = \sum_m w_m B_m \operatorname{tr}(S_{vv}) / \operatorname{tr}(B_m S_{vv})`, with
    weights :math:`w_m \ge 0` that sum to one.

    Each operator is first scaled such that the outputs have a mean weight of one, which leaves the
    identity unchanged. The meaning of the weights then depends neither on the units of the outputs
    nor on columns of zeros that are appended to them.

    Parameters
    ----------
    operators : sequence of Operator
        The operators to mix.
    weights : sequence of float
        One weight for each operator.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import Covariance, Identity, Mixture, Moments
    >>> V = np.diag([np.sqrt(6.0), np.sqrt(2.0)])
    >>> Mixture([Identity(), Covariance()], [0.5, 0.5]).matrix(Moments.of(V, V))
    array([[1.1, 0. ],
           [0. , 0.7]])
    """

    def __init__(self, operators: Sequence[Operator], weights: Sequence[float]):
        self.operators = operators
        self.weights = weights

    def __str__(self) -> str:
        parts = zip(self.weights, self.operators, strict=False)
        return f"Mixture({' + '.join(f'{w:g} {operator}' for w, operator in parts)})"

    own_coordinates = property(
        lambda self: any(part.own_coordinates for part in self._checked_operators())
    )

    def matrix(self, moments: Moments) -> Array:
        """Return the weighted sum of the normalised matrices of the operators."""
        used = [
            (w, part) for w, part in zip(self._checked_weights(), self.operators, strict=True) if w
        ]
        matrices = (w * _normalised(part.matrix(moments), moments.vv) for w, part in used)
        return reduce(add, matrices)

    def _checked_operators(self) -> Sequence[Operator]:
        """Return the operators after a check that none depends on the ridge."""
        for part in self.operators:
            if not isinstance(part, Operator) or part.depends_on_ridge:
                raise TypeError(
                    f"Mixture mixes operators that the moments give, such as Identity() and "
                    f"Covariance(); got {part!r}."
                )
        return self.operators

    def _checked_weights(self) -> list[float]:
        """Return the weights after a check that they are ≥ 0 and sum to 1."""
        self._checked_operators()
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
    """Return all mixtures of operators whose weights are multiples of 1 / `steps`.

    Parameters
    ----------
    operators : sequence of Operator
        The operators; a mixture with one weight 1 has one of them alone.
    steps : int, default=4
        The number of steps from weight 0 to weight 1.

    Examples
    --------
    >>> from mercer.operators import Covariance, Identity, mixtures
    >>> [mixture.weights for mixture in mixtures([Identity(), Covariance()], steps=2)]
    [(0.0, 1.0), (0.5, 0.5), (1.0, 0.0)]
    """
    if len(operators) == 0:
        raise ValueError("mixtures([]) has nothing to mix: give at least one operator.")
    shares = _compositions(len(operators), integer(steps, "steps"))
    return [Mixture(list(operators), tuple(i / steps for i in share)) for share in shares]


def _compositions(parts: int, total: int) -> Iterator[tuple[int, ...]]:
    """Yield all tuples of `parts` integers ≥ 0 that sum to `total`."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        yield from ((first, *rest) for rest in _compositions(parts - 1, total - first))


def _normalised(B: Array, vv: Array) -> Array:
    """Return B divided by tr(B vv) / tr(vv), where `vv` has the output moments."""
    given, size = inner(B, vv), trace(vv)
    return B / (given / size) if given > 0 and size > 0 else B
