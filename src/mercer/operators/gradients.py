"""Derivatives of operators in the input Gram matrix, and of `Local` in its parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.arrays import Array, like
from ..kernels.gradients import ParameterGradient, added, total

Terms = list[tuple[float, Array]]
"""Derivatives in the Gram matrix K of the inputs: (c, M) stands for W M Wᵀ, W = (K + cI)⁻¹V."""


def local_gradient(kernel: Any) -> ParameterGradient:
    """Return the derivatives of a fitted `Local`, neighbourhood by neighbourhood."""
    inner = kernel.kernel_.parameter_gradient.under("kernel")
    weighted = kernel.roots_ is not None and kernel.width is not None
    own = {"width": float(kernel.width)} if weighted else {}
    own |= {"floor": float(kernel.floor)} if weighted and kernel.floor > 0 else {}

    def vjp(X: Array, label: int, C: Array) -> dict[str, Any]:
        flat = kernel._flat(X)
        if kernel.roots_ is None:
            boxes = [kernel._view(flat, int(p)) for p in np.flatnonzero(kernel.members_[label])]
            found: dict[str, Any] = {}
            for seen in boxes:
                found = added(found, inner.vjp(seen, seen, C))
            return found
        seen = kernel._view(flat, label)
        return inner.vjp(seen, seen, C) | _weights(kernel, flat, seen, label, C, own)

    return ParameterGradient(own | inner.values, vjp, most=inner.most)


def _weights(
    kernel: Any, flat: Array, seen: Array, label: int, C: Array, own: dict[str, float]
) -> dict[str, float]:
    """Return derivatives in width and floor, through the items √ω ∘ x."""
    if not own:
        return {}
    items = kernel.kernel_.item_gradient
    if items is None:
        raise ValueError(f"{kernel.kernel_} has no derivatives in its items: use a smooth kernel.")
    G = items.vjp(seen, seen, C + C.T) * flat
    roots = kernel.roots_[label]
    near = np.maximum(roots**2 - kernel.floor, 0.0)
    logs = np.log(np.where(near > 0, near, 1.0))
    half = 0.5 / np.where(roots > 0, roots, np.inf)
    slopes = {"width": half * near * (-2.0 * logs) / kernel.width, "floor": half}
    return {name: total(G * like(slopes[name], G)) for name in own}
