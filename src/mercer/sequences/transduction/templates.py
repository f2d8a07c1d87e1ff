"""Templates of features: the values around a position that are combined into one feature."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ...kernels import LocalWindow

Part = tuple[str, int]
"""The name of a column, and the distance from the position at which it is read."""
HERE: Part = ("symbol", 0)
CONTEXT_COORDINATE: Part = ("context", 0)
"""The symbol at the position, and a placeholder for a coordinate of the context."""
COMBINED_RADIUS = 1
"""The largest radius of windows that are combined with output symbols and with the context."""
OUTLINE = LocalWindow(radius=4, decay=0.6)
"""Windows in which all symbols except those of a tier are merged, at half their weight.

For example, the *a* of *late*, *rate* and *dame* is in an open syllable.
"""
DEPTH = 2
"""The number of nearest members of a class on either side of a position that are features."""


class Template(NamedTuple):
    """A feature template: the attributes around a position that are combined in a feature.

    Attributes
    ----------
    parts
        The values that are combined.
    weight
        The weight of the feature.
    context
        The coordinate of the context that is one of the values; -1 for none.
    paired
        Whether the feature is also combined with the last output symbols.
    """

    parts: tuple[Part, ...]
    weight: float = 1.0
    context: int = -1
    paired: bool = False

    @property
    def columns(self) -> tuple[Part, ...]:
        """The parts, with the name of a context column in place of `CONTEXT_COORDINATE`."""
        coordinate = (f"context {self.context}", 0)
        return tuple(coordinate if part == CONTEXT_COORDINATE else part for part in self.parts)

    def combined_with(self, *parts: Part, weight: float = 1.0) -> Template:
        """Return the template with more parts, and with its weight multiplied by `weight`."""
        return Template((*self.parts, *parts), self.weight * weight)


def column_window(name: str, a: int, b: int) -> tuple[Part, ...]:
    """Return the template parts (name, distance) that read one column from distance a to b."""
    return tuple((name, d) for d in range(a, b + 1))


def window_templates(kernel: LocalWindow) -> list[Template]:
    """Return one template for each window of symbols that the kernel compares."""
    ends, weights = kernel.windows()
    return [
        Template(
            (HERE, *column_window("symbol", a, b)),
            w,
            paired=-COMBINED_RADIUS <= a <= 0 <= b <= COMBINED_RADIUS,
        )
        for (a, b), w in zip(ends.tolist(), weights.tolist(), strict=True)
    ]


def near_windows(templates: list[Template]) -> list[Template]:
    """Return the templates of short windows around the position, shortest first."""
    return sorted((t for t in templates if t.paired), key=lambda t: len(t.parts))


def tier_templates(c: int, near: list[Template], decay: float) -> list[Template]:
    """Return templates of the nearest members of symbol class c, alone and with short windows.

    The first is the nearest member to the left.
    """
    left, right = (
        [(f"tier {c} {side} {j}", 0) for j in range(DEPTH)] for side in ("left", "right")
    )
    root = decay**0.5
    alone = Template((HERE,))
    templates = [
        alone.combined_with(*side[: j + 1], weight=root ** (j + 1))
        for side in (left, right)
        for j in range(DEPTH)
    ]
    templates.append(alone.combined_with(left[0], right[0], weight=decay))
    templates += [t.combined_with(side[0], weight=root) for t in near[1:] for side in (left, right)]
    return templates


def outline_templates(c: int) -> list[Template]:
    """Return templates of windows in which all symbols outside class c are merged."""
    ends, weights = OUTLINE.windows()
    return [
        Template((HERE, *column_window(f"outline {c}", a, b)), w / 2.0)
        for (a, b), w in zip(ends.tolist(), weights.tolist(), strict=True)
        if a <= 0 <= b and b - a > 1
    ]


def harmony_templates(near: list[Template], decay: float) -> list[Template]:
    """Return templates of the nearest vowel-harmony classes, alone and with short windows."""
    sides = [("harmony left", 0), ("harmony right", 0)]
    return [t.combined_with(side, weight=decay**0.5) for t in near for side in sides]


def end_templates(n: int, decay: float) -> list[Template]:
    """Return templates of the last 1, …, n symbols of the input, then of its first ones.

    `decay` is that of `LocalWindow`: the weight of one more symbol.
    """
    return [
        Template((HERE, *((f"{end} {j}", 0) for j in range(size))), decay ** (size / 2.0))
        for end in ("last", "first")
        for size in range(1, n + 1)
    ]


def word_templates(decay: float) -> list[Template]:
    """Return templates of the word and the position in it, alone and with nearby words.

    One nearby word does not lower the weight; each further one multiplies it by √decay.
    """
    letter = (("position in word", 0), ("word", 0))
    more = [(), ("word -1",), ("word 1",), ("word 1", "word 2"), ("form 1",)]
    return [
        Template((*letter, *((name, 0) for name in names)), decay ** ((len(names) - 1) / 2.0))
        for names in more
    ]


def context_templates(templates: Iterable[Template], coordinates: int) -> list[Template]:
    """Return the product of each template with each coordinate of the context.

    The products of the first template are also combined with the last output symbols.
    """
    return [
        Template((*t.parts, CONTEXT_COORDINATE), t.weight, j, paired=number == 0)
        for j in range(coordinates)
        for number, t in enumerate(templates)
    ]


def shared_templates(coordinates: int) -> list[Template]:
    """Return the templates of the map that all letters share, which omit the letter itself.

    They combine the letters around the position, whether it is a vowel, the distances to the ends,
    the numbers of the word and of the letter in it, and the character classes around it. The first
    four are also multiplied by the context.
    """
    before, after = ("symbol", -1), ("symbol", 1)
    kinds: list[tuple[Part, ...]] = [
        (), (("to end", 0),), (after,), column_window("symbol", 1, 2),
        (("vowel", 0),), column_window("symbol", 1, 3), (before,), column_window("symbol", -2, -1),
        (before, after), (("vowel", 0), after), (("vowel", 0), before), (("to begin", 0),),
        (("word number", 0),), (("word number", 0), ("letter number", 0)),
        (("word number", 0), after),
        *(column_window("class", a, b) for a, b in ((-1, 1), (0, 2), (-2, 0), (-2, 2))),
    ]  # fmt: skip
    templates = [Template((("inside", 0), *parts)) for parts in kinds]
    return [*templates, *context_templates(templates[:4], coordinates)]


class Templates:
    """A list of feature templates as arrays, for the compiled loops.

    Attributes
    ----------
    names
        The names of the columns that the templates combine.
    parts, stops
        The parts of all templates end to end, as pairs of a column and a distance, and where the
        parts of each template end.
    kinds
        The kind of each template. Templates that differ only in the coordinate of the context have
        the same kind, so that a label is the same feature at any index among the labels.
    weights, contexts, paired
        The weight of each template, its coordinate of the context (-1 for none), and the indices
        of those that are combined with output symbols.
    """

    def __init__(self, templates: list[Template]):
        self.names = list(dict.fromkeys(name for t in templates for name, _ in t.columns))
        number = {name: i for i, name in enumerate(self.names)}
        parts = [(number[name], distance) for t in templates for name, distance in t.columns]
        kinds = {t.parts: kind for kind, t in enumerate(templates)}
        self.parts = np.array(parts, dtype=np.int64)
        self.stops = np.concatenate([[0], np.cumsum([len(t.parts) for t in templates])])
        self.kinds = np.array([kinds[t.parts] for t in templates])
        self.weights = np.array([t.weight for t in templates])
        self.contexts = np.array([t.context for t in templates])
        self.paired = np.flatnonzero([t.paired for t in templates])

    def __len__(self) -> int:
        return len(self.weights)

    def keys(
        self, columns: dict[str, np.ndarray], starts: np.ndarray, rows: np.ndarray
    ) -> np.ndarray:
        """Return the hash key of each template at each position, (positions, templates).

        The key is 0 where a value is absent. Input p has the positions starts[p]:starts[p + 1];
        `rows` has the input of each position.
        """
        from ._feature_loops import template_keys

        values = np.empty((len(rows), len(self.names)), dtype=np.int64)
        for i, name in enumerate(self.names):
            values[:, i] = columns[name]
        keys = np.empty((len(rows), len(self)), dtype=np.uint64)
        template_keys(values, starts, rows, self.parts, self.stops, self.kinds, keys)
        return keys
