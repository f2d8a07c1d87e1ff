"""Training pairs held whole: those whose output is known, groups and weights, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.arrays import Items, concatenated, count, host, take
from ..kernels import Kernel, as_kernel
from ..operators import OperatorKernel, Separable
from ..spaces import Records
from ..spaces.records import known_fields


def split_unlabelled(
    X: Items, y: Items, groups: Items | None, unlabelled: Items | None, weights: Any
) -> tuple[Items, Items, Items | None, Items | None, Any]:
    """Split off the inputs whose output is None, and join them with the unlabelled ones."""
    if not isinstance(y, list | tuple) and str(getattr(y, "dtype", "")) != "object":
        return X, y, groups, unlabelled, weights
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


def with_unlabelled(
    kernels: list[OperatorKernel], unlabelled: Items | None
) -> list[OperatorKernel]:
    """Return kernels that know the inputs without output; at least one must be able to."""
    if unlabelled is None:
        return kernels
    if not any(kernel.separable and kernel.inputs.semi_supervised for kernel in kernels):
        raise ValueError(
            f"there are inputs without output, of which {kernels[0]} can learn nothing: wrap its "
            "scalar kernel, as in LaplacianRegularized(kernel), or leave these rows out."
        )
    return [
        _with_unlabelled(kernel, unlabelled) if kernel.separable else kernel for kernel in kernels
    ]


def _with_unlabelled(kernel: OperatorKernel, unlabelled: Items) -> OperatorKernel:
    separated = kernel.separated()
    return Separable(as_kernel(separated.scalar).with_unlabelled(unlabelled), separated.operator)


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


def group_labels(groups: Items | None, n: int) -> np.ndarray:
    """Number the group of each example; without groups each example is one."""
    if groups is None:
        return np.arange(n)
    if isinstance(groups, str) or not hasattr(groups, "__len__"):
        raise ValueError(f"groups must be a list or an array of {n} labels, got {groups!r:.60}.")
    shape = getattr(groups, "shape", (len(groups),))
    if tuple(shape) != (n,):
        got = shape[0] if len(shape) == 1 else f"shape {tuple(shape)}"
        raise ValueError(f"groups must have one label for each of the {n} pairs, got {got}.")
    groups = list(host(groups)) if hasattr(groups, "shape") else list(groups)
    try:
        hash(tuple(groups))
    except TypeError as problem:
        raise ValueError(
            f"groups must be labels such as numbers or strings, one for each pair ({problem})."
        ) from None
    missing = [i for i, group in enumerate(groups) if group is None or group != group]
    if missing:
        raise ValueError(f"groups[{missing[0]}] is missing: every pair needs a label.")
    numbers: dict[Any, int] = {}
    labels = np.array([numbers.setdefault(group, len(numbers)) for group in groups])
    if len(numbers) < 2:
        raise ValueError("groups has a single label: leaving it out leaves nothing to learn from.")
    return labels


def refuse_unequal(X: Items, y: Items) -> None:
    """Refuse inputs and outputs that differ in number."""
    if count(X) != count(y):
        raise ValueError(f"X and y must have the same length: got {count(X)} and {count(y)}.")


def refuse_missing(y: Items, kernel: Kernel) -> None:
    """Refuse outputs with missing values, and name the estimator that learns from them."""
    if isinstance(kernel.space, Records):
        names = list(kernel.space.fields)
        missing = not known_fields(kernel.space.check(y), names).all()
    else:
        held = isinstance(y, np.ndarray) or hasattr(y, "iloc")
        values = np.asarray(y) if held and kernel.space.on_vectors else np.zeros(0)
        missing = values.dtype.kind == "f" and bool(np.isnan(values).any())
    if missing:
        raise ValueError(
            "Input y contains NaN or None, values that are missing: wrap the estimator in "
            "MissingTargets, for which a row counts for the targets that it has; or leave out the "
            "rows without output."
        )


def folds_of(labels: np.ndarray, number: int) -> np.ndarray:
    """The fold of each example, groups kept whole, drawn alike for all models of some data."""
    groups = int(labels.max()) + 1
    return np.random.RandomState(0).permutation(groups)[labels] % min(number, groups)


def counting_rows(weights: np.ndarray | None) -> np.ndarray | None:
    """Return the pairs of positive weight; None if all pairs count."""
    if weights is None or (weights > 0).all():
        return None
    kept = np.flatnonzero(weights > 0)
    if len(kept) < 2:
        raise ValueError("sample_weight leaves fewer than 2 pairs to learn from.")
    return kept


def sample_weights(weights: Any, n: int) -> np.ndarray | None:
    """Check sample weights; None where all are one."""
    from sklearn.utils.validation import _check_sample_weight

    if weights is None:
        return None
    w = _check_sample_weight(weights, np.empty(n), dtype=np.float64)
    if (w < 0).any():
        raise ValueError("sample_weight must be ≥ 0: it has negative values.")
    if not (w > 0).any():
        raise ValueError("sample_weight is zero for every pair: at least 2 must count.")
    return None if (w == 1.0).all() else w
