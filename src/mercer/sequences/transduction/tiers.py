"""Tiers: classes of symbols, such as vowels, whose nearest members matter at any distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._base.checks import Limits, array, bounded, indices
from ...kernels import Alphabet, Codes
from .harmony import harmony_classes, vowels_with_harmony

LEARNT = "learnt"
"""The value of `tiers` that finds the classes in the data."""


@dataclass(frozen=True)
class Tiers:
    """Classes of symbols, such as vowels, whose nearest members are features at any distance.

    Attributes
    ----------
    source
        Whether each input symbol is in each class, (symbols + 1, classes); the last row is for
        unknown symbols.
    target
        Whether each output symbol is in the class whose last members in the output are features.
    harmony, source_harmony
        The harmony classes of each output symbol and of each input symbol, as in
        `harmony_classes`; the last input symbol is the unknown one.
    """

    source: np.ndarray
    target: np.ndarray
    harmony: np.ndarray
    source_harmony: np.ndarray

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless the arrays have valid shapes and values."""
        bounded(array(self.source, "source", bool, None, None).shape[1], "classes", 0, limits.steps)
        array(self.target, "target", bool, None)
        indices(self.harmony, "harmony", 0, 9, len(self.target))
        indices(self.source_harmony, "source_harmony", 0, 9, len(self.source))

    @property
    def symbol_kinds(self) -> np.ndarray:
        """The code of each output symbol: 1 + 2 × its harmony classes for members, else 0."""
        return self.target * (1 + 2 * self.harmony)

    @property
    def kinds(self) -> list[int]:
        """The kinds of tier features in use, as the numbers that `tier_feature_key` takes."""
        kinds = [1, 2] if self.target.any() else []
        return [*kinds, 3] if self.harmony.any() else kinds

    def members(self, codes: Codes, c: int) -> np.ndarray:
        """Return a mask of the symbols of all sequences that are in class c."""
        return self.source[np.where(codes.flat < 0, len(self.source) - 1, codes.flat), c]

    @property
    def is_vowel(self) -> np.ndarray:
        """A mask of the input symbols that are in any class."""
        return np.any(self.source, axis=1)

    def states(self, outputs: Codes) -> np.ndarray:
        """Return the tier state (the last vowels) before each symbol and at the end of outputs.

        The rows are those of `preceding_symbols`.
        """
        from ._feature_loops import tier_states

        states = np.empty(len(outputs.flat) + len(outputs.lengths), dtype=np.int64)
        tier_states(outputs.flat, outputs.starts, self.symbol_kinds, states)
        return states


def find_vowels(codes: Codes, n: int) -> np.ndarray:
    """Return a mask of the vowels among n symbols, by Sukhotin's algorithm.

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


def make_tiers(
    tiers: str | list, sources: Alphabet, targets: Alphabet, inputs: Codes, outputs: Codes
) -> Tiers | None:
    """Return the `Tiers` of given classes of symbols, or of vowels learnt from encoded data.

    `tiers` are the classes, or "learnt" for vowels, which are found in `inputs` and `outputs`.
    """
    if tiers == LEARNT:
        source = vowels_with_harmony(inputs, find_vowels(inputs, len(sources)))[:, None]
        members = vowels_with_harmony(outputs, find_vowels(outputs, len(targets)))
    else:
        classes = [set(members) for members in tiers]
        source = np.array([[s in c for c in classes] for s in sources.symbols], dtype=bool)
        source = source.reshape(len(sources), len(classes))
        of_outputs = [np.array([s in c for s in targets.symbols], dtype=bool) for c in classes]
        members = next((m for m in of_outputs if m.any()), np.zeros(len(targets), dtype=bool))
    unknown = np.zeros((1, source.shape[1]), dtype=bool)
    harmony = harmony_classes(outputs, members)
    if set(sources.symbols) & set(targets.symbols):
        known = dict(zip(targets.symbols, harmony.tolist(), strict=True))
        of_inputs = np.array([known.get(s, 0) for s in sources.symbols], dtype=np.int64)
    else:
        of_inputs = harmony_classes(inputs, np.asarray(np.any(source, axis=1)))
    return Tiers(np.concatenate([source, unknown]), members, harmony, np.append(of_inputs, 0))
