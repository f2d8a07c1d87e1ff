"""The former name of `mercer.sources`, which warns once."""

import warnings

from .sources import *  # noqa: F403
from .sources import __all__  # noqa: F401

warnings.warn(
    "mercer.streams is called mercer.sources now: import from there.",
    DeprecationWarning,
    stacklevel=2,
)
