"""Tables: files of rows and columns, what their columns hold, and models fitted on them.

A file is read into a `Table` of named columns; a `Space` says what some of its columns hold (text,
sets of labels, rankings, curves, images, vectors, molecules), guessed from the cells or given; and
a `TableModel` learns one space from another, everything chosen by leave-one-out.
"""

from .guess import guess
from .model import TableModel
from .read import read
from .spaces import SPACES, Space
from .table import BadTable, Table
from .write import write

__all__ = ["SPACES", "BadTable", "Space", "Table", "TableModel", "guess", "read", "write"]
