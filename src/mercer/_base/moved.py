"""Public names that moved to another module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def moved_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module's `__getattr__` that says where each of the moved `names` is now."""

    def __getattr__(name: str) -> Any:
        """Raise an ImportError for a moved name, and an AttributeError for any other."""
        if name in names:
            raise ImportError(f"{name} moved: from {names[name]} import {name}", name=module)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return __getattr__
