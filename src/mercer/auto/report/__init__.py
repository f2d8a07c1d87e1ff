"""What was found, tried and chosen, and where it errs, as one HTML file with pictures.

Nothing is loaded from elsewhere, and all text of the table is escaped.
"""

from .page import column_rows, write_report

__all__ = ["column_rows", "write_report"]
