"""Sources of pairs: arrays, blocks, files, arrays on disk, or a cluster.

A low-rank fit needs only sums over the pairs. `Stream` computes them block by block, with
checkpoints from which an interrupted fit continues. `DaskStream` computes them on a cluster. The
same pairs give the same model from every source.
"""

from .base import Source
from .blocks import BadBlock, Expected
from .checkpoint import BadCheckpoint, Checkpoint
from .dask_stream import DaskStream, mapped
from .gathering import Gathering, sum_moments
from .sample import Sample, sample_size, sampled_rows
from .shards import RowBlocks, Shards
from .stream import Stream, as_source, is_dask

__all__ = [
    "BadBlock", "BadCheckpoint", "Checkpoint", "DaskStream", "Expected", "Gathering", "RowBlocks",
    "Sample", "Shards", "Source", "Stream", "as_source", "is_dask", "mapped", "sample_size",
    "sampled_rows", "sum_moments",
]  # fmt: skip
