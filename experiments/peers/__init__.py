"""Peers of the paper's method: max-margin models, and joint kernels of (input, output) pairs."""

from .joint_kernel_map import JointKernelMap
from .joint_kernels import FromJoint, JointKernel, joint
from .max_margin import MaxMarginMarkovNetwork

__all__ = ["FromJoint", "JointKernel", "JointKernelMap", "MaxMarginMarkovNetwork", "joint"]
