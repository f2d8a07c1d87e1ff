"""Spaces: the kinds of items that kernels compare; one file for each kind.

A space is the only place that knows how an item is checked, sliced, compared for equality, saved,
decoded by default and scored. Kernels name their space; sums and products join two.
"""

from .base import Opaque, Space
from .classes import Classes
from .curves import Curves
from .fields import Fields
from .graphs import Graphs, Trees
from .indices import GramRows, Indices
from .label_sets import LabelSets
from .molecules import Molecules, Spectra
from .rankings import Rankings
from .records import Records
from .resample import Resample
from .rows import Rows
from .sequences import Sequences
from .vectors import Vectors

__all__ = [
    "Classes", "Curves", "Fields", "GramRows", "Graphs", "Indices", "LabelSets", "Molecules",
    "Opaque", "Rankings", "Records", "Resample", "Rows", "Sequences", "Space", "Spectra", "Trees",
    "Vectors",
]  # fmt: skip
