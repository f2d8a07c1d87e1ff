"""What the columns of a table can hold, by the name that the command line gives it."""

from .base import Space
from .labels import LabelSets
from .numbers import Curves, Images, Vectors
from .rankings import Rankings
from .text import Smiles, Text

SPACES: dict[str, type[Space]] = {
    "text": Text,
    "labels": LabelSets,
    "ranking": Rankings,
    "curve": Curves,
    "image": Images,
    "vector": Vectors,
    "smiles": Smiles,
}

__all__ = ["SPACES", "Space", "Text"]
