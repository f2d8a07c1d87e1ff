"""Estimators: thin glue that walks the rooms of the house in order."""

from .kernel_dependency import KernelDependency
from .kernel_dependency_cv import KernelDependencyCV
from .online import OnlineKernelDependency
from .sequence_transducer import SequenceTransducer

__all__ = ["KernelDependency", "KernelDependencyCV", "OnlineKernelDependency", "SequenceTransducer"]
