"""Streams: pairs that come in blocks, from files, generators, arrays on disk or a cluster.

All that a ridge equation needs of the data are its moments, and they add over blocks. So a stream
is folded block by block (`Stream`), a killed run goes on from its last checkpoint, and a cluster
gathers the moments of its blocks where they lie and sends only their sum.
"""

from .base import PairSource
from .checkpoint import BadCheckpoint, Checkpoint
from .cluster import is_dask
from .dask_map import mapped
from .dask_stream import DaskStream
from .expected import BadBlock, Expected
from .gathering import Gathering
from .sample import Sample
from .shards import Shards
from .source import Rows, Stream, as_stream

__all__ = [
    "BadBlock",
    "BadCheckpoint",
    "Checkpoint",
    "DaskStream",
    "Expected",
    "Gathering",
    "PairSource",
    "Rows",
    "Sample",
    "Shards",
    "Stream",
    "as_stream",
    "is_dask",
    "mapped",
]
