from __future__ import annotations

import json
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

from .digits import Digits
from .strings import Strings
from .words import Words

LARGEST = 2**22
"""Bytes of a request."""


class Handler(BaseHTTPRequestHandler):
    """GET gives the page, POST an answer of one of its tabs."""

    server: Server

    def do_GET(self) -> None:
        """The page."""
        if self.path.split("?")[0] != "/":
            self.send_error(HTTPStatus.NOT_FOUND)
        elif self._trusted():
            page = files(__package__).joinpath("page.html").read_bytes()
            self._send(page, "text/html; charset=utf-8")

    def do_POST(self) -> None:
        """An answer, as JSON."""
        answer = self.server.answers.get(self.path)
        if answer is None:
            self.send_error(HTTPStatus.NOT_FOUND)
        elif self._trusted():
            self._send(json.dumps(self._answered(answer)).encode(), "application/json")

    def _answered(self, answer: Callable[[dict], Any]) -> dict:
        length = self.headers.get("Content-Length") or "0"
        if not (length.isascii() and length.isdigit()):
            return {"error": f"a request says how long it is in bytes, got {length!r:.40}."}
        if int(length[:20]) > LARGEST:
            return {"error": "that is too much for this page: use the command line (mercer fit)."}
        try:
            request = json.loads(self.rfile.read(int(length)) or b"{}")
            if not isinstance(request, dict):
                raise TypeError(f"a request is an object with names, got {type(request).__name__}.")
            return answer(request)
        except KeyError as problem:
            return {"error": f"the request has no {problem}."}
        except (ValueError, TypeError, ArithmeticError, RecursionError, OSError) as problem:
            return {"error": str(problem)}

    def _trusted(self) -> bool:
        """Whether the page itself asks: another site could name this address as its own."""
        name = (self.headers.get("Host") or "").rsplit(":", 1)[0]
        origin = self.headers.get("Origin")
        own = origin is None or origin.split("//")[-1] == self.headers.get("Host")
        if name in ("localhost", "127.0.0.1") and own:
            return True
        self.send_error(HTTPStatus.FORBIDDEN)
        return False

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", "default-src 'self' 'unsafe-inline' data:")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Nothing: the terminal is the user's."""


class Server(ThreadingHTTPServer):
    """The page and its three tabs, on loopback."""

    daemon_threads = True

    def __init__(self, port: int = 0):
        digits, words, strings = Digits(), Words(), Strings()
        self.answers: dict[str, Callable[[dict], Any]] = {
            "/digits/some": digits.some,
            "/digits/complete": digits.complete,
            "/words/some": words.some,
            "/words/read": words.read,
            "/strings/learn": strings.learn,
            "/strings/answer": strings.answer,
        }
        super().__init__(("127.0.0.1", port), Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing where a browser has gone away; else as ever."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://127.0.0.1:{self.server_port}"


def serve(port: int = 0) -> Server:
    """The server, ready to `serve_forever`; port 0 takes any that is free."""
    return Server(port)
