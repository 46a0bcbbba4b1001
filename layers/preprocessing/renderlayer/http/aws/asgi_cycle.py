"""One request through an ASGI application inside a function, with an event loop where it needs one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, Protocol

from starlette.types import Message


class _Loop:
    """An event loop that is closed when the thread that holds it ends."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self.run = self._loop.run_until_complete

    def __del__(self) -> None:
        self._loop.close()


class _Thread(threading.local):
    """What each thread has of its own."""

    def __init__(self) -> None:
        self.loop = _Loop()


THREAD = _Thread()


class ResponseWriter(Protocol):
    """Where an answer goes."""

    def begin(self, status: int, headers: list[list[bytes]]) -> None:
        """Take status and headers."""

    def write(self, part: bytes) -> None:
        """Take a part of the body."""


class BufferedResponse:
    """An answer that is collected."""

    def __init__(self) -> None:
        self.status = 500
        self.headers: list[list[bytes]] = []
        self._parts: list[bytes] = []

    def begin(self, status: int, headers: list[list[bytes]]) -> None:
        self.status, self.headers = status, headers

    def write(self, part: bytes) -> None:
        self._parts.append(part)

    @property
    def body(self) -> bytes:
        """What has come of the body."""
        return b"".join(self._parts)


class ASGICycle:
    """One request and its answer. Mangum's own cycle makes a queue, a buffer and log records for each.

    Attributes:
        ended: the answer is complete.
    """

    def __init__(self, body: bytes, answer: ResponseWriter) -> None:
        self.ended = False
        self._answer = answer
        self._request: Message | None = {"type": "http.request", "body": body, "more_body": False}
        self._disconnected: asyncio.Future[Message] | None = None

    async def receive(self) -> Message:
        """The body, then, once the answer is complete, the end of the connection."""
        request, self._request = self._request, None
        if request is not None:
            return request
        self._disconnected = self._disconnected or asyncio.get_running_loop().create_future()
        return await asyncio.shield(self._disconnected)

    async def send(self, message: Message) -> None:
        """Pass a message of the answer on."""
        if message["type"] == "http.response.start":
            self._answer.begin(message["status"], message.get("headers", []))
            return
        self._answer.write(message.get("body", b""))
        if not message.get("more_body", False):
            self.ended = True
            if self._disconnected is not None:
                self._disconnected.set_result({"type": "http.disconnect"})


def finish(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that waits for nothing: an event loop would take longer than many a request."""
    try:
        work.send(None)
    except StopIteration:
        return
    work.close()
    raise RuntimeError("a function's endpoint waited for an event loop")
