"""Derivatives of operators: of their own parameters, and of what they are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .._arrays import Array
from ..kernels.gradients import prefixed

Terms = list[tuple[float, Array]]
"""Derivatives in the Gram matrix K of the inputs: (c, M) stands for W M Wᵀ, W = (K + cI)⁻¹V."""


@dataclass(frozen=True)
class OperatorGradient:
    """Derivatives of B with respect to its parameters and to the Gram matrix of the inputs.

    Attributes
    ----------
    values
        The positive parameters by the names that `set_params` takes.
    vjp
        A symmetric matrix G to ⟨G, ∂B/∂θ⟩ for each name, and to `Terms` of the Gram matrix.
    most
        The largest value that a name may have, where there is one.
    """

    values: dict[str, Any] = field(default_factory=dict)
    vjp: Callable[[Array], tuple[dict[str, Any], Terms]] = lambda G: ({}, [])
    most: dict[str, float] = field(default_factory=dict)

    def under(self, part: str) -> OperatorGradient:
        """The same as parameters of a part of another operator."""

        def vjp(G: Array) -> tuple[dict[str, Any], Terms]:
            slopes, terms = self.vjp(G)
            return prefixed(part, slopes), terms

        return OperatorGradient(prefixed(part, self.values), vjp, prefixed(part, self.most))

    def after(self, pull: Callable[[Array], Array]) -> OperatorGradient:
        """Those of a matrix made of B, whose derivative takes G to `pull(G)`."""
        return OperatorGradient(self.values, lambda G: self.vjp(pull(G)), self.most)

    def plus(self, other: OperatorGradient) -> OperatorGradient:
        """Those of a sum."""

        def vjp(G: Array) -> tuple[dict[str, Any], Terms]:
            (left, ours), (right, theirs) = self.vjp(G), other.vjp(G)
            return left | right, [*ours, *theirs]

        return OperatorGradient(self.values | other.values, vjp, self.most | other.most)
