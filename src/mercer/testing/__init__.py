"""Checks that a custom kernel, operator, feature map, loss, decoder or estimator is valid.

mercer's own tests run them over lists of everything it exports; run them on a custom part:

>>> from mercer.kernels import RBF
>>> from mercer.testing import check_kernel
>>> check_kernel(RBF(1.0), [[0.0], [0.5], [2.0]])

Each raises an `AssertionError` that says which promise was broken.
"""

from .estimators import check_stream_learner, check_structured_estimator, same_outputs
from .kernels import check_kernel
from .operators import check_operator, check_operator_kernel
from .parts import check_decoder, check_feature_map, check_loss

__all__ = [
    "check_decoder", "check_feature_map", "check_kernel", "check_loss", "check_operator",
    "check_operator_kernel", "check_stream_learner", "check_structured_estimator", "same_outputs",
]  # fmt: skip
