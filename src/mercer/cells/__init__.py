"""Cells of a table: named columns, and numbers and dates as people write them."""

from .table import MISSING, BadTable, Table

__all__ = ["MISSING", "BadTable", "Table"]
