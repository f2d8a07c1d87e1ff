"""Models of sequences: `SequenceTransducer`, and max-margin models."""

from ..estimators import JointKernelMap
from .max_margin import MaxMarginMarkovNetwork
from .sequence_transducer import SequenceTransducer

__all__ = ["JointKernelMap", "MaxMarginMarkovNetwork", "SequenceTransducer"]
