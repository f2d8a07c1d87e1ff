"""mercer: predict images, curves, words, rankings, label sets and graphs with kernels.

Map the output into a feature space with a kernel, solve one ridge equation there with an
operator-valued kernel, and decode the predicted point back into an output.
"""

from typing import Any

from .estimators import (
    Blend,
    ConformalSets,
    ForestDependency,
    KernelDependency,
    KernelDependencyCV,
    OnlineKernelDependency,
    RegressorDependency,
    train_network,
    tune,
)
from .sequences import JointKernelMap, MaxMarginMarkovNetwork, SequenceTransducer

__version__ = "0.2.0"

from .persistence import DamagedModel, Limits, load, register, save

__all__ = [
    "AutoDependency",
    "Blend",
    "ConformalSets",
    "DamagedModel",
    "ForestDependency",
    "JointKernelMap",
    "KernelDependency",
    "KernelDependencyCV",
    "Limits",
    "MaxMarginMarkovNetwork",
    "OnlineKernelDependency",
    "RegressorDependency",
    "SequenceTransducer",
    "__version__",
    "load",
    "register",
    "save",
    "train_network",
    "tune",
]


def __getattr__(name: str) -> Any:
    """Import `AutoDependency`, and the reading of tables that it needs, on first use."""
    if name != "AutoDependency":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .auto import AutoDependency

    return AutoDependency
