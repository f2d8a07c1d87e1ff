"""The built site, served on loopback."""

import functools
import os
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import pytest

from loopback import on_loopback

SITE = Path(os.environ.get("MERCER_SITE", Path(__file__).parents[2] / "docs/_build/html"))


@pytest.fixture(scope="module")
def address():
    if not SITE.is_dir():
        pytest.skip("no site: run make docs")

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    with on_loopback(functools.partial(Handler, directory=str(SITE))) as address:
        yield address
