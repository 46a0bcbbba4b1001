"""One request through an ASGI application inside a function, with an event loop where it needs one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from starlette.types import Message

if TYPE_CHECKING:
    from renderlayer.http.runtime import Answer


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


class Exchange:
    """One request and its answer. Mangum's own cycle makes a queue, a buffer and log records for each."""

    def __init__(self, body: bytes) -> None:
        self.status = 500
        self.headers: list[list[bytes]] = []
        self.body = b""
        self._parts: list[bytes] = []
        self.ended = False
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
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], message.get("headers", [])
            return
        self._parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            self.body = b"".join(self._parts)
            self._end()

    def _end(self) -> None:
        self.ended = True
        if self._disconnected is not None:
            self._disconnected.set_result({"type": "http.disconnect"})


class Stream(Exchange):
    """One request whose answer is passed on as it comes."""

    def __init__(self, body: bytes, answer: Answer) -> None:
        super().__init__(body)
        self._answer = answer

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._answer.begin(message["status"], message.get("headers", ()))
        else:
            self._answer.write(message.get("body", b""))
            if not message.get("more_body", False):
                self._end()


def finish(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that waits for nothing: an event loop would take longer than many a request."""
    try:
        work.send(None)
    except StopIteration:
        return
    work.close()
    raise RuntimeError("a function's endpoint waited for an event loop")
