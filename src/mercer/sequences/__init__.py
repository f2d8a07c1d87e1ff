"""Models of sequences: transducers, and chains with a margin."""

from ..estimators import JointKernelMap
from .max_margin import MaxMarginMarkovNetwork
from .sequence_transducer import SequenceTransducer

__all__ = ["JointKernelMap", "MaxMarginMarkovNetwork", "SequenceTransducer"]
