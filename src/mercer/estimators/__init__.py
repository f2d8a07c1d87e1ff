"""Estimators: they fit models, choose among them by left-out predictions, and decode outputs."""

from .._base.moved import moved_names
from .base import StructuredEstimator, on_fresh_state, warn_if_constant
from .blend import Blend
from .boosted import BoostedDependency
from .forest import ForestDependency
from .head import RegressorDependency
from .kernel_dependency import KernelDependency
from .kernel_dependency_cv import KernelDependencyCV
from .learn_metric import learn_metric
from .missing_targets import MissingTargets
from .pairs import group_labels, sample_weights
from .train_network import train_network
from .tune import tune

__all__ = [
    "Blend", "BoostedDependency", "ForestDependency", "KernelDependency",
    "KernelDependencyCV", "MissingTargets", "RegressorDependency",
    "StructuredEstimator", "group_labels", "learn_metric", "on_fresh_state", "sample_weights",
    "train_network", "tune", "warn_if_constant",
]  # fmt: skip

__getattr__ = moved_names(
    __name__, {"LocalLaw": "mercer.fields", "JointKernelMap": "experiments.peers"}
)
