"""A uniform sample of a stream that does not depend on how the stream is cut into blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse, vstack

from .._arrays import Items, count, namespace, take


@dataclass(frozen=True)
class Sample:
    """The `size` pairs with the smallest random keys: each pair of the stream equally likely.

    The key of a pair is a function of the seed and of its place in the stream alone, so that
    samples of parts add up to the sample of the whole in any order and under any cut. A stream
    that is no longer than `size` is its own sample, in order.

    Attributes
    ----------
    keys, places
        The random keys of the pairs that were kept, and their places in the stream.
    X, y
        The pairs, in the order of the stream; None before the first.

    References
    ----------
    Vitter 1985 (reservoirs); Cohen and Kaplan 2007 (bottom-k sketches, which add).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.streams import Sample
    >>> X = np.arange(100)
    >>> whole = Sample(3).with_block(0, X, X)
    >>> parts = Sample(3).with_block(0, X[:70], X[:70]) + Sample(3).with_block(70, X[70:], X[70:])
    >>> bool((whole.X == parts.X).all())
    True
    """

    size: int
    seed: int = 0
    keys: np.ndarray | None = None
    places: np.ndarray | None = None
    X: Items = None
    y: Items = None

    def with_block(self, start: int, X: Items, y: Items) -> Sample:
        """The sample of what it was taken of so far and of a block that starts at place `start`."""
        keys = _keys(self.seed, start, count(X))
        limit = np.inf if self.keys is None or len(self.keys) < self.size else self.keys.max()
        near = np.flatnonzero(keys < limit)
        if len(near) > self.size:
            near = np.sort(near[np.argpartition(keys[near], self.size)[: self.size]])
        if not len(near):
            return self
        part = Sample(self.size, self.seed, keys[near], start + near, take(X, near), take(y, near))
        return self + part

    def __add__(self, other: Sample) -> Sample:
        if self.keys is None or other.keys is None:
            return self if other.keys is None else other
        keys = np.concatenate([self.keys, other.keys])
        places = np.concatenate([self.places, other.places])
        best = np.argsort(keys, kind="stable")[: self.size]
        best = best[np.argsort(places[best])]
        X, y = (take(_joined(a, b), best) for a, b in ((self.X, other.X), (self.y, other.y)))
        return Sample(self.size, self.seed, keys[best], places[best], X, y)


def _keys(seed: int, start: int, n: int) -> np.ndarray:
    """Uniform numbers, one a place: the generator is advanced to the start, not run up to it."""
    return np.random.Generator(np.random.PCG64(seed).advance(start)).random(n)


def _joined(a: Items, b: Items) -> Items:
    return vstack([a, b], format="csr") if issparse(a) else namespace(a, b).concat([a, b], axis=0)
