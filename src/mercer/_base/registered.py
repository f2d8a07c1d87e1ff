"""Custom classes that were registered: model files may name them, and tables may hold them."""

from __future__ import annotations

REGISTERED: dict[str, type] = {}
"""The registered classes, by the name that model files have for them."""


def registered_classes() -> list[type]:
    """Return the custom classes that were registered, in that order."""
    return list(REGISTERED.values())
