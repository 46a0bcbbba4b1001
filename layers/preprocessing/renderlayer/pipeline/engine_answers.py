"""What an engine answers: statuses, whole answers and events (wire.md 5.2, 5.3)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from http import HTTPStatus
from typing import Any

from renderlayer.derender.core.sse import EventReader
from renderlayer.errors import BadGateway, PayloadTooLarge, RenderLayerError, Unavailable

Json = dict[str, Any]

GENERATE = "/inference/v1/generate"
CLOSING_SECONDS = 0.5
"""How long the end of a stream may take after `[DONE]`, so that its connection can serve the next request."""
LOST = frozenset({502, 503, 504})
"""Statuses of an engine that starts or stops, and of a load balancer that loses a target."""
BUSY = LOST | {429}
"""Statuses after which the same request may succeed."""


class EngineError(RenderLayerError):
    """The engine refused a request; its status and error body are passed on unchanged."""

    def __init__(self, status: int, error: Json) -> None:
        super().__init__(str(error.get("message", "")), error.get("param"))
        self.status = status
        self.type = str(error.get("type", "BadRequestError"))


class NoRoute(BadGateway):
    """There is no generate service at the engine's URL."""


class EngineLost(Unavailable):
    """The engine is out of reach or says that it cannot serve: another one may take the request."""


class StreamCut(BadGateway):
    """A stream ended before it was complete."""


def check(status: int, retry_after: str, content: bytes) -> None:
    """Go on with status 200.

    Args:
        retry_after: the answer's header of that name, or "".
        content: the answer's body.

    Raises:
        EngineError, Unavailable, BadGateway: another status.
    """
    if status == HTTPStatus.OK:
        return
    if status in BUSY:
        fault = EngineLost if status in LOST else Unavailable
        raise fault("The engine is busy. Try again.", retry_after=int(retry_after) if retry_after.isdigit() else 1)
    try:
        error = json.loads(content)["error"]
    except (ValueError, KeyError, TypeError, RecursionError):
        error = None
    if isinstance(error, dict) and HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
        raise EngineError(status, error)
    if status == HTTPStatus.NOT_FOUND:
        raise NoRoute(f"The engine has no {GENERATE}.")
    raise BadGateway(f"The engine failed with status {status}.")


def decoded(content: bytes) -> Any:
    """The JSON of a whole answer.

    Raises:
        BadGateway: it is none.
    """
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise BadGateway("The engine's answer is not JSON.") from None


async def events(parts: AsyncGenerator[bytes]) -> AsyncGenerator[Json]:
    """Decode server-sent events up to [DONE].

    Raises:
        EngineError: the engine reported a failure in mid-stream.
        BadGateway: an event is none of the wire.
        StreamCut: the stream ends without [DONE].
    """
    reader = EventReader()
    async with aclosing(parts):
        async for part in parts:
            try:
                found = reader.feed(part)
            except PayloadTooLarge as error:
                raise BadGateway(f"The engine sent too much at a time: {error.message}") from None
            for data in found:
                yield _event(data)
            if reader.done:
                await _end_of(parts)
                return
    raise StreamCut("The engine's stream ended before it was complete.")


async def _end_of(parts: AsyncIterator[bytes]) -> None:
    try:
        async with asyncio.timeout(CLOSING_SECONDS):
            async for _ in parts:
                pass
    except (TimeoutError, RenderLayerError):
        return  # the answer is complete; its connection will not be used again


def _event(data: bytes) -> Json:
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        raise BadGateway("The engine sent an event that is not JSON.") from None
    if not isinstance(event, dict):
        raise BadGateway("The engine sent an event that is not an object.")
    if isinstance(event.get("error"), dict):
        code = event["error"].get("code")
        raise EngineError(code if isinstance(code, int) and 400 <= code < 600 else 500, event["error"])
    return event
