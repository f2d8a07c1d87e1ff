"""Sets of outputs, and the weighted quantiles that settle how large they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._arrays import Items, host, one
from ..kernels import Kernel
from ..spaces import Space


@dataclass(frozen=True)
class Ball:
    """All outputs within `radius` of `center`, in the feature space of the output kernel."""

    center: Any
    radius: float
    kernel: Kernel = field(repr=False)

    def __contains__(self, y: Any) -> bool:
        pair = np.stack([np.asarray(self.center), _shaped(y, np.shape(self.center))])
        F = host(self.kernel.features(self.kernel.as_outputs(pair)))
        return bool(np.linalg.norm(F[0] - F[1]) <= self.radius)

    @property
    def size(self) -> float:
        """The radius."""
        return self.radius


@dataclass(frozen=True)
class Band:
    """All curves (or vectors) that stay between `lower` and `upper` everywhere."""

    lower: np.ndarray
    upper: np.ndarray

    def __contains__(self, y: Any) -> bool:
        y = _shaped(y, np.shape(self.lower))
        return bool(np.all((self.lower <= y) & (y <= self.upper)))

    @property
    def size(self) -> float:
        """The mean width."""
        return float(np.mean(self.upper - self.lower))


@dataclass(frozen=True)
class Bands(Sequence):
    """The bands of a batch of inputs, as two arrays; ``bands[i]`` is the `Band` of one input.

    Attributes
    ----------
    lower, upper
        One row an input, in the shape of an output.
    """

    lower: np.ndarray
    upper: np.ndarray

    def __len__(self) -> int:
        return len(self.lower)

    def __getitem__(self, which: Any) -> Any:
        kind = Bands if isinstance(which, slice) else Band
        return kind(self.lower[which], self.upper[which])

    def __iter__(self) -> Iterator[Band]:
        return map(Band, self.lower, self.upper)


def size(a_set: Any) -> float:
    """The number of outputs in a list, the radius of a ball, the mean width of a band."""
    return float(len(a_set)) if isinstance(a_set, list) else a_set.size


def contain(sets: Sequence, y: Items, space: Space) -> np.ndarray:
    """Whether each set holds the output beside it."""
    if isinstance(sets[0], list):
        keys = space.keys
        return np.array([key in keys(some) for key, some in zip(keys(y), sets, strict=True)])
    return np.array([host(one(y, i)) in some for i, some in enumerate(sets)])


def _shaped(y: Any, shape: tuple) -> np.ndarray:
    """An output as an array of the shape that sets have."""
    y = np.asarray(y)
    if y.shape != shape:
        raise ValueError(f"an output of this set has shape {shape}, got {y.shape}.")
    return y


def row_weights(labels: np.ndarray) -> np.ndarray:
    """What each calibration row weighs: groups alike, and alike the one that is to come.

    One over (K + 1) for each of K groups, shared by its rows; what is left, 1 / (K + 1), is the
    weight of the new group, whose score is unknown.
    """
    sizes = np.bincount(labels)
    return 1.0 / ((len(sizes) + 1.0) * sizes[labels])


def weighted_quantile(scores: np.ndarray, weights: np.ndarray, level: float) -> np.ndarray:
    """The smallest score that at least `level` of the weight does not exceed, along the last axis.

    Infinite where all of the scores together weigh less than that.
    """
    order = np.argsort(scores, axis=-1)
    ranked = np.take_along_axis(scores, order, axis=-1)
    # A tolerance: 18 / 20 of the weight is nine tenths, whatever rounding says.
    enough = np.cumsum(weights[order], axis=-1) >= level - 1e-12
    first = np.argmax(enough, axis=-1)
    found = np.take_along_axis(ranked, first[..., None], axis=-1)[..., 0]
    return np.where(enough.any(axis=-1), found, np.inf)


def largest_share(outside: np.ndarray, labels: np.ndarray, confidence: float = 0.95) -> float:
    """An upper confidence bound on how likely a new group has an output of this sort.

    Clopper and Pearson's, over groups; a group counts where one of its rows does.
    """
    from scipy.stats import beta  # slow to import, not always needed

    groups = np.unique(labels)
    hit = len(np.unique(labels[outside]))
    return 1.0 if hit == len(groups) else float(beta.ppf(confidence, hit + 1, len(groups) - hit))


def predicted_directly(kernel: Any) -> bool:
    """Whether outputs are vectors that are linear in the points."""
    undone = kernel.features is not None and kernel.features.inverse is not None
    return bool(undone and kernel.on_vectors)
