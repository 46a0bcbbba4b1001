"""The memory that request bodies may take: one budget for all requests of a server."""

from __future__ import annotations

import asyncio
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from renderlayer.errors import PayloadTooLarge, Unavailable
from renderlayer.memory import PATIENCE, Budget, available

SHARE = "renderlayer.share"
"""The request's share, in its scope."""
SMALL = 64 << 10
"""Bytes of a body that are not counted."""
BYTES_A_BYTE, BYTES_A_PART, BYTES_OF_TOKENS = 4, 256, 64
"""What a byte of text takes once it is decoded, what a list, an object or an entry of them once it is validated,
and what a byte of text takes where it becomes tokens however long it is."""
TOKENIZED = "/tokenize"
_PART_OF_ALL = 4
_PAUSE = 0.05


def body_share(configured: int | None) -> int:
    """Bytes for all bodies of this process: `configured`, or a quarter of what it may use."""
    return configured or available() // _PART_OF_ALL


class BodyMemory:
    """ASGI middleware that counts what bodies take from their arrival until their answer begins.

    A body that does not fit beside the others is read on when there is room; after `PATIENCE` seconds it gets 503. One
    that can never fit gets 413.

    Args:
        capacity: bytes for all bodies together; default: a quarter of what the process may use.
    """

    def __init__(self, app: ASGIApp, capacity: int | None = None) -> None:
        self._app = app
        self._budget = Budget(body_share(capacity))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        share = Share(self._budget, BYTES_OF_TOKENS if scope["path"].endswith(TOKENIZED) else BYTES_A_BYTE)

        async def counted() -> Message:
            message = await receive()
            await share.add(message.get("body", b""))
            return message

        async def begun(message: Message) -> None:
            share.close()
            await send(message)

        try:
            await self._app({**scope, SHARE: share}, counted, begun)
        finally:
            share.close()


def weight(part: bytes, bytes_a_byte: int = BYTES_A_BYTE) -> int:
    """What part of a body takes, about, from its arrival until its answer begins."""
    return bytes_a_byte * len(part) + BYTES_A_PART * sum(map(part.count, (b",", b"[", b"{")))


class Share:
    """What one request's body takes of a budget."""

    def __init__(self, budget: Budget, bytes_a_byte: int) -> None:
        self._budget = budget
        self._bytes_a_byte = bytes_a_byte
        self._read = self._held = 0
        self._open = True

    async def add(self, part: bytes) -> None:
        """Count more of the body.

        Raises:
            PayloadTooLarge: a body of so many values fits into no memory of this server.
            Unavailable: there is no room for it now.
        """
        self._read += len(part)
        if self._read <= SMALL or not self._open:
            return
        size = weight(part, self._bytes_a_byte)
        if self._held + size > self._budget.capacity:
            raise PayloadTooLarge(
                f"The request body is too long, or holds too many values, for the {self._budget.capacity} bytes of "
                "memory that this server has for bodies (RENDERLAYER_BODY_MEMORY_BYTES)."
            )
        await self._take(size)
        self._held += size

    async def _take(self, size: int) -> None:
        deadline = time.monotonic() + PATIENCE
        while not self._budget.taken(size):
            if time.monotonic() > deadline:
                raise Unavailable("The memory for request bodies is taken by others. Try again.", retry_after=2)
            await asyncio.sleep(_PAUSE)

    def close(self) -> None:
        """Give everything back; what still comes of the body is dropped by those who read it."""
        self._open = False
        self._budget.exchange(self._held, 0)
        self._held = 0
