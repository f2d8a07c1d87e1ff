"""Training pairs held whole: those whose output is known, checked, with what goes with each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import Items, concatenated, count, take
from ..features import FeatureMap
from ..kernels import Kernel, as_kernel
from ..losses import Loss
from ..operators import OperatorKernel, Separable
from ..problem import Side

MOST = 10**6
"""Rows that whole weights may stand for when they are written out."""


@dataclass(frozen=True)
class Data:
    """Training data held whole: checked inputs and outputs, and what goes with each pair.

    Attributes
    ----------
    X, y
        The checked items.
    labels, weights
        The group of each pair, None where each is alone; the sample weights, None for ones.
    given
        The inputs as the user gave them.
    sample
        The rows that length scales and landmarks are settled on, where the same pairs could come
        in blocks; None for all.
    """

    X: Items
    y: Items
    labels: np.ndarray | None
    weights: np.ndarray | None
    given: Items
    sample: np.ndarray | None = None

    def side(self, kernel: Kernel, items: Items, features: FeatureMap | None) -> Side:
        """Inputs or outputs under a kernel, a clone of which is fitted here.

        It is fitted on the sample, as sources that are not held whole do. Finite features name
        what occurs in the data (labels, n-grams), and so does whatever a kernel that has seen the
        sample alone refuses: then on all.
        """
        fitted = clone(kernel)
        seen = kernel.check(items, "X") if items is self.X else items
        if self.sample is None or kernel.features is not None:
            if self.weights is not None and not kernel.pairwise:
                seen = take(seen, repeats(self.weights))  # as often as they weigh
            fitted.fit(seen)
        else:
            fitted.fit(take(seen, self.sample))
            try:
                fitted.check(seen)
            except ValueError:
                fitted = clone(kernel).fit(seen)
        return Side(fitted, items, features, self.sample)


def repeats(weights: np.ndarray) -> np.ndarray:
    """Positions repeated by weight: exactly for whole numbers, else to a quarter of the mean."""
    whole_numbers = bool((weights == np.round(weights)).all())
    fine = weights if whole_numbers and weights.sum() <= MOST else 4.0 * weights / weights.mean()
    return np.repeat(np.arange(len(weights)), np.maximum(1, np.round(fine).astype(int)))


def parted(
    X: Items, y: Items, groups: Items | None, unlabelled: Items | None, weights: Any
) -> tuple[Items, Items, Items | None, Items | None, Any]:
    """Pairs that are whole, and all inputs whose output is None, or that came without, beside."""
    if not isinstance(y, list | tuple) and str(getattr(y, "dtype", "")) != "object":
        return X, y, groups, unlabelled, weights  # arrays of numbers have no such rows
    missing = np.array([item is None for item in y], dtype=bool)
    if not missing.any():
        return X, y, groups, unlabelled, weights
    if count(X) != len(missing):
        raise ValueError(
            f"X and y must have the same length, None for an output that is not known: got "
            f"{count(X)} inputs and {len(missing)} outputs."
        )
    if missing.all():
        raise ValueError("y is None in every row: at least 2 outputs must be known.")
    known, unknown = np.flatnonzero(~missing), np.flatnonzero(missing)
    groups = None if groups is None else [groups[i] for i in known]
    more = _joined(rows_of(X, unknown), unlabelled)
    weights = None if weights is None else np.asarray(weights)[known]
    return rows_of(X, known), [y[i] for i in known], groups, more, weights


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
