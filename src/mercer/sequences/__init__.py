"""Models of sequences: transducers, chains with a margin, and joint kernel maps beside them."""

from .joint_kernel_map import JointKernelMap
from .max_margin import MaxMarginMarkovNetwork
from .sequence_transducer import SequenceTransducer

__all__ = ["JointKernelMap", "MaxMarginMarkovNetwork", "SequenceTransducer"]
