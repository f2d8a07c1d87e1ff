from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import BoundedSemaphore, Lock
from typing import Any

from .digits import Digits
from .fields import Fields
from .strings import Strings
from .table import Tables
from .words import Words

LARGEST = 2**22
"""Bytes of a request."""
PATIENCE = 10.0
"""Seconds in which a request must have arrived, and a reply must have been taken."""
CONNECTIONS = 512
"""Connections that may be open at once; the one that has waited longest makes room for a new."""
WAITING = 8
"""Requests that may wait for a model to be fitted; further ones are told to come again."""
TABS = {
    "digits": ("some", "complete"),
    "words": ("some", "read"),
    "strings": ("learn", "answer"),
    "fields": ("some", "predict"),
    "table": ("look", "fit", "progress", "row", "predict"),
}
"""The tabs of the page, and what each can be asked."""
COSTLY = (
    "/digits/complete", "/words/read", "/strings/learn", "/strings/answer", "/fields/predict",
    "/table/predict",
)  # fmt: skip
FILES = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css"),
    **{f"/{name}.js": (f"{name}.js", "text/javascript")
       for name in ("common", *TABS)},
}  # fmt: skip
POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:"
INERT = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""Of a report: it shows what a stranger's table holds, and runs nothing."""


class Handler(BaseHTTPRequestHandler):
    """GET gives the page, POST an answer of one of its tabs."""

    server: Server
    timeout = PATIENCE

    def setup(self) -> None:
        """Note when the connection began, so that the server can end one that says nothing."""
        super().setup()
        self.server.unread[self.connection] = time.monotonic()

    def finish(self) -> None:
        """Forget the connection."""
        self.server.unread.pop(self.connection, None)
        super().finish()

    def do_GET(self) -> None:
        """A file of the page, or one that was made of the table."""
        path = self.path.split("?")[0]
        if path not in FILES and path not in self.server.downloads:
            self.send_error(HTTPStatus.NOT_FOUND)
        elif self._trusted():
            if path in FILES:
                name, kind = FILES[path]
                self._send(files(__package__).joinpath(name).read_bytes(), kind)
            else:
                self._download(*self.server.downloads[path])

    def _download(self, make: Callable[[], bytes], kind: str) -> None:
        try:
            self._send(make(), kind, INERT)
        except (ValueError, TypeError, OSError) as problem:
            self._send(str(problem).encode(), "text/plain; charset=utf-8", INERT)

    def do_POST(self) -> None:
        """An answer, as JSON."""
        answer = self.server.answers.get(self.path)
        if answer is None:
            self.send_error(HTTPStatus.NOT_FOUND)
        elif self._trusted():
            self._send(json.dumps(self._answered(answer)).encode(), "application/json")

    def _answered(self, answer: Callable[[dict], Any]) -> dict:
        try:
            request = json.loads(self._body() or b"{}")
            if not isinstance(request, dict):
                raise TypeError(f"a request is an object with names, got {type(request).__name__}.")
            return self.server.answered(self.path, answer, request)
        except KeyError as problem:
            return {"error": f"the request has no {problem}."}
        except MemoryError as problem:
            return {"error": str(problem) or "that needs more memory than there is: send less."}
        except (ValueError, TypeError, ArithmeticError, ImportError, OSError) as problem:
            return {"error": str(problem)}
        except RecursionError:
            return {"error": "the request is nested too deeply: recursion has a limit."}

    def _body(self) -> bytes:
        length = (self.headers.get("Content-Length") or "0").lstrip("0") or "0"
        if not (length.isascii() and length.isdigit()):
            raise ValueError(f"a request says how long it is in bytes, got {length!r:.40}.")
        if len(length) > 10 or int(length) > LARGEST:
            raise ValueError("that is too much for this page: use the command line (mercer fit).")
        body = self.rfile.read(int(length))
        self.server.unread.pop(self.connection, None)
        return body

    def _trusted(self) -> bool:
        """Whether the page itself asks: another site could name this address as its own."""
        host = self.headers.get("Host") or ""
        origin = self.headers.get("Origin")
        known = host.rsplit(":", 1)[0] in ("localhost", "127.0.0.1")
        if known and origin in (None, f"http://{host}"):
            return True
        self.send_error(HTTPStatus.FORBIDDEN)
        return False

    def _send(self, body: bytes, kind: str, policy: str = POLICY) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Nothing: the terminal is the user's."""


class Server(ThreadingHTTPServer):
    """The page and its tabs, on loopback."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int = 0, table: str | None = None):
        tables = Tables(table)
        tabs = {"digits": Digits(), "words": Words(), "strings": Strings(), "fields": Fields()}
        self.answers: dict[str, Callable[[dict], Any]] = {
            f"/{tab}/{asked}": getattr(tabs.get(tab, tables), asked)
            for tab, names in TABS.items()
            for asked in names
        }
        self.downloads: dict[str, tuple[Callable[[], bytes], str]] = {
            "/table/report": (tables.report, "text/html; charset=utf-8"),
            "/table/model": (tables.file, "application/octet-stream"),
        }
        self.unread: dict[socket.socket, float] = {}
        self._places, self._one_at_a_time = BoundedSemaphore(WAITING), Lock()
        super().__init__(("127.0.0.1", port), Handler)

    def answered(self, path: str, answer: Callable[[dict], Any], request: dict) -> Any:
        """An answer; those that fit models come one after the other, and few wait for them."""
        if path not in COSTLY:
            return answer(request)
        if not self._places.acquire(blocking=False):
            raise ValueError("the page is busy with other requests: ask again in a moment.")
        try:
            with self._one_at_a_time:
                return answer(request)
        finally:
            self._places.release()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Take a connection, at the cost of the oldest one where there are too many."""
        waiting = sorted(self.unread.copy().items(), key=lambda item: item[1])
        for connection, _ in waiting[: max(0, len(waiting) - CONNECTIONS + 1)]:
            self._end(connection)
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """End connections whose request has not arrived in time, also one that comes in drops."""
        now = time.monotonic()
        for connection, begun in self.unread.copy().items():
            if now - begun > PATIENCE:
                self._end(connection)

    def _end(self, connection: socket.socket) -> None:
        self.unread.pop(connection, None)
        try:
            connection.shutdown(socket.SHUT_RDWR)  # its thread reads the end and closes it
        except OSError:
            pass

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing where a browser has gone away or was too slow; else as ever."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://127.0.0.1:{self.server_port}"


def serve(port: int = 0, table: str | None = None) -> Server:
    """The server, ready to `serve_forever`.

    Parameters
    ----------
    port
        0 takes any that is free.
    table
        A file to show first.
    """
    return Server(port, table)
