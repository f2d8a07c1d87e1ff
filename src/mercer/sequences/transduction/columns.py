"""Attributes of the positions of inputs, which templates combine into features."""

from __future__ import annotations

import numpy as np

from .inputs import SEPARATOR, EncodedInputs
from .templates import DEPTH
from .tiers import Tiers
from .words import WordPositions

FARTHEST = 5
"""Distances to an end of the input, and numbers of words, from here on are not distinguished."""
IN_WORD = 3
"""Numbers of letters in a word from here on are not distinguished."""
Columns = dict[str, np.ndarray]
"""The value of an attribute at each position, by the name of the attribute."""


def input_columns(
    inputs: EncodedInputs, tiers: Tiers | None, ends: int, backward: bool, words: bool
) -> Columns:
    """Return all attributes of the positions of inputs, which feature templates combine.

    `ends` is the number of first and last symbols, and `words` says whether to include words.
    """
    codes = inputs.source
    columns = {"symbol": codes.flat, "class": inputs.classes}
    columns |= location_columns(inputs) | end_columns(inputs, ends, backward)
    columns |= context_columns(inputs)
    columns["vowel"] = np.zeros(len(codes.flat), dtype=np.int64)
    if tiers is not None:
        columns["vowel"] = tiers.is_vowel[codes.flat]
        for c in range(tiers.source.shape[1]):
            columns |= tier_columns(inputs, tiers, c)
        columns |= harmony_columns(inputs, tiers)
    if words:
        columns |= word_columns(inputs)
    return columns


def location_columns(inputs: EncodedInputs) -> Columns:
    """Return the location of each position as attributes: distances to the ends, word, letter.

    Column "inside" is 1 for symbols of the input, and absent for end marks and labels.
    """
    from ._feature_loops import ABSENT

    codes, rows = inputs.source, inputs.source.rows
    between = inputs.classes == SEPARATOR
    number = np.cumsum(between)
    before = np.concatenate([[0], number])[codes.starts[rows]]
    index = np.arange(len(between))
    breaks = np.where(between | (codes.positions == 0), index, 0)
    return {
        "inside": np.where(inputs.inside, 1, ABSENT),
        "to end": np.minimum(inputs.last[rows] - codes.positions, FARTHEST),
        "to begin": np.minimum(codes.positions - inputs.first[rows], FARTHEST),
        "word number": np.minimum(number - before + 1, FARTHEST),
        "letter number": np.minimum(index - np.maximum.accumulate(breaks), IN_WORD),
    }


def end_columns(inputs: EncodedInputs, n: int, backward: bool) -> Columns:
    """Return the first and the last n symbols of the input as attributes of its positions.

    If `backward`, the sequences are in reverse order.
    """
    codes, rows = inputs.source, inputs.source.rows
    columns = {}
    for end, from_last in (("last", not backward), ("first", backward)):
        for j in range(n):
            local = inputs.last - 1 - j if from_last else inputs.first + j
            inside = (local >= inputs.first) & (local < inputs.last)
            symbols = np.full(len(local), -2)
            symbols[inside] = codes.flat[(codes.starts[:-1] + local)[inside]]
            columns[f"{end} {j}"] = symbols[rows]
    return columns


def context_columns(inputs: EncodedInputs) -> Columns:
    """Return the hash keys of the context of each position's input as attributes."""
    from ._feature_loops import ABSENT

    keys = np.where(inputs.context == 0, ABSENT, inputs.context.view(np.int64))[inputs.source.rows]
    return {f"context {j}": column for j, column in enumerate(keys.T)}


def tier_columns(inputs: EncodedInputs, tiers: Tiers, c: int) -> Columns:
    """Return attributes of positions that depend on class c of symbols, such as vowels.

    These are the nearest symbols of the class on either side, and the "outline": the symbols of
    the class, with all others merged.
    """
    codes, member = inputs.source, tiers.members(inputs.source, c)
    nearest = nearest_values(inputs, codes.flat, member).T
    names = [f"tier {c} {side} {j}" for side in ("left", "right") for j in range(DEPTH)]
    others = np.where(inputs.inside, -2, -3)
    return {
        f"outline {c}": np.where(member, codes.flat, others),
        **dict(zip(names, nearest, strict=True)),
    }


def harmony_columns(inputs: EncodedInputs, tiers: Tiers) -> Columns:
    """Return the vowel-harmony class of the nearest symbol that has one, left and right."""
    harmony = tiers.source_harmony[inputs.source.flat]
    nearest_classes = np.zeros((2, len(harmony)), dtype=np.int64)
    for factor in (1, 3):  # the two partitions
        classes = harmony // factor % 3
        nearest = nearest_values(inputs, classes, classes > 0)[:, [0, DEPTH]]
        nearest_classes += factor * np.maximum(nearest, 0).T
    return {"harmony left": nearest_classes[0], "harmony right": nearest_classes[1]}


def nearest_values(inputs: EncodedInputs, values: np.ndarray, member: np.ndarray) -> np.ndarray:
    """Return the values at the nearest two members of a symbol class on either side.

    `member` is a mask of the positions in the class. The result has the shape (positions, 4), and
    -2 where there is no member.
    """
    from ._feature_loops import nearest_members

    nearest = np.full((len(values), 2 * DEPTH), -2)
    nearest_members(values, inputs.source.starts, member, nearest)
    return nearest


def word_columns(inputs: EncodedInputs) -> Columns:
    """Return each position's word, the position in the word, and nearby words as attributes."""
    words = WordPositions(inputs)
    return {
        "position in word": words.position_in_word,
        "form 1": words.neighbour(words.forms, 1),
        **{f"word {d}": words.neighbour(words.symbols, d) for d in (-1, 1, 2)},
        "word": words.neighbour(words.symbols, 0),
    }
