"""Files and frames of rows and columns: CSV, TSV, JSON, JSON Lines, Parquet, NPZ, spreadsheets.

A file is read into a `Table` of named columns, which `AutoDependency` accepts like a DataFrame.
"""

from .bad_table import BadTable, Option
from .read import read
from .table import Table
from .write import write

__all__ = ["BadTable", "Option", "Table", "read", "write"]
