"""Files of rows and columns: CSV, TSV, JSON, JSON Lines, Parquet, NPZ and spreadsheets.

A file is read into a `Table` of named columns, which `AutoDependency` learns from as from any other
table.
"""

from ..cells import BadTable, Table
from .read import read
from .write import write

__all__ = ["BadTable", "Table", "read", "write"]
