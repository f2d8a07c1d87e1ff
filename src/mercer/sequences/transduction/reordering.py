"""Outputs whose pieces are those of the input in another order: dates, names, units."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..._base.arrays import object_array
from ..._base.checks import Limits, must

PIECES = re.compile(r"[^\W\d_]+|\d+")
"""Runs of letters and runs of digits; everything else separates them."""
SHORT = 2
"""Digits up to which the length of a number says nothing about what it is."""
REORDERED = 0.1
"""Fraction of pairs whose pieces must change their order for an order to be tried."""
CROSSED, PAIRS = 0.25, 300
"""Fraction of symbol pairs in another order from which alignments cross, and pairs looked at."""


@dataclass(frozen=True)
class PieceOrder:
    """The order of the pieces of inputs, for each form that inputs have.

    The form of an input is its sequence of pieces: letters, short numbers, and longer numbers by
    their length, with the characters between them.

    Attributes
    ----------
    orders
        For each form, the piece that comes first, second, ….
    """

    orders: dict[str, tuple[int, ...]]

    def check_loaded(self, limits: Limits) -> None:
        """Every order is a permutation."""
        for order in self.orders.values():
            must(sorted(order) == list(range(len(order))), "an order is not a permutation")

    @classmethod
    def of(cls, X: Any, y: Any) -> PieceOrder | None:
        """Learn the order of each form; None where too few pairs change it, or are not strings."""
        if not all(isinstance(text, str) for text in (*X, *y)):
            return None
        groups: dict[tuple[str, int], list[np.ndarray]] = defaultdict(list)
        for x, output in zip(X, y, strict=True):
            pieces, written = PIECES.findall(x), PIECES.findall(output)
            if len(pieces) > 1 and written:
                groups[form_of(x), len(written)].append(_similarities(pieces, written))
        orders: dict[str, tuple[int, ...]] = {}
        changed = 0
        for (form, _), tables in sorted(groups.items(), key=lambda item: len(item[1])):
            orders[form] = order = _order(np.mean(tables, axis=0))  # the most common form is last
            changed += len(tables) * (list(order) != sorted(order))
        return cls(orders) if changed > REORDERED * len(X) else None

    def apply(self, X: Any) -> np.ndarray:
        """Return inputs with their pieces in order; what separates them stays where it is."""
        return object_array([self._applied(x) if isinstance(x, str) else x for x in X])

    def _applied(self, x: str) -> str:
        order = self.orders.get(form_of(x))
        if order is None:
            return x
        pieces = PIECES.findall(x)
        rest = iter([pieces[i] for i in order])
        return PIECES.sub(lambda _: next(rest), x)


def form_of(x: str) -> str:
    """Return the form of an input, such as "A 9, 9999" for "March 13, 1986"."""

    def kind(match: re.Match) -> str:
        piece = match.group()
        return ("9" * len(piece) if len(piece) > SHORT else "9") if piece.isdigit() else "A"

    return PIECES.sub(kind, x)


def _similarities(pieces: list[str], written: list[str]) -> np.ndarray:
    """Return how much each piece of an input looks like each piece of the output."""
    return np.array([[_similarity(a.lower(), b.lower()) for b in written] for a in pieces])


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
