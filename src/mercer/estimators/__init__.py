"""Estimators: thin glue that walks the rooms of the house in order."""

from .conformal import ConformalSets
from .kernel_dependency import KernelDependency
from .kernel_dependency_cv import KernelDependencyCV
from .max_margin import MaxMarginMarkovNetwork
from .sequence_transducer import SequenceTransducer

__all__ = [
    "ConformalSets",
    "KernelDependency",
    "KernelDependencyCV",
    "MaxMarginMarkovNetwork",
    "SequenceTransducer",
]
