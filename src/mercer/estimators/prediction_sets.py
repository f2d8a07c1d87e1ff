"""Sets of outputs, and how large they are: weighted quantiles of calibration scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._arrays import Items, count, host, one
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
    mass = row_mass(labels)
    return mass / (mass.sum() + 1.0)


def row_mass(labels: np.ndarray) -> np.ndarray:
    """One over the size of each row's group: the probability of the row in a random draw of it."""
    return 1.0 / np.bincount(labels)[labels]


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


def settled_radii(
    sets: Any, X: Items, names: list | None, scores: np.ndarray, labels: np.ndarray
) -> Any:
    """What `radii_at` needs: a quantile of the scores of calibration pairs, groups counting alike.

    One number; a dictionary by category (Mondrian sets); an array over the candidates for
    by="class"; for inputs to come of another distribution (weighted conformal prediction) the
    sorted scores, and what calibration pairs up to each of them weigh.
    """
    if sets.shift is not None:
        weights, order = (
            density_ratios(sets.shift, X) / np.bincount(labels)[labels],
            np.argsort(scores),
        )
        return scores[order], np.cumsum(weights[order])
    if names is None:
        return float(weighted_quantile(scores, row_weights(labels), sets.level_))
    found = {
        name: float(weighted_quantile(scores[rows], category_weights(labels, rows), sets.level_))
        for name, rows in rows_by_category(names).items()
    }
    if sets.by != "class":
        return found
    return np.array([found.get(i, np.inf) for i in range(len(sets.shape_.number))])


def radii_at(sets: Any, X: Items) -> np.ndarray:
    """The radius of each input, infinite in a category that was not seen.

    With by="class" one row an input, one column a candidate.
    """
    if sets.shift is not None:
        # The new input itself weighs too, with a score of infinity.
        scores, reached = sets.radii_
        wanted = sets.level_ * (reached[-1] + density_ratios(sets.shift, X))
        return np.append(scores, np.inf)[np.searchsorted(reached, wanted * (1 - 1e-12))]
    if isinstance(sets.radii_, dict):
        return np.array([sets.radii_.get(name, np.inf) for name in categories(sets.by, X)])
    return np.broadcast_to(sets.radii_, (count(X), *np.shape(sets.radii_)))


def categories(by: Callable[[Items], Any], X: Items) -> list:
    """The category of each input, as `by` names it."""
    names = [name.item() if isinstance(name, np.generic) else name for name in by(X)]
    if len(names) != count(X):
        raise ValueError(
            f"by must return one category for each of the {count(X)} inputs, got {len(names)}."
        )
    return names


def density_ratios(shift: Callable[[Items], Any], X: Items) -> np.ndarray:
    """How much likelier each input is among those to come, as `shift` tells."""
    weights = np.asarray(shift(X), dtype=float)
    if weights.shape != (count(X),) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(
            f"shift must return a weight ≥ 0 for each of the {count(X)} inputs: how much likelier "
            f"it is among the inputs to come; got an array of shape {weights.shape}."
        )
    return weights


def rows_by_category(names: list) -> dict[Any, np.ndarray]:
    """The calibration rows of each category."""
    found: dict[Any, list[int]] = {}
    for row, name in enumerate(names):
        found.setdefault(name, []).append(row)
    return {name: np.array(rows) for name, rows in found.items()}


def category_weights(labels: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The weights of the rows of one category, by which sets hold a random row of it.

    A new example is a random row of a new group. Given its category, a group counts in proportion
    to the fraction of its rows in that category, so that a row weighs one over the size of its
    whole group. The new group counts as one, the most that it can.
    """
    mass = row_mass(labels)[rows]
    return mass / (mass.sum() + 1.0)


def fewest_groups(names: list | None, labels: np.ndarray) -> float:
    """The number of groups in the smallest category, each by the fraction of its rows there."""
    mass = row_mass(labels)
    if names is None:
        return float(mass.sum())
    return min(float(mass[rows].sum()) for rows in rows_by_category(names).values())
