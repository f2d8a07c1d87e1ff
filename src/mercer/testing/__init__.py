"""Checks that a custom kernel, operator, feature map, decoder or estimator is valid.

Run the check of a custom part in its tests:

>>> from mercer.kernels import RBF
>>> from mercer.testing import check_kernel
>>> check_kernel(RBF(1.0), [[0.0], [0.5], [2.0]])

A check raises an `AssertionError` that names the broken requirement.
"""

from .estimators import check_stream_learner, check_structured_estimator, same_outputs
from .kernels import check_kernel
from .operators import check_operator, check_operator_kernel
from .parts import check_decoder, check_feature_map
from .solvers import check_solver

__all__ = [
    "check_decoder", "check_feature_map", "check_kernel", "check_operator",
    "check_operator_kernel", "check_solver", "check_stream_learner", "check_structured_estimator",
    "same_outputs",
]  # fmt: skip
