"""From a table to a model in one line: spaces, kernels, forests and blends are chosen."""

from .dependency import AutoDependency

__all__ = ["AutoDependency"]
