"""Derivatives of operators: of their own parameters, and of what they are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .._arrays import Array

Terms = list[tuple[float, Array]]
"""Derivatives in the Gram matrix K of the inputs: (c, M) stands for W M Wᵀ, W = (K + cI)⁻¹V."""


@dataclass(frozen=True)
class ComponentGradient:
    """Derivatives of a kernel that is diagonal in the components of the outputs.

    Attributes
    ----------
    values, most
        The positive parameters by name, and the largest values that they may have.
    vjp
        (X, the number of a scalar kernel, C) to Σ_ij C_ij ∂k(x_i, x_j)/∂θ for each name.
    """

    values: dict[str, Any]
    vjp: Callable[[Array, int, Array], dict[str, Any]]
    most: dict[str, float] = field(default_factory=dict)


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
            return {f"{part}__{name}": slope for name, slope in slopes.items()}, terms

        values, most = (
            {f"{part}__{name}": v for name, v in own.items()} for own in (self.values, self.most)
        )
        return OperatorGradient(values, vjp, most)

    def after(self, pull: Callable[[Array], Array]) -> OperatorGradient:
        """Those of a matrix made of B, whose derivative takes G to `pull(G)`."""
        return OperatorGradient(self.values, lambda G: self.vjp(pull(G)), self.most)

    def plus(self, other: OperatorGradient) -> OperatorGradient:
        """Those of a sum."""

        def vjp(G: Array) -> tuple[dict[str, Any], Terms]:
            (left, ours), (right, theirs) = self.vjp(G), other.vjp(G)
            return left | right, [*ours, *theirs]

        return OperatorGradient(self.values | other.values, vjp, self.most | other.most)
