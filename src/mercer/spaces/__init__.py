"""Spaces: the kinds of items that kernels compare, such as vectors, rankings or graphs.

A space defines how its items are checked, sliced, compared for equality and saved. A custom space
can also define a default kernel, decoder and metric. Every kernel has a space.
"""

from .._base.moved import moved_names
from .base import Opaque, Space
from .classes import Classes
from .curve_grids import as_grid, interpolate
from .curves import Curves
from .fields import Fields, Grid
from .graphs import Graphs, Trees
from .indices import GramRows, Indices
from .label_sets import LabelSets
from .molecules import Molecules, Spectra
from .moves import Moves
from .rankings import Rankings
from .records import Records
from .rows import Rows
from .sequences import Sequences, as_sequences
from .vectors import Vectors

__all__ = [
    "Classes", "Curves", "Fields", "GramRows", "Graphs", "Grid", "Indices", "LabelSets",
    "Molecules", "Moves", "Opaque", "Rankings", "Records", "Rows", "Sequences", "Space",
    "Spectra", "Trees", "Vectors", "as_grid", "as_sequences", "interpolate",
]  # fmt: skip

__getattr__ = moved_names(__name__, {"Resample": "mercer.fields"})
