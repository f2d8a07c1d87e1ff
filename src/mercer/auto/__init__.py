"""Models of tables: kinds of columns, kernels, forests and blends are chosen automatically."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .dependency import AutoDependency

__all__ = ["AutoDependency"]


def __getattr__(name: str) -> Any:
    """Import the estimator on first use, because reading a file does not need it."""
    if name != "AutoDependency":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .dependency import AutoDependency

    return AutoDependency
