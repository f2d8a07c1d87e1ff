"""Files of rows and columns: CSV, TSV, JSON, JSON Lines, Parquet, NPZ and spreadsheets.

A file is read into a `Table` of named columns, which `AutoDependency` accepts like a DataFrame.
"""

from .auto.tables import BadTable, Option, Table, read, write

__all__ = ["BadTable", "Option", "Table", "read", "write"]
