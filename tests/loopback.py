"""Servers of tests, on loopback alone."""

import threading
from contextlib import contextmanager
from http.server import ThreadingHTTPServer


@contextmanager
def on_loopback(handler):
    """The address of a server that answers by the handler until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
