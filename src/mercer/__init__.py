"""mercer: predict images, curves, words, rankings, label sets and graphs with kernels.

Map the output into a feature space with a kernel, solve one ridge equation there with an
operator-valued kernel, and decode the predicted point back into an output.
"""

from .estimators import JointKernelMap, KernelDependency, KernelDependencyCV, SequenceTransducer

__version__ = "0.1.0"

__all__ = [
    "JointKernelMap",
    "KernelDependency",
    "KernelDependencyCV",
    "SequenceTransducer",
    "__version__",
]
