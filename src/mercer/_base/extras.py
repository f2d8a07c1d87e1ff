"""Optional dependencies, imported when first used; an error names the command to install one."""

from __future__ import annotations

from importlib.util import find_spec


def require(module: str, extra: str) -> None:
    """Raise an error that names the extra to install unless a module is installed."""
    if find_spec(module) is None:
        raise ImportError(f'{module} is needed for this: pip install "mercer[{extra}]".')
