"""Errors and warnings for users: missing abilities and packages, and where a problem is."""

from __future__ import annotations

import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PACKAGE = str(Path(__file__).parent.parent)


class NotSupported(ValueError):
    """Error for an optional ability that is not available, such as a closed form.

    The message says what is not available and what to use instead.
    """


class LocatedError(ValueError):
    """Error whose message says where another error, its cause, occurred, such as a block."""


def require(module: str, extra: str) -> None:
    """Raise an error that names the extra to install unless `module` is installed."""
    if find_spec(module) is None:
        raise ImportError(f'{module} is needed for this: pip install "mercer[{extra}]".')


def refuse_class(value: Any, base: type | tuple[type, ...]) -> None:
    """Raise an error if a value is a class derived from `base` where an instance is needed."""
    if isinstance(value, type) and issubclass(value, base):
        name = value.__name__
        raise TypeError(f"{name} is a class, with its brackets forgotten: write {name}().")


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points to the user's line of code outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
