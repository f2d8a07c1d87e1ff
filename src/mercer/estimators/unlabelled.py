"""Inputs whose outputs are not known: rows of y that are None, or a batch of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Items, concatenated, count, take
from ..kernels import as_kernel
from ..losses import Loss
from ..operators import OperatorKernel, Separable


@dataclass(frozen=True)
class Given:
    """What a fit is given: pairs, some of them perhaps without their output, and more inputs."""

    X: Items
    y: Items
    groups: Items | None
    unlabelled: Items | None
    weights: Any = None

    def parted(self) -> tuple[Items, Items, Items | None, Items | None, Any]:
        """The same with pairs that are whole, and all inputs without an output beside them."""
        missing = _missing(self.y)
        if not missing.any():
            return self.X, self.y, self.groups, self.unlabelled, self.weights
        if count(self.X) != len(missing):
            raise ValueError(
                f"X and y must have the same length, None for an output that is not known: got "
                f"{count(self.X)} inputs and {len(missing)} outputs."
            )
        if missing.all():
            raise ValueError("y is None in every row: at least 2 outputs must be known.")
        known, unknown = np.flatnonzero(~missing), np.flatnonzero(missing)
        groups = None if self.groups is None else [self.groups[i] for i in known]
        more = _joined(rows_of(self.X, unknown), self.unlabelled)
        weights = None if self.weights is None else np.asarray(self.weights)[known]
        return rows_of(self.X, known), [self.y[i] for i in known], groups, more, weights


def informed(kernels: list[OperatorKernel], unlabelled: Items | None) -> list[OperatorKernel]:
    """Kernels told of the inputs without output, at least one of which can use them."""
    if unlabelled is None:
        return kernels
    if not any(kernel.separable and kernel.inputs.semi_supervised for kernel in kernels):
        raise ValueError(
            f"there are inputs without output, of which {kernels[0]} can learn nothing: wrap its "
            "scalar kernel, as in LaplacianRegularized(kernel), or leave these rows out."
        )
    return [_informed(kernel, unlabelled) if kernel.separable else kernel for kernel in kernels]


def refuse_in_streams(
    kernels: list[OperatorKernel],
    losses: list[Loss | None],
    unlabelled: Items | None,
    choice: bool = True,
) -> None:
    """Refuse what needs all pairs at once where pairs come in blocks.

    A learnt operator is made of moments, but a choice would judge it by refits.
    """
    learnt = choice and any(
        kernel.separable and kernel.separated().operator.learnt for kernel in kernels
    )
    if learnt or losses != [None] or unlabelled is not None:
        raise ValueError(
            "pairs that come in blocks have no robust loss or unlabelled inputs, nor a choice "
            "between learnt operators, which need all pairs at once: pass X and y as arrays."
        )


def _informed(kernel: OperatorKernel, unlabelled: Items) -> OperatorKernel:
    separated = kernel.separated()
    return Separable(as_kernel(separated.scalar).informed(unlabelled), separated.operator)


def _missing(y: Any) -> np.ndarray:
    """Which outputs are None; arrays of numbers have no such rows."""
    if isinstance(y, list | tuple) or (isinstance(y, np.ndarray) and y.dtype == object):
        return np.array([item is None for item in y], dtype=bool)
    return np.zeros(0, dtype=bool)


def rows_of(items: Items, index: np.ndarray) -> Items:
    """Some of the items, in a container of the same kind: tables keep the names of columns."""
    if hasattr(items, "iloc"):
        return items.iloc[index]
    return take(items, index) if hasattr(items, "shape") else [items[i] for i in index]


def _joined(more: Items, unlabelled: Items | None) -> Items:
    """Both kinds of inputs without output in one batch."""
    if unlabelled is None:
        return more
    if isinstance(more, list):
        return more + list(unlabelled)
    return concatenated([A.to_numpy() if hasattr(A, "iloc") else A for A in (more, unlabelled)])
