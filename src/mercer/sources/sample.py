"""Uniform samples of pairs that do not depend on how the pairs are divided into blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._base.arrays import Items, concatenated, count, take
from ..features import FeatureMap

SIZE = 4096
"""The default number of pairs in a sample; a feature map of high rank needs more."""


@dataclass(frozen=True)
class Sample:
    """A uniform random sample: the `size` pairs with the smallest random keys.

    The key of a pair depends on the seed and on the number of the pair only. The sum of the samples
    of all blocks is therefore the sample of all data, however the data are divided into blocks. Of
    at most `size` pairs all are in the sample, in order. Pairs of weight zero are left out.

    Attributes
    ----------
    keys, numbers
        The random keys of the pairs in the sample, and their numbers in the data.
    X, y
        The pairs, in order; None before the first.
    w
        Their sample weights; None for ones.

    References
    ----------
    Vitter 1985 (reservoirs); Cohen and Kaplan 2007 (bottom-k sketches, which add).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.sources import Sample
    >>> X = np.arange(100)
    >>> whole = Sample(3).with_block(0, X, X)
    >>> parts = Sample(3).with_block(0, X[:70], X[:70]) + Sample(3).with_block(70, X[70:], X[70:])
    >>> bool((whole.X == parts.X).all())
    True
    """

    size: int
    seed: int = 0
    keys: np.ndarray | None = None
    numbers: np.ndarray | None = None
    X: Items = None
    y: Items = None
    w: np.ndarray | None = None

    def with_block(self, start: int, X: Items, y: Items, w: np.ndarray | None = None) -> Sample:
        """Return the sample after one more block, whose first pair has the number `start`."""
        keys = random_keys(self.seed, start, count(X))
        limit = np.inf if self.keys is None or len(self.keys) < self.size else self.keys.max()
        near = np.flatnonzero((keys < limit) if w is None else (keys < limit) & (w > 0))
        near = near[positions_of_smallest(keys[near], self.size)]
        if not len(near):
            return self
        kept = take(X, near), take(y, near), None if w is None else w[near]
        return self + Sample(self.size, self.seed, keys[near], start + near, *kept)

    def __add__(self, other: Sample) -> Sample:
        if self.keys is None or other.keys is None:
            return self if other.keys is None else other
        keys = np.concatenate([self.keys, other.keys])
        numbers = np.concatenate([self.numbers, other.numbers])
        best = positions_of_smallest(keys, self.size)
        best = best[np.argsort(numbers[best])]
        X, y = (take(concatenated([a, b]), best) for a, b in ((self.X, other.X), (self.y, other.y)))
        w = None
        if self.w is not None or other.w is not None:
            w = np.concatenate([_weights_or_ones(self), _weights_or_ones(other)])[best]
        return Sample(self.size, self.seed, keys[best], numbers[best], X, y, w)


def sample_size(*maps: FeatureMap | None) -> int:
    """Return how many pairs to sample: at least twice the rank of every feature map."""
    ranks = [map.get_params(deep=False).get("rank") or 0 for map in maps if map is not None]
    return max([SIZE, *(2 * rank for rank in ranks if isinstance(rank, int | np.integer))])


def sampled_rows(n: int, size: int, kept: np.ndarray | None = None) -> np.ndarray | None:
    """Draw `size` of n rows at random, in increasing order; None if all rows are used.

    Parameters
    ----------
    n
        How many pairs were given.
    size
        How many to sample.
    kept
        The pairs with a positive weight; the result has positions among them. None for all pairs.
    """
    if (n if kept is None else len(kept)) <= size:
        return None
    keys = random_keys(0, 0, n)
    return np.sort(positions_of_smallest(keys if kept is None else keys[kept], size))


def random_keys(seed: int, start: int, n: int) -> np.ndarray:
    """Return random keys of the n pairs with the numbers start, start + 1, …."""
    return np.random.Generator(np.random.PCG64(seed).advance(start)).random(n)


def positions_of_smallest(keys: np.ndarray, size: int) -> np.ndarray:
    """Return the positions of the `size` smallest keys, in increasing order of position."""
    if len(keys) <= size:
        return np.arange(len(keys))
    return np.sort(np.argpartition(keys, size)[:size])


def _weights_or_ones(sample: Sample) -> np.ndarray:
    """Return the sample weights of the pairs of a sample; ones if there are no weights."""
    return np.ones(count(sample.y)) if sample.w is None else sample.w
