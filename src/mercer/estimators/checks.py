"""Checks and defaults of what estimators are given."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np

from .._arrays import Items, is_foreign, namespace
from ..kernels import Kernel, Linear, as_kernel
from ..kernels.on_device import OnDevice


def output_default(kernel: Any) -> Kernel:
    """`output_kernel=None` stands for the linear kernel; a precomputed y is refused."""
    kernel = Linear() if kernel is None else as_kernel(kernel)
    if kernel.space.pairwise:
        raise ValueError(
            'output_kernel="precomputed" is not possible: scikit-learn slices only X by pairs. '
            "Use output_kernel=Precomputed(gram), with y the indices 0, 1, … of its rows."
        )
    return kernel


def all_or_none(kernels: list[Kernel]) -> bool:
    """Whether X is precomputed, under all kernels of a choice or under none."""
    kinds = {kernel.pairwise for kernel in kernels}
    if len(kinds) > 1:
        raise ValueError(
            'Cannot choose between "precomputed" and kernels that compute: the same X cannot be '
            "both. Use Precomputed(gram) with indices as X."
        )
    return kinds.pop()


def is_flat(kernel: Kernel, outputs: Items, y: Items) -> bool:
    """Whether outputs were given as plain numbers.

    Only vectors of length one can have been that; ragged curves have no ndim.
    """
    single = kernel.space.on_vectors and tuple(outputs.shape[1:]) == (1,)
    return single and (y if is_foreign(y) else np.asarray(y)).ndim == 1


def on_device(kernel: Kernel, device: str | None) -> Kernel:
    """The kernel, with its values on a device where one is named."""
    return kernel if device is None else OnDevice(kernel, device)


def positive_alpha(alpha: Any) -> float:
    """A ridge is a positive finite number."""
    if isinstance(alpha, bool) or not isinstance(alpha, Real):
        raise ValueError(f"alpha must be a positive number, got {alpha!r}.")
    try:
        value = float(alpha)
    except OverflowError:
        value = np.inf
    if not 0 < value < np.inf:
        raise ValueError(
            f"alpha must be positive and finite, got {value!r}: without a ridge the "
            "solution is not unique. Try alpha=1e-6."
        )
    return value


def warn_if_constant(kernel: Kernel, y: Items) -> None:
    """Outputs that are all one output are nearly always a mistake."""
    space, xp = kernel.space, namespace(y)
    if space.on_vectors and str(getattr(y, "dtype", "object")) != "object":
        equal = bool(xp.all(y == y[:1, ...]))
    else:
        equal = len(space.unique(y)[0]) == 1
    if equal:
        warnings.warn(
            "all outputs in y are equal: the model can only predict that one.", stacklevel=4
        )
