"""mercer: predict images, curves, words, rankings, label sets and graphs with kernels.

Map the output into a feature space with a kernel, solve one ridge equation there with an
operator-valued kernel, and decode the predicted point back into an output.
"""

from .estimators import (
    ConformalSets,
    KernelDependency,
    KernelDependencyCV,
    OnlineKernelDependency,
)
from .sequences import JointKernelMap, MaxMarginMarkovNetwork, SequenceTransducer

__version__ = "0.1.0"

from .persistence import DamagedModel, Limits, load, register, save

__all__ = [
    "ConformalSets",
    "DamagedModel",
    "JointKernelMap",
    "KernelDependency",
    "KernelDependencyCV",
    "Limits",
    "MaxMarginMarkovNetwork",
    "OnlineKernelDependency",
    "SequenceTransducer",
    "__version__",
    "load",
    "register",
    "save",
]
