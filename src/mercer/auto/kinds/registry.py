"""The kinds of outputs by name: those of mercer, and registered custom spaces."""

from __future__ import annotations

from ...spaces import Space
from .base import Kind
from .classes import ClassKind
from .curves import CurveKind
from .custom import SpaceKind, registered_spaces
from .graphs import GraphKind
from .images import ImageKind
from .labels import LabelKind
from .numbers import NumberKind
from .rankings import RankingKind
from .texts import SmilesKind, TextKind

KINDS: dict[str, type[Kind]] = {
    kind.kind_: kind
    for kind in (
        NumberKind, CurveKind, ImageKind, LabelKind, ClassKind, RankingKind, TextKind, SmilesKind,
        GraphKind,
    )
}  # fmt: skip
"""The kinds of outputs of mercer, by name."""


def output_kinds() -> tuple[str, ...]:
    """Return the names of the kinds of outputs, with those of registered spaces."""
    return (*KINDS, *registered_spaces())


def kind_named(name: str) -> Kind:
    """Return an unfitted kind of outputs, given its name."""
    space: type[Space] | None = registered_spaces().get(name)
    return KINDS[name]() if space is None else SpaceKind(space())
