"""Warnings that point at the line of the user's code."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

PACKAGE = str(Path(__file__).parent.parent)


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points to the user's line of code outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
