"""Encoders of the contexts of inputs: label sets, or any items that a kernel compares."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ..._base.arrays import Items, host, take
from ..._base.checks import Limits, bounded, finite, must
from ...features import FeatureMap, IncompleteCholesky
from ...kernels import Alphabet, Kernel, as_kernel
from ._keys import extend_hashes, feature_seed

CONTEXT_RANK = 12
"""The number of coordinates of a context that has a kernel."""
ALL = 1 << 40
"""Added to the number of labels before it is mixed into the key of a whole set."""


@dataclass(frozen=True)
class LabelContext:
    """Encoder of contexts that are label sets.

    The kernel counts common labels.

    Attributes
    ----------
    labels
        The labels of the training contexts.
    width
        The largest number of labels of a training pair.
    """

    labels: Alphabet
    width: int

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless the labels are an alphabet and the width is valid."""
        must(isinstance(self.labels, Alphabet), "labels is not an alphabet")
        bounded(self.width, "width", 0, limits.steps)

    @classmethod
    def of(cls, context: Items) -> LabelContext:
        """Return the encoder of the labels in the contexts of the training pairs."""
        sets = label_lists(context)
        return cls(Alphabet.of(sets), max(map(len, sets), default=0))

    def tokens(self, context: Items) -> list[tuple]:
        """Return the labels of each context."""
        return label_lists(context)

    def keys(self, context: Items) -> tuple[np.ndarray, None]:
        """Return hash keys of the labels of each context; the last column is for the whole set.

        The second result is None: all coordinates are one.
        """
        codes = self.labels.encode(self.tokens(context))
        keys = np.zeros((len(codes.lengths), self.width + 1), dtype=np.uint64)
        inside = codes.positions < self.width
        keys[codes.rows[inside], codes.positions[inside]] = extend_hashes(
            feature_seed(900), codes.flat[inside] + 2
        )
        each = extend_hashes(feature_seed(901), codes.flat + 2)
        total = np.zeros(len(keys), dtype=np.uint64)
        np.add.at(total, codes.rows, each)  # the same whatever the order of the labels
        keys[:, -1] = extend_hashes(total, codes.lengths + ALL)
        return keys, None


@dataclass(frozen=True)
class KernelContext:
    """Encoder of contexts that a kernel compares, by low-rank coordinates.

    Attributes
    ----------
    features
        The fitted feature map.
    scale
        The factor of the coordinates that makes the mean squared length of contexts one.
    labels
        Whether contexts are label sets, whose labels become tokens of the input.
    """

    features: FeatureMap
    scale: float
    labels: bool

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless the feature map and the scale are valid."""
        must(isinstance(self.features, FeatureMap), "features is not a feature map")
        finite(self.scale, "scale")

    @classmethod
    def of(cls, context: Items, kernel: Kernel, labels: bool) -> KernelContext:
        """Return the encoder with a low-rank feature map fitted to the training contexts.

        `labels` says whether contexts are label sets.
        """
        kernel = clone(kernel).fit(context)
        features = IncompleteCholesky(min(CONTEXT_RANK, len(context)))
        U = host(features.fit_transform(kernel, kernel.check(context, "context")))
        return cls(features, 1.0 / max(np.sqrt((U**2).sum(axis=1).mean()), 1e-300), labels)

    def tokens(self, context: Items) -> list[tuple]:
        """Return the labels of each context; no labels if contexts are not label sets."""
        return label_lists(context) if self.labels else [()] * len(context)

    def keys(self, context: Items) -> tuple[np.ndarray, np.ndarray]:
        """Return a hash key for each low-rank coordinate, and the coordinates of each context."""
        try:
            checked = self.features.kernel_.check(context, "context")
        except (TypeError, ValueError) as problem:
            raise ValueError(
                f"context does not fit what the model was fitted with: {problem}"
            ) from None
        U = self.scale * host(self.features.transform(checked)).astype(np.float64)
        keys = extend_hashes(feature_seed(902), np.arange(U.shape[1]))
        return np.tile(keys, (len(U), 1)), U


def fit_context_coder(
    context: Items, kernel: Kernel | str | None
) -> LabelContext | KernelContext | None:
    """Return the encoder fitted to the training contexts; None if there is no context."""
    if context is None:
        if kernel is not None:
            raise ValueError("context_kernel is given but no context: pass context=… to fit.")
        return None
    if kernel is None:
        return LabelContext.of(context)
    labels = all(isinstance(item, list | tuple | set | frozenset) for item in context)
    return KernelContext.of(context, as_kernel(kernel), labels)


def check_context(context: Items, n: int) -> Items:
    """Check that there are n contexts, and return them; rows of a label array become tuples."""
    context = context.to_numpy() if hasattr(context, "to_numpy") else context
    if isinstance(context, str) or not hasattr(context, "__len__"):
        raise ValueError(f"context must be a list or an array of {n} items, got {context!r:.60}.")
    if len(context) != n:
        raise ValueError(f"context must have one item for each of {n} inputs, got {len(context)}.")
    rows = isinstance(context, np.ndarray) and context.ndim == 2
    return [tuple(row) for row in context] if rows and context.dtype.kind in "OUST" else context


def label_lists(context: Items) -> list[tuple]:
    """Return the labels of each context as a tuple; raise an error if one is not a label set."""
    return [_label_list(item, i) for i, item in enumerate(context)]


def _label_list(item: Any, i: int) -> tuple:
    """Return the labels of context i as a tuple, sorted if it is a set."""
    if isinstance(item, Hashable) and not isinstance(item, tuple | frozenset):
        return (item,)
    if isinstance(item, set | frozenset):
        return tuple(sorted(item, key=lambda label: (type(label).__name__, label)))
    if isinstance(item, list | tuple) and all(isinstance(label, Hashable) for label in item):
        return tuple(item)
    raise ValueError(
        f"context[{i}] must be a label or a list or set of labels, got {item!r:.60}. Pass "
        'context_kernel=… for other items, such as RBF("median") for rows of numbers.'
    )


def take_context(context: Items, rows: np.ndarray) -> Items:
    """Return the contexts with the given indices; None if there is no context."""
    return None if context is None else take(context, rows)
