"""A uvicorn server that says when it answers, and where."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence

import uvicorn


def announce(doing: str, config: uvicorn.Config, sockets: Sequence[socket.socket]) -> None:
    """Print the line that tells people and tests that a server answers, and where."""
    host = f"[{config.host}]" if ":" in config.host else config.host
    scheme = "https" if config.is_ssl else "http"
    print(f"renderlayer is {doing} on {scheme}://{host}:{sockets[0].getsockname()[1]}", flush=True)


class ReadyLoggingServer(uvicorn.Server):
    """Prints one line once it listens: "renderlayer is DOING on URL".

    Args:
        config: uvicorn's; port 0 takes a free one.
        doing: what the line says.
        stopping: called once the server was told to stop, before it waits for the requests under way.
    """

    def __init__(self, config: uvicorn.Config, doing: str, stopping: Callable[[], None] | None = None) -> None:
        super().__init__(config)
        self._doing = doing
        self._stopping = stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            announce(self._doing, self.config, [one for server in self.servers for one in server.sockets])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._stopping is not None:
            self._stopping()
        await super().shutdown(sockets)
