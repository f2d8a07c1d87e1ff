"""Web page to try mercer on your own table: fit, predict, and download the model and a report.

The page is served on this machine only (`pip install "mercer[demo]"`) and loads nothing from
other sites.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..._base.errors import require

if TYPE_CHECKING:
    from .server import Server

__all__ = ["serve"]


def serve(port: int = 0, table: str | Path | None = None) -> Server:
    """Return a web server bound to a port of this machine; its method `run` serves the page.

    Parameters
    ----------
    port : int, default=0
        The port on 127.0.0.1; 0 chooses a free one.
    table : str or Path, default=None
        A file that the page shows first.
    """
    require("starlette", "demo")
    require("uvicorn", "demo")
    from .server import Server

    return Server(port, table)
