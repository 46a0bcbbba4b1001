"""A uvicorn server that says when it answers and where, and cuts off clients that stop reading."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol as Protocol
else:
    Protocol = AutoHTTPProtocol


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
            scheme = "https" if self.config.is_ssl else "http"
            print(f"renderlayer is {self._doing} on {scheme}://{host}:{port}", flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._stopping is not None:
            self._stopping()
        await super().shutdown(sockets)


def impatient(seconds: float) -> type[asyncio.Protocol]:
    """uvicorn's protocol, which drops a connection whose client takes nothing for so many seconds; 0: never."""
    if not seconds:
        return AutoHTTPProtocol

    class ImpatientProtocol(Protocol):
        _stalled: asyncio.TimerHandle | None = None

        def pause_writing(self) -> None:
            super().pause_writing()
            self._stalled = self.loop.call_later(seconds, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._forget()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self._forget()

        def _forget(self) -> None:
            if self._stalled is not None:
                self._stalled.cancel()
                self._stalled = None

    return ImpatientProtocol
