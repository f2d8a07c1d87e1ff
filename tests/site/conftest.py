"""The built site, served on loopback."""

import functools
import os
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

SITE = Path(os.environ.get("MERCER_SITE", Path(__file__).parents[2] / "docs/_build/html"))


@pytest.fixture(scope="module")
def address():
    if not SITE.is_dir():
        pytest.skip("no site: run make docs")

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    handler = functools.partial(Handler, directory=str(SITE))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()
