"""Outputs whose pieces are those of the input in another order: dates, names, units."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..._base.arrays import object_array
from ..._base.checks import Limits, must

PIECES = re.compile(r"[^\W\d_]+|\d+|[^\w\s.,:;!?'\"()\[\]{}/\\-]+")
"""Runs of letters, of digits and of symbols such as €; spaces and punctuation separate them."""
SHORT = 2
"""Digits up to which the length of a number says nothing about what it is."""
OFTEN, ASSOCIATED = 3, 0.8
"""Pairs in which two pieces must occur to be associated, and what the strongest association counts;
equal pieces count 1."""
REORDERED = 0.1
"""Fraction of pairs whose pieces must change their order for an order to be tried."""
CROSSED, PAIRS = 0.25, 300
"""Fraction of symbol pairs in another order from which alignments cross, and pairs looked at."""


@dataclass(frozen=True)
class PieceOrder:
    """The order of the pieces of inputs, for each form that inputs have.

    The form of an input is its sequence of pieces: letters, symbols, short numbers, and longer
    numbers by their length, with the characters between them. An input of a form that was not seen
    in training has the order of the inputs that differ from it in the length of numbers alone.

    Attributes
    ----------
    orders
        For each form, the piece that comes first, second, ….
    """

    orders: dict[str, tuple[int, ...]]

    def check_loaded(self, limits: Limits) -> None:
        """Check that every order is a permutation."""
        for order in self.orders.values():
            must(sorted(order) == list(range(len(order))), "an order is not a permutation")

    @classmethod
    def of(cls, X: Any, y: Any) -> PieceOrder | None:
        """Learn the order of each form; None where too few pairs change it, or are not strings."""
        if not all(isinstance(text, str) for text in (*X, *y)):
            return None
        split = [(x, PIECES.findall(x), PIECES.findall(out)) for x, out in zip(X, y, strict=True)]
        together = association((pieces, written) for _, pieces, written in split)
        groups: dict[tuple[str, int], list[np.ndarray]] = defaultdict(list)
        for x, pieces, written in split:
            if len(pieces) > 1 and written:
                table = np.array([[together(a, b) for b in written] for a in pieces])
                for form in dict.fromkeys((form_of(x), form_of(x, short=True))):
                    groups[form, len(written)].append(table)
        orders: dict[str, tuple[int, ...]] = {}
        for (form, _), tables in sorted(groups.items(), key=lambda item: len(item[1])):
            orders[form] = _order(np.mean(tables, axis=0))  # the most common form is last
        found = cls(orders)
        changed = np.mean([found._order_of(x) != sorted(found._order_of(x)) for x in X])
        return found if changed > REORDERED else None

    def apply(self, X: Any) -> np.ndarray:
        """Return inputs with their pieces in order; what separates them stays where it is."""
        return object_array([self._applied(x) if isinstance(x, str) else x for x in X])

    def _order_of(self, x: str) -> list[int]:
        """Return the order of the pieces of an input, empty where it is not known."""
        order = self.orders.get(form_of(x)) or self.orders.get(form_of(x, short=True))
        return list(order or ())

    def _applied(self, x: str) -> str:
        order = self._order_of(x)
        if not order:
            return x
        pieces = PIECES.findall(x)
        rest = iter([pieces[i] for i in order])
        return PIECES.sub(lambda _: next(rest), x)


def form_of(x: str, short: bool = False) -> str:
    """Return the form of an input, such as "A 9, 9999" for "March 13, 1986".

    In `short` all numbers are one digit long.
    """

    def kind(match: re.Match) -> str:
        piece = match.group()
        if piece.isdigit():
            return "9" if short or len(piece) <= SHORT else "9" * len(piece)
        return "A" if piece.isalpha() else "$"

    return PIECES.sub(kind, x)


def association(
    pairs: Iterable[tuple[list[str], list[str]]],
) -> Callable[[str, str], float]:
    """Return a function that says how well two pieces of an input and its output go together.

    They look alike, or occur in the same pairs (Dice's coefficient), as *March* and *03* do.
    """
    inputs, outputs, both = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    for pieces, written in pairs:
        inputs.update(set(pieces))
        outputs.update(set(written))
        both.update(product(set(pieces), set(written)))

    def together(a: str, b: str) -> float:
        common = 2.0 * both[a, b] / (inputs[a] + outputs[b]) if both[a, b] >= OFTEN else 0.0
        return max(_similarity(a.lower(), b.lower()), ASSOCIATED * common)

    return together


def _similarity(a: str, b: str) -> float:
    if a == b:
        return 1.0
    if a.lstrip("0") == b.lstrip("0"):
        return 0.9
    if a.startswith(b) or b.startswith(a) or a.endswith(b) or b.endswith(a):
        return 0.6
    return 0.1 * (a.isdigit() == b.isdigit())


def _order(similarity: np.ndarray) -> tuple[int, ...]:
    """Return the pieces in the order of the output.

    A piece without a counterpart there follows the piece that it followed.
    """
    rows, columns = linear_sum_assignment(-similarity)
    place = np.full(len(similarity), np.nan)
    place[rows] = columns
    for i in range(len(place)):
        if np.isnan(place[i]):
            place[i] = place[i - 1] + 0.5 if i else -1.0
    return tuple(int(i) for i in np.argsort(place, kind="stable"))


def crossed(X: Any, y: Any) -> bool:
    """Return whether many symbols that inputs and outputs share are in another order there."""
    discordant = total = 0
    for x, output in list(zip(X, y, strict=True))[:PAIRS]:
        x, output = list(x), list(output)
        common = [s for s in x if x.count(s) == 1 and output.count(s) == 1]
        place = np.array([output.index(s) for s in common])
        pairs = place[:, None] - place[None, :]
        discordant += int((pairs[np.triu_indices(len(place), 1)] > 0).sum())
        total += len(place) * (len(place) - 1) // 2
    return total > 0 and discordant > CROSSED * total
