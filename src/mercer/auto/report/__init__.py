"""What was found, tried and chosen, and where it errs, as one HTML file with pictures.

The file loads nothing from elsewhere, and all text of the table is escaped.
"""

from .page import check_report_packages, column_rows, write_report

__all__ = ["check_report_packages", "column_rows", "write_report"]
