"""Training pairs in memory: checked outputs, groups and weights, and kernels fitted on them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils.validation import _check_sample_weight

from .._base.arrays import (
    Items,
    count,
    dtype_name,
    host,
    is_array,
    is_batch,
    is_foreign,
    is_table,
    refuse_masked,
    take,
)
from .._base.statistics import repeat_by_weight
from ..features import FeatureMap
from ..kernels import Kernel
from ..problem import Side
from ..spaces import Records
from ..spaces.base import is_missing
from ..spaces.records import known_fields

TEXTS = ("str", "string", "String")
"""The dtypes of text columns of pandas and polars, which store None as a missing value."""


@dataclass(frozen=True)
class TrainingPairs:
    """Checked training pairs in memory, or the sample of pairs of a stream.

    Attributes
    ----------
    X, y
        The checked items.
    labels, weights
        The group of each pair, None where each is alone; the sample weights, None for ones.
    given
        The inputs as the user gave them.
    sample
        The rows that kernels and feature maps are fitted on, where the same pairs could be
        streamed; None for all.
    """

    X: Items
    y: Items
    labels: np.ndarray | None
    weights: np.ndarray | None
    given: Items
    sample: np.ndarray | None = None

    def fit_side(self, kernel: Kernel, items: Items, features: FeatureMap | None) -> Side:
        """Fit a clone of the kernel on a sample of items; return a `Side` with all items.

        Items are repeated in proportion to their sample weights, as in a stream. A kernel is fitted
        on all items if its features are a vocabulary (labels, n-grams), or if it refuses items
        that were not in the sample.
        """
        fitted = clone(kernel)
        rows = self.sample
        if rows is not None and kernel.features is not None and not kernel.on_vectors:
            rows = None
        if self.weights is not None and not kernel.pairwise:
            every = np.arange(len(self.weights)) if rows is None else rows
            rows = every[repeat_by_weight(self.weights[every])]
        fitted.fit(items if rows is None else take(items, rows))
        if self.sample is not None:
            try:
                fitted.check(items)
            except ValueError:
                fitted = clone(kernel).fit(items)
        map = None
        if features is not None and self.weights is not None:
            every = np.arange(count(items)) if self.sample is None else self.sample
            map = fit_features(features, fitted, take(items, every), self.weights[every])
        return Side(fitted, items, features, self.sample, map)


def fit_features(
    features: FeatureMap, kernel: Kernel, items: Items, weights: np.ndarray
) -> FeatureMap | None:
    """Return a feature map that is fitted with sample weights; None if it does not use them."""
    made: Any = clone(features)
    return made.fit(kernel, items, weights) if features.uses_sample_weight else None


def rows_of(items: Items, index: np.ndarray) -> Items:
    """Return the items at the positions `index`, in a container of the same type."""
    if is_table(items):
        return items.iloc[index]
    if is_array(items):
        return take(items, index)
    if isinstance(items, Mapping):  # a dictionary of columns
        return {name: rows_of(column, index) for name, column in items.items()}
    frame = nw.from_native(items, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(frame, nw.DataFrame | nw.Series):
        return frame[index].to_native()
    return [items[i] for i in index]


def group_labels(groups: Items | None, n: int) -> np.ndarray:
    """Return the group number of each of n examples; 0, …, n - 1 if `groups` is None.

    Examples
    --------
    >>> from mercer.estimators import group_labels
    >>> group_labels(["a", "b", "a"], 3)
    array([0, 1, 0])
    """
    if groups is None:
        return np.arange(n)
    if isinstance(groups, str) or not is_batch(groups):
        raise ValueError(f"groups must be a list or an array of {n} labels, got {groups!r:.60}.")
    refuse_masked(groups, "groups")
    shape = groups.shape if is_array(groups) else (len(groups),)
    if tuple(shape) != (n,):
        got = shape[0] if len(shape) == 1 else f"shape {tuple(shape)}"
        raise ValueError(f"groups must have one label for each of the {n} pairs, got {got}.")
    groups = list(host(groups) if is_array(groups) else groups)
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


def refuse_missing(y: Items, kernel: Kernel) -> None:
    """Raise an error if y has missing values; the message names an estimator that allows them."""
    plain, missing = isinstance(y, np.ndarray) and y.dtype.kind != "O", False
    if not plain:
        _refuse_none(y)
    if isinstance(kernel.space, Records):
        missing = not known_fields(kernel.space.check(y), list(kernel.space.fields)).all()
    elif kernel.space.on_vectors and not (is_foreign(y) or issparse(y)):
        with suppress(TypeError, ValueError):  # the kernel's check says what is wrong
            missing = bool(np.isnan(y if plain else as_floats(y)).any())
    if missing:
        raise ValueError(
            "Input y contains NaN or None, values that are missing: wrap the estimator in "
            "MissingTargets, for which a row counts for the targets that it has; or leave out the "
            "rows without output."
        )


def _refuse_none(y: Items) -> None:
    """Raise an error if an output is None, or is a missing value in a column of texts."""
    texts = dtype_name(y) in TEXTS
    if not isinstance(y, list | tuple) and not texts and dtype_name(y) != "object":
        return
    missing = [i for i, item in enumerate(y) if (is_missing(item) if texts else item is None)]
    if missing:
        raise ValueError(
            f"y[{missing[0]}] is None: every input needs an output. Leave such rows out, or pass "
            "their inputs to the kernel, LaplacianRegularized(kernel, unlabelled=inputs)."
        )


def as_floats(y: Items) -> np.ndarray:
    """Return outputs as an array of floats, NaN where a table has a missing value."""
    return y.to_numpy(float, na_value=np.nan) if is_table(y) else np.asarray(y, dtype=float)


def drop_zero_weights(
    weights: Any, groups: Items | None, *items: Items
) -> tuple[np.ndarray | None, np.ndarray | None, Items | None, list[Items]]:
    """Check sample weights, and drop the pairs of weight zero from weights, groups and items.

    Parameters
    ----------
    weights
        One number for each pair; None for ones.
    groups
        The labels of the pairs, or None.
    *items
        Batches with one item for each pair.

    Returns
    -------
    kept, weights, groups, items
        The indices of the pairs that are kept (None for all), and the arguments restricted to
        these pairs. Weights are None if all are one.
    """
    w = sample_weights(weights, count(items[0]))
    if w is None or (w > 0).all():
        return None, w, groups, [*items]
    kept = np.flatnonzero(w > 0)
    if len(kept) < 2:
        raise ValueError("sample_weight leaves fewer than 2 pairs to learn from.")
    w, groups = w[kept], None if groups is None else rows_of(groups, kept)
    return kept, None if (w == 1.0).all() else w, groups, [rows_of(part, kept) for part in items]


def sample_weights(weights: Any, n: int) -> np.ndarray | None:
    """Return n checked sample weights as an array; None if all are one.

    Examples
    --------
    >>> from mercer.estimators import sample_weights
    >>> sample_weights([1, 2], 2)
    array([1., 2.])
    """
    if weights is None:
        return None
    refuse_masked(weights, "sample_weight")
    w = _check_sample_weight(weights, np.empty(n), dtype=np.float64)
    if (w < 0).any():
        raise ValueError("sample_weight must be ≥ 0: it has negative values.")
    if not (w > 0).any():
        raise ValueError("sample_weight is zero for every pair: at least 2 must count.")
    return None if (w == 1.0).all() else w
