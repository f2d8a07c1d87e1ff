"""Estimators: thin glue that walks the rooms of the house in order."""

from .conformal import ConformalSets
from .joint_kernel_map import JointKernelMap
from .kernel_dependency import KernelDependency
from .kernel_dependency_cv import KernelDependencyCV
from .max_margin import MaxMarginMarkovNetwork
from .online import OnlineKernelDependency
from .sequence_transducer import SequenceTransducer

__all__ = [
    "ConformalSets",
    "JointKernelMap",
    "KernelDependency",
    "KernelDependencyCV",
    "MaxMarginMarkovNetwork",
    "OnlineKernelDependency",
    "SequenceTransducer",
]
