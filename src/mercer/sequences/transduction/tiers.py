"""Tiers: the nearest symbols of a class, such as vowels, however far away they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._base.checks import Limits, array, bounded, indices
from ...kernels._sequences import Alphabet, Codes
from .harmony import PARTITIONS, harmonic_class, harmony_classes

REPEATED, HELD, EVIDENCE, GROWN = 10, 0.9, 10, 1000
"""Of a class that occurs once: what one with two members costs, the fraction of outputs that must
have exactly one, how many outputs a symbol there must be, and how many it is grown on."""
LEARNT = "learnt"
"""The value of `tiers` that finds the classes in the data."""


@dataclass(frozen=True)
class Tiers:
    """Classes of symbols whose nearest members are features at any distance.

    Attributes
    ----------
    source
        Whether each input symbol is in each class, (symbols + 1, classes); the last row is that
        of unknown symbols.
    target
        Whether each output symbol is in the class whose last members the local map sees.
    once
        Whether each output symbol is in the class that an output has one symbol of, as words
        have one vowel with primary stress; all False where there is no such class.
    closing
        The log-probability of an output with 0, 1, and more symbols of that class.
    harmony, source_harmony
        The harmony classes of each output symbol and of each input symbol, as in
        `harmony_classes`; the last input symbol is the unknown one.
    """

    source: np.ndarray
    target: np.ndarray
    once: np.ndarray
    closing: np.ndarray
    harmony: np.ndarray
    source_harmony: np.ndarray

    def check_loaded(self, limits: Limits) -> None:
        """Check the shapes of the classes."""
        bounded(array(self.source, "source", bool, None, None).shape[1], "classes", 0, limits.steps)
        array(self.target, "target", bool, None)
        array(self.once, "once", bool, len(self.target))
        array(self.closing, "closing", np.float64, 3)
        indices(self.harmony, "harmony", 0, 9, len(self.target))
        indices(self.source_harmony, "source_harmony", 0, 9, len(self.source))

    @property
    def symbol_kinds(self) -> np.ndarray:
        """Of each output symbol: 1 if a member, 2 if in the class that occurs once, 4 × harmony."""
        return self.target + 2 * self.once + 4 * self.harmony

    @property
    def kinds(self) -> list[int]:
        """The kinds of keys of the output tier, as `tier_key` numbers them."""
        kinds = [1, 2] if self.target.any() else []
        kinds += [3] if self.harmony.any() else []
        return [*kinds, 4] if self.once.any() else kinds

    def members(self, codes: Codes, c: int) -> np.ndarray:
        """Return which symbols are in class c; the last row is that of unknown ones."""
        return self.source[np.where(codes.flat < 0, len(self.source) - 1, codes.flat), c]

    @property
    def is_vowel(self) -> np.ndarray:
        """Whether each input symbol is in any class."""
        return np.any(self.source, axis=1)

    @property
    def harmony_partitions(self) -> list[np.ndarray]:
        """The class of each input symbol in each partition, 0 for none."""
        return [self.source_harmony // 3**p % 3 for p in range(PARTITIONS)]

    def states(self, outputs: Codes) -> np.ndarray:
        """Return the state of the output tier before each place, as in `before_places`."""
        from ._feature_loops import tier_states

        states = np.empty(len(outputs.flat) + len(outputs.lengths), dtype=np.int64)
        tier_states(outputs.flat, outputs.starts, self.symbol_kinds, states)
        return states


def learnt_class(codes: Codes, n: int) -> np.ndarray:
    """Return which of n symbols are vowels, by Sukhotin's algorithm.

    Vowels are next to consonants rather than next to each other. All symbols begin as
    consonants. In each step, the symbol with the largest excess of consonants over vowels among
    its neighbours becomes a vowel. The steps end when no symbol has an excess.
    """
    rows = codes.rows
    inside = (rows[1:] == rows[:-1]) & (codes.flat[1:] >= 0) & (codes.flat[:-1] >= 0)
    pairs = codes.flat[:-1][inside] * n + codes.flat[1:][inside]
    adjacent = np.bincount(pairs, minlength=n * n).reshape(n, n).astype(float)
    adjacent = adjacent + adjacent.T
    np.fill_diagonal(adjacent, 0.0)
    excess, vowel = adjacent.sum(axis=1), np.zeros(n, dtype=bool)
    while n and (best := np.where(vowel, -np.inf, excess)).max() > 0:
        v = int(np.argmax(best))
        vowel[v] = True
        excess = excess - 2.0 * adjacent[v]
    return vowel


def once_class(codes: Codes, n: int) -> np.ndarray:
    """Return a mask of symbols such that nearly every sequence has exactly one of them.

    The search is greedy, on half of the sequences. From each symbol in turn, it adds the symbol
    that most raises the value of the class: the number of sequences with exactly one member, minus
    `REPEATED` times the number with more. The best class is returned if its value per sequence, and
    the fraction of the other half with exactly one member, are at least `HELD`. Otherwise the mask
    is all False, as it is for most data.
    """
    none = np.zeros(n, dtype=bool)
    rows = np.flatnonzero(codes.lengths > 0)
    if not len(rows) or len(rows) < EVIDENCE * n:
        return none
    counts = np.zeros((len(codes.lengths), n), dtype=np.int16)
    np.add.at(counts, (codes.rows, codes.flat), 1)
    grown_on, checked_on = counts[rows[::2][:GROWN]], counts[rows[1::2]]
    best, value = none, -np.inf
    for first in range(n):
        members, gained = _grown(grown_on, first)
        if gained > value:
            best, value = members, gained
    held = (checked_on[:, best].sum(axis=1) == 1).mean()
    return best if min(held, value / len(grown_on)) >= HELD else none


def _grown(counts: np.ndarray, first: int) -> tuple[np.ndarray, float]:
    """Return the class that a greedy search finds from one symbol, and its value."""
    members = np.arange(counts.shape[1]) == first
    total = counts[:, first]
    value = (total == 1).sum() - REPEATED * (total > 1).sum()
    while True:
        with_each = total[:, None] + counts
        values = (with_each == 1).sum(axis=0) - REPEATED * (with_each > 1).sum(axis=0)
        best = int(np.argmax(np.where(members, -np.inf, values)))
        if members[best] or values[best] <= value:
            return members, float(value)
        members[best], value, total = True, values[best], with_each[:, best]


def make_tiers(
    tiers: str | list, sources: Alphabet, targets: Alphabet, words: Codes, target: Codes
) -> Tiers | None:
    """Return the tiers, given by the user or learnt from inputs and outputs."""
    if tiers == LEARNT:
        source = harmonic_class(words, learnt_class(words, len(sources)))[:, None]
        members = harmonic_class(target, learnt_class(target, len(targets)))
    else:
        classes = [set(members) for members in tiers]
        source = np.array([[s in c for c in classes] for s in sources.symbols], dtype=bool)
        source = source.reshape(len(sources), len(classes))
        spoken = [np.array([s in c for s in targets.symbols], dtype=bool) for c in classes]
        members = next((m for m in spoken if m.any()), np.zeros(len(targets), dtype=bool))
    unknown = np.zeros((1, source.shape[1]), dtype=bool)
    once = once_class(target, len(targets))
    seen = np.bincount(target.rows, weights=once[target.flat], minlength=len(target.lengths))
    counts = np.bincount(np.minimum(seen, 2).astype(int), minlength=3)
    closing = np.log((counts + 0.5) / (counts.sum() + 1.5)) if once.any() else np.zeros(3)
    harmony = harmony_classes(target, members)
    if set(sources.symbols) & set(targets.symbols):
        known = dict(zip(targets.symbols, harmony.tolist(), strict=True))
        own = np.array([known.get(s, 0) for s in sources.symbols], dtype=np.int64)
    else:
        own = harmony_classes(words, np.asarray(np.any(source, axis=1)))
    return Tiers(
        np.concatenate([source, unknown]), members, once, closing, harmony, np.append(own, 0)
    )
