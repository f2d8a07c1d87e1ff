"""Optional dependencies: asked for when first used, with the command that installs them."""

from __future__ import annotations

from importlib.util import find_spec


def require(module: str, extra: str) -> None:
    """Say how to install what is missing, before an import fails without a word of advice."""
    if find_spec(module) is None:
        raise ImportError(f'{module} is needed for this: pip install "mercer[{extra}]".')
