"""Templates of features: which values around a position are combined into one feature."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ...kernels import LocalWindow

Part = tuple[str, int]
"""The name of a column, and the distance from the position at which it is read."""
HERE: Part = ("symbol", 0)
CONTEXT: Part = ("context", 0)
"""The symbol at the position, and the coordinate of the context that a template has."""
NEAR = 1
"""How far the windows reach that are paired with the last output symbols and with the context."""
OUTLINE = LocalWindow(radius=4, decay=0.6)
"""Windows that distinguish only the symbols of a tier: what matters of *ate* in *late*, *rate* and
*dame* is an open syllable. They count half."""
DEPTH = 2
"""How many members of a class are seen to either side of a position, and in the output."""


class Template(NamedTuple):
    """A feature template: a combination of attribute values around a position.

    Attributes
    ----------
    parts
        The values that are combined.
    weight
        The weight of the feature.
    context
        The coordinate of the context that is one of the values, -1 for none.
    paired
        Whether the feature is also combined with the last output symbols.
    """

    parts: tuple[Part, ...]
    weight: float = 1.0
    context: int = -1
    paired: bool = False

    @property
    def columns(self) -> tuple[Part, ...]:
        """The parts, with the placeholder for the context replaced by its column."""
        own = (f"context {self.context}", 0)
        return tuple(own if part == CONTEXT else part for part in self.parts)

    def combined_with(self, *parts: Part, weight: float = 1.0) -> Template:
        """Return the template with more parts, and with its weight multiplied by `weight`."""
        return Template((*self.parts, *parts), self.weight * weight)


def window(name: str, a: int, b: int) -> tuple[Part, ...]:
    """Return the parts (name, distance) from distance a to b of the column `name`."""
    return tuple((name, d) for d in range(a, b + 1))


def window_templates(kernel: LocalWindow) -> list[Template]:
    """Return one template for each window of symbols that the kernel compares."""
    ends, weights = kernel.windows()
    return [
        Template((HERE, *window("symbol", a, b)), w, paired=-NEAR <= a <= 0 <= b <= NEAR)
        for (a, b), w in zip(ends.tolist(), weights.tolist(), strict=True)
    ]


def near_windows(templates: list[Template]) -> list[Template]:
    """Return the templates of short windows around the position, the shortest first."""
    return sorted((t for t in templates if t.paired), key=lambda t: len(t.parts))


def tier_templates(c: int, near: list[Template], decay: float) -> list[Template]:
    """Return templates of the nearest members of class c, alone and with short windows.

    The first is the nearest member to the left.
    """
    left, right = (
        [(f"tier {c} {side} {j}", 0) for j in range(DEPTH)] for side in ("left", "right")
    )
    one = decay**0.5
    alone = Template((HERE,))
    found = [
        alone.combined_with(*side[: j + 1], weight=one ** (j + 1))
        for side in (left, right)
        for j in range(DEPTH)
    ]
    found.append(alone.combined_with(left[0], right[0], weight=decay))
    found += [t.combined_with(side[0], weight=one) for t in near[1:] for side in (left, right)]
    return found


def outline_templates(c: int) -> list[Template]:
    """Return templates of windows in which all symbols except members of class c are merged."""
    ends, weights = OUTLINE.windows()
    return [
        Template((HERE, *window(f"outline {c}", a, b)), w / 2.0)
        for (a, b), w in zip(ends.tolist(), weights.tolist(), strict=True)
        if a <= 0 <= b and b - a > 1
    ]


def harmony_templates(near: list[Template], decay: float) -> list[Template]:
    """Return templates of the harmony class on either side, alone and with short windows."""
    one = decay**0.5
    sides = [("harmony left", 0), ("harmony right", 0)]
    return [t.combined_with(side, weight=one) for t in near for side in sides]


def end_templates(n: int, decay: float) -> list[Template]:
    """Return templates of the last 1, …, n symbols of the input, then of its first ones."""
    return [
        Template((HERE, *((f"{end} {j}", 0) for j in range(size))), decay ** (size / 2.0))
        for end in ("last", "first")
        for size in range(1, n + 1)
    ]


def word_templates(decay: float) -> list[Template]:
    """Return templates of the word and the place in it, alone and with neighbouring words.

    The next word counts as much as the symbol at the position.
    """
    own = (("place", 0), ("word", 0))
    more = [(), ("word -1",), ("word 1",), ("word 1", "word 2"), ("form 1",)]
    return [
        Template((*own, *((name, 0) for name in names)), decay ** ((len(names) - 1) / 2.0))
        for names in more
    ]


def context_templates(templates: Iterable[Template], coordinates: int) -> list[Template]:
    """Return the product of each template with each coordinate of the context.

    The first of the templates is paired with the last output symbols too.
    """
    return [
        Template((*t.parts, CONTEXT), t.weight, j, paired=number == 0)
        for j in range(coordinates)
        for number, t in enumerate(templates)
    ]


def shared_templates(coordinates: int) -> list[Template]:
    """Return the templates that leave out the letter at the position.

    They are the letters around the position, whether it is a vowel, the distance to the ends, the
    word and the place in it, the classes of characters around it, and products with the context.
    """
    before, after = ("symbol", -1), ("symbol", 1)
    kinds: list[tuple[Part, ...]] = [
        (), (("to end", 0),), (after,), window("symbol", 1, 2),
        (("vowel", 0),), window("symbol", 1, 3), (before,), window("symbol", -2, -1),
        (before, after), (("vowel", 0), after), (("vowel", 0), before), (("to begin", 0),),
        (("word number", 0),), (("word number", 0), ("letter number", 0)),
        (("word number", 0), after),
        *(window("class", a, b) for a, b in ((-1, 1), (0, 2), (-2, 0), (-2, 2))),
    ]  # fmt: skip
    found = [Template((("inside", 0), *parts)) for parts in kinds]
    return [*found, *context_templates(found[:4], coordinates)]


class Templates:
    """A list of templates as arrays, for the compiled loops.

    Attributes
    ----------
    names
        The columns that are read.
    parts, stops
        The parts of all templates end to end, as numbers of columns and distances, and where the
        parts of each template end.
    kinds
        The kind of each template: that of all coordinates of the context is the same, so that a
        label is the same feature wherever it stands among the labels of an input.
    weights, contexts, paired
        The weight of each template, its coordinate of the context (-1 for none), and the numbers
        of those that are paired with output symbols.
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

        The key is 0 where a value is absent.

        The positions of input p are starts[p]:starts[p + 1]; `rows` has the input of each position.
        """
        from ._feature_loops import template_keys

        values = np.empty((len(rows), len(self.names)), dtype=np.int64)
        for i, name in enumerate(self.names):
            values[:, i] = columns[name]
        keys = np.empty((len(rows), len(self)), dtype=np.uint64)
        template_keys(values, starts, rows, self.parts, self.stops, self.kinds, keys)
        return keys
