"""Connections with time limits: by default, uvicorn waits for requests and readers without end."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 10.0
"""The largest number of seconds for a request to arrive, and for its answer to be read."""
CONNECTIONS = 512
"""The largest number of open connections; beyond it the oldest idle one is closed."""


class Connection(H11Protocol):
    """HTTP connection with time limits for the request to arrive and the response to be read."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limit; close the oldest idle connection if there are too many."""
        super().connection_made(transport)
        self.begun = self.loop.time()
        self.loop.call_later(PATIENCE, self._close_if_idle)
        idle = [c for c in self.connections if isinstance(c, Connection) and c.cycle is None]
        if len(self.connections) > CONNECTIONS and idle:
            oldest = min(idle, key=lambda connection: connection.begun)
            self.connections.discard(oldest)  # aborting takes effect later
            oldest.transport.abort()

    def _close_if_idle(self) -> None:
        """Close the connection if no request has arrived on it."""
        if self.cycle is None:
            self.transport.abort()

    def on_response_complete(self) -> None:
        """Close the connection `PATIENCE` seconds after the response was sent."""
        super().on_response_complete()
        self.loop.call_later(PATIENCE, self.transport.abort)
