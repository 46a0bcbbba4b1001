"""A uvicorn server that says when it answers, and where."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn


class AnnouncingServer(uvicorn.Server):
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
            port = self.servers[0].sockets[0].getsockname()[1]
            host = f"[{self.config.host}]" if ":" in self.config.host else self.config.host
            print(f"renderlayer is {self._doing} on http://{host}:{port}", flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._stopping is not None:
            self._stopping()
        await super().shutdown(sockets)
