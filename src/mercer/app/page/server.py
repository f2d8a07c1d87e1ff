"""The web server of the page (starlette, uvicorn): requests, downloads and files."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from . import connection
from .plain import sentence_of, to_json_types
from .table import TablePage

REQUEST_BYTES = 2**22
"""The largest number of bytes of a request."""
WAITING = 8
"""The largest number of costly requests in progress or waiting; others are refused."""
COSTLY = {"/table/predict"}
"""Requests that fit models and are answered one at a time."""
HEADERS = [
    ("Content-Security-Policy",
     "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
     "frame-ancestors 'self'; form-action 'none'; base-uri 'none'"),
    ("X-Content-Type-Options", "nosniff"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
    ("Connection", "close"),  # so that the limits of a connection are those of a request
]  # fmt: skip
NO_SCRIPTS = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; "
    "img-src data:"
}
"""Headers that forbid scripts in a report, which shows cells of any table."""


class SameOrigin:
    """Middleware that refuses requests that a browser sends for a page of another site."""

    def __init__(self, app: Any):
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on to the application, or answer it with status 403."""
        headers = Headers(scope=scope)
        if headers.get("origin") in (None, f"http://{headers.get('host')}"):
            await self.app(scope, receive, send)
        else:
            refusal = PlainTextResponse("Requests from other sites are refused.", 403)
            await refusal(scope, receive, send)


class JsonEndpoint:
    """Endpoint for the requests of the page, which takes and returns JSON objects."""

    def __init__(self, tables: TablePage):
        self.by_path: dict[str, Callable[[dict], dict]] = {
            "/table/look": tables.upload,
            "/table/fit": tables.fit,
            "/table/progress": tables.progress,
            "/table/row": tables.row,
            "/table/predict": tables.predict,
        }
        self.one_at_a_time, self.waiting = CapacityLimiter(1), 0

    async def __call__(self, request: Request) -> Response:
        """Return the JSON response to a request, or a response with an error message."""
        answer = self.by_path.get(request.url.path)
        if answer is None:
            return PlainTextResponse("Not Found", 404)
        try:
            async with asyncio.timeout(connection.PATIENCE):
                body = await request.body()
        except (TimeoutError, ClientDisconnect):
            return PlainTextResponse("The request did not arrive in time.", 408)
        if request.url.path not in COSTLY:
            return await to_thread.run_sync(_call_and_respond, answer, body)
        if self.waiting >= WAITING:
            return _error_response(
                "The page is busy with other requests: try again in a moment.", 503
            )
        self.waiting += 1
        try:
            return await to_thread.run_sync(
                _call_and_respond, answer, body, limiter=self.one_at_a_time
            )
        finally:
            self.waiting -= 1


def _call_and_respond(answer: Callable[[dict], dict], body: bytes) -> Response:
    """Call `answer` on the JSON object in `body`; return its result or its error as a response."""
    try:
        request = json.loads(body or b"{}")
        if not isinstance(request, dict):
            raise TypeError(f"A request must be an object, got {type(request).__name__}.")
        return _json_response(to_json_types(answer(request)))
    except KeyError as problem:
        return _error_response(f"The request has no {problem}.")
    except MemoryError as problem:
        return _error_response(str(problem) or "There is not enough memory for this: send less.")
    except RecursionError:
        return _error_response("The request is nested too deeply: recursion is limited.")
    except (ValueError, TypeError, ArithmeticError, ImportError, OSError) as problem:
        return _error_response(sentence_of(problem))


def _error_response(sentence: str, status: int = 400) -> Response:
    """Return a JSON response with an error message."""
    return _json_response({"error": sentence}, status)


def _json_response(content: dict, status: int = 200) -> Response:
    """Return a JSON response with the given content."""
    text = json.dumps(content)  # in ASCII: a lone surrogate of a table has no UTF-8
    return Response(text, status, media_type="application/json")


def _download_endpoint(make: Callable[[], bytes], media_type: str) -> Callable[[Request], Response]:
    """Return an endpoint that sends the bytes that `make` returns."""

    def endpoint(request: Request) -> Response:
        """Return a response with the bytes, or with an error message."""
        try:
            return Response(make(), media_type=media_type, headers=NO_SCRIPTS)
        except (ValueError, TypeError, ImportError, OSError) as problem:
            return PlainTextResponse(str(problem), 400, headers=NO_SCRIPTS)

    return endpoint


def create_app(answers: JsonEndpoint, tables: TablePage) -> Starlette:
    """Return the web application: downloads, requests of the page, and the files of the page."""
    return Starlette(
        routes=[
            Route("/table/report", _download_endpoint(tables.report, "text/html")),
            Route(
                "/table/model", _download_endpoint(tables.model_file, "application/octet-stream")
            ),
            Route(
                "/table/{question}", answers.__call__, methods=["POST"], max_body_size=REQUEST_BYTES
            ),
            Mount("/", StaticFiles(directory=Path(__file__).parent / "static", html=True)),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"]),
            Middleware(SameOrigin),
        ],
    )


class Server(uvicorn.Server):
    """The web server of the page, bound to a port of this machine.

    Parameters
    ----------
    port : int, default=0
        The port on 127.0.0.1; 0 chooses a free one.
    table : str or Path, default=None
        A file that the page shows first.
    """

    def __init__(self, port: int = 0, table: str | Path | None = None):
        tables = TablePage(table)
        answers = JsonEndpoint(tables)
        self.answers = answers.by_path
        self.socket = socket.create_server(("127.0.0.1", port))
        super().__init__(
            uvicorn.Config(
                create_app(answers, tables), http=connection.Connection, ws="none", lifespan="off",
                log_config=None, access_log=False, server_header=False, proxy_headers=False,
                headers=HEADERS, timeout_graceful_shutdown=1,
            )
        )  # fmt: skip

    @property
    def port(self) -> int:
        """The port that the page is served on."""
        return self.socket.getsockname()[1]

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.port}"

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer requests until the process is interrupted or `should_exit` is set."""
        super().run(sockets or [self.socket])
