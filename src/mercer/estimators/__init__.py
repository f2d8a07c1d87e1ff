"""Estimators: thin glue that walks the rooms of the house in order."""

from importlib import import_module
from typing import Any

from .blend import Blend
from .forest import ForestDependency
from .head import RegressorDependency
from .joint_kernel_map import JointKernelMap
from .kernel_dependency import KernelDependency
from .kernel_dependency_cv import KernelDependencyCV
from .local_law import LocalLaw
from .train_network import train_network
from .tune import tune

__all__ = [
    "Blend", "ConformalSets", "ForestDependency", "JointKernelMap", "KernelDependency",
    "KernelDependencyCV", "LocalLaw", "MaxMarginMarkovNetwork", "RegressorDependency",
    "SequenceTransducer", "train_network", "tune",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Find the models of `mercer.sequences` and `mercer.sets` here too."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "mercer.sets" if name == "ConformalSets" else "mercer.sequences"
    return getattr(import_module(home), name)
