"""Models of sequences: `SequenceTransducer`."""

from .._base.moved import moved_names
from .sequence_transducer import SequenceTransducer

__all__ = ["SequenceTransducer"]

__getattr__ = moved_names(
    __name__, dict.fromkeys(("JointKernelMap", "MaxMarginMarkovNetwork"), "experiments.peers")
)
