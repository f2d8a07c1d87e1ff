"""Harmony: classes of vowels that agree within a word, and the vowels that they ignore."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernels import Codes

PARTITIONS = 2
"""The number of vowel properties that may agree, such as back or front, rounded or not."""
AGREEMENT, EVIDENCE = 0.6, 4.0
"""A partition is used if this fraction of neighbours agrees, and exceeds the fraction by chance by
this many standard errors."""
CLEAR = 0.2
"""A class is taken for the vowels if the agreeing fraction exceeds that by chance by this much."""
SWEEPS = 5
"""The largest number of rounds in which symbols change their class."""


def harmony_classes(codes: Codes, member: np.ndarray) -> np.ndarray:
    """Return the two vowel-harmony classes of each symbol as one number, first + 3 × second.

    `member` is a mask of the vowels. In each of two partitions a symbol is in class 1 or 2, or in 0
    if harmony ignores it, because it is not a member or is transparent. The classes are the signs
    of an eigenvector of the matrix that says how much more often than by chance two members follow
    each other. A member is transparent if neighbours agree more without it. A partition is all 0 if
    neighbours do not agree clearly more often than by chance.
    """
    n = len(member)
    known = codes.flat >= 0
    inside = known & member[np.where(known, codes.flat, 0)] if n else known
    symbols, rows = codes.flat[inside], codes.rows[inside]
    both = np.zeros(n, dtype=np.int64)
    for p, vector in enumerate(_leading_eigenvectors(symbols, rows, n)):
        classes = np.where(vector == 0, 0, np.where(vector > 0, 1, 2))
        if p == 0:  # the second partition would become the first
            classes = _refine_by_neighbours(symbols, rows, classes)
        classes = _drop_transparent_members(symbols, rows, classes, vector)
        agreement = _agreement(symbols, rows, classes)
        if agreement.fraction >= AGREEMENT and agreement.above > EVIDENCE * agreement.error:
            both += 3**p * classes
    return both


def vowels_with_harmony(codes: Codes, member: np.ndarray) -> np.ndarray:
    """Return the mask of vowels: `member`, or its complement if only that shows harmony.

    Vowels and consonants alternate, so that their order alone does not say which are the vowels.
    """
    inside, outside = (_agreement_above_chance(codes, each) for each in (member, ~member))
    return ~member if outside > max(inside, CLEAR) else member


def _agreement_above_chance(codes: Codes, member: np.ndarray) -> float:
    """Return how much more often than by chance neighbouring vowels share a harmony class.

    This is a difference of fractions of neighbours. `member` is the mask taken for the vowels.
    """
    classes = harmony_classes(codes, member) % 3
    return _agreement(codes.flat, codes.rows, classes).above


def _leading_eigenvectors(symbols: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    """Return the leading eigenvectors of the association matrix of neighbouring symbols.

    `rows` is the word of each symbol and n the number of symbols; the result is (PARTITIONS, n).
    """
    next_to = rows[1:] == rows[:-1]
    a, b = symbols[:-1][next_to], symbols[1:][next_to]
    counts = np.bincount(a * n + b, minlength=n * n).reshape(n, n).astype(float)
    chance = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(counts.sum(), 1.0)
    excess = (counts - chance) / np.sqrt(np.maximum(chance, 1.0))
    excess = excess + excess.T
    np.fill_diagonal(excess, 0.0)
    values, vectors = np.linalg.eigh(excess)
    leading = vectors[:, ::-1][:, :PARTITIONS].T * (values[::-1][:PARTITIONS, None] > 0)
    return np.where(np.abs(leading) > 1e-9, leading, 0.0)


def _refine_by_neighbours(symbols: np.ndarray, rows: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the classes after moving symbols into the class of most of their neighbours.

    The sign of an eigenvector is uncertain for rare symbols. `classes` has the class of each symbol
    of the alphabet; `symbols` and `rows` are those of `_different_neighbours`.
    """
    a, b = _different_neighbours(symbols, rows, classes[symbols] > 0)
    first, second = np.concatenate([a, b]), np.concatenate([b, a])
    for _ in range(SWEEPS):
        sizes = np.bincount(classes[second], minlength=3)
        ones, twos = (
            np.bincount(first, classes[second] == c, len(classes)) / max(sizes[c], 1)
            for c in (1, 2)
        )
        moved = np.where(ones == twos, classes, np.where(ones > twos, 1, 2)) * (classes > 0)
        if (moved == classes).all():
            break
        classes = moved
    return classes


def _different_neighbours(
    symbols: np.ndarray, rows: np.ndarray, kept: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return both symbols of each pair of different neighbours in a word.

    `symbols` are those of all words, end to end, and `rows` the word of each. `kept` is a mask of
    the symbols that count; the others are dropped first.
    """
    symbols, rows = symbols[kept], rows[kept]
    pairs = (rows[1:] == rows[:-1]) & (symbols[1:] != symbols[:-1])
    return symbols[:-1][pairs], symbols[1:][pairs]


def _drop_transparent_members(
    symbols: np.ndarray, rows: np.ndarray, classes: np.ndarray, vector: np.ndarray
) -> np.ndarray:
    """Return the harmony classes, set to 0 for vowels that harmony ignores.

    These are the members whose removal raises the agreement of neighbours. Members are removed one
    after the other, those with the weakest association (entry of `vector`) first. Agreement is the
    number of neighbours in the same class minus the number expected by chance. It rises when a
    transparent member is removed, because its neighbours then meet.
    """
    counts = np.bincount(symbols, minlength=len(classes))
    order = np.argsort(np.abs(vector) / np.sqrt(np.maximum(counts, 1)))
    tried = [classes]
    for v in order[classes[order] > 0]:
        tried.append(np.where(np.arange(len(classes)) == v, 0, tried[-1]))

    def agreeing(classes: np.ndarray) -> float:
        """Return the number of neighbours in one class, minus that expected by chance."""
        agreement = _agreement(symbols, rows, classes)
        return agreement.pairs * agreement.above

    return max(tried, key=agreeing)


class _Agreement(NamedTuple):
    """The number of neighbour pairs, and the fraction of them that are in one class.

    `above` is the fraction minus that by chance, `error` its standard error.
    """

    pairs: int
    fraction: float
    above: float
    error: float


def _agreement(symbols: np.ndarray, rows: np.ndarray, classes: np.ndarray) -> _Agreement:
    """Return how often neighbouring symbols are in one harmony class, compared with chance.

    The arguments are those of `_refine_by_neighbours`.
    """
    a, b = _different_neighbours(symbols, rows, classes[symbols] > 0)
    if not len(a):
        return _Agreement(0, 0.0, 0.0, 0.0)
    agree = float((classes[a] == classes[b]).mean())
    first = float((classes[np.concatenate([a, b])] == 1).mean())
    error = float(np.sqrt(max(agree * (1.0 - agree), 1e-9) / len(a)))
    return _Agreement(len(a), agree, agree - first**2 - (1.0 - first) ** 2, error)
