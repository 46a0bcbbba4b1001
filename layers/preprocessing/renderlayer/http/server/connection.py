"""Connections that end: a client that sends nothing, dribbles, or takes nothing of its answer is cut off."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from renderlayer.errors import RequestTimeout
from renderlayer.http.response import error_response

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol as Protocol
else:
    Protocol = AutoHTTPProtocol


class ServerConfig(uvicorn.Config):
    """uvicorn's configuration, and how patient it is with clients.

    Args:
        receive_timeout: seconds for the head of a request, from its first byte or the connection on; 0: any time.
        send_timeout: seconds after which a client that takes nothing of its answer is cut off; 0: never.
    """

    def __init__(self, app: Any, *, receive_timeout: float, send_timeout: float, **options: Any) -> None:
        super().__init__(app, http=TimedProtocol, **options)
        self.receive_timeout = receive_timeout
        self.send_timeout = send_timeout


class TimedProtocol(Protocol):
    """uvicorn's protocol with limits of time; the body's is kept where it is read (`request.Incoming`)."""

    config: ServerConfig
    _stalled: asyncio.TimerHandle | None = None
    _late: asyncio.TimerHandle | None = None
    _begun = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        before, idle = self.cycle, self.cycle is None or self.cycle.response_complete
        self._begun = True
        super().data_received(data)
        if self.cycle is not before:
            self._forget(self._late)
            self._late, self._begun = None, False
        elif idle and self._late is None and not self.transport.is_closing():
            self._expect_head()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self.config.send_timeout:
            self._stalled = self.loop.call_later(self.config.send_timeout, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._forget(self._stalled)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._forget(self._stalled)
        self._forget(self._late)

    def _expect_head(self) -> None:
        if self.config.receive_timeout:
            self._late = self.loop.call_later(self.config.receive_timeout, self._head_is_late)

    def _head_is_late(self) -> None:
        self._late = None
        if self._begun:
            self.transport.write(_late_head())
        self.transport.close()

    @staticmethod
    def _forget(timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()


def _late_head() -> bytes:
    """The answer to a head that has not come to its end."""
    answer = error_response(RequestTimeout("The request's headers did not come in time."))
    answer.headers["connection"] = "close"
    status = HTTPStatus(answer.status_code)
    lines = [b"HTTP/1.1 %d %b" % (status, status.phrase.encode())]
    lines += [name + b": " + value for name, value in answer.raw_headers]
    return b"\r\n".join([*lines, b"", bytes(answer.body)])
