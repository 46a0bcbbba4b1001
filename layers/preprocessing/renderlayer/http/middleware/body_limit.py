"""ASGI middleware for what travels: bounded request bodies, gzip both ways, and the largest answer a host can carry."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from renderlayer.errors import BadRequest, PayloadTooLarge, RenderLayerError
from renderlayer.http.execution.body_memory import SHARE
from renderlayer.http.execution.disconnect import Disconnected, NoAnswer
from renderlayer.http.execution.work import run_blocking
from renderlayer.http.request import Incoming, header, too_large
from renderlayer.http.response import error_response

GZIP_WINDOW = 16 + zlib.MAX_WBITS
FAST = 1
"""Level of compression: token ids shrink to 50 % at level 1 and to 48 % at level 6, in a quarter of the time."""
WORTH_IT = 64 << 10
"""Bytes from which an answer is compressed: below, a network inside a region is faster than the compression."""
LARGE = 1 << 20
"""Bytes from which an answer is compressed in a worker thread, so that a server goes on serving meanwhile."""


class BodyLimitMiddleware:
    """Wraps an application.

    Requests: the body is read whole, to at most `max_request_bytes`, and `Content-Encoding: gzip` is undone under the
    same limit; a larger one gets 413, a broken one 400. With `patience`, one that comes too slowly gets 408
    (`request.Incoming`).

    Answers: compressed where the caller accepts it and it is worth it. Where `response_limit(scope)` names the most
    bytes that the host carries, counted as a function returns them (JSON string or base64), an answer beyond it is
    compressed unless the caller forbids it; where that is not enough it becomes a 413 that says what to do.

    An answer that the application streams (more than one body message) passes through untouched, except where there
    is a limit: such a host collects it anyway.
    """

    def __init__(
        self,
        app: ASGIApp,
        max_request_bytes: int,
        response_limit: Callable[[Scope], int | None] = lambda scope: None,
        patience: float = 0,
    ) -> None:
        self._app = app
        self._max_request_bytes = max_request_bytes
        self._response_limit = response_limit
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        incoming = Incoming(scope, receive, self._patience)
        try:
            body = await incoming.read(self._max_request_bytes)
            packed = header(scope, b"content-encoding")
            if packed:
                body = decompressed(body, packed, self._max_request_bytes)
                if SHARE in scope:
                    await scope[SHARE].add(body)
        except Disconnected:
            return await NoAnswer()(scope, receive, send)
        except RenderLayerError as error:
            return await incoming.refuse(error, send)
        answer = _Answer(scope, send, accepts_gzip(header(scope, b"accept-encoding")), self._response_limit(scope))
        return await self._app(scope, replayed(body, receive), answer)


class _Answer:
    """Holds the start of an answer back until its body shows whether the answer must change."""

    def __init__(self, scope: Scope, send: Send, gzip: bool | None, limit: int | None) -> None:
        self._scope = scope
        self._send = send
        self._gzip = gzip
        self._limit = limit
        self._start: Message | None = None
        self._parts: list[bytes] = []

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            return
        start, more = self._start, message.get("more_body", False)
        if start is None:
            await self._send(message)
        elif not more:
            await self._whole(start, b"".join([*self._parts, message.get("body", b"")]))
        elif self._limit is not None:
            self._parts.append(message.get("body", b""))
        else:
            self._start = None
            await self._send(start)
            await self._send(message)

    async def _whole(self, start: Message, body: bytes) -> None:
        # an escape makes two bytes of one at most, so that most answers need no counting
        fits = self._limit is None or 2 * len(body) <= self._limit or size_as_text(body) <= self._limit
        large = len(body) >= WORTH_IT
        if (large and self._gzip) or (not fits and self._gzip is not False):
            body = compressed(body) if len(body) < LARGE else await run_blocking(self._scope, partial(compressed, body))
            fits = self._limit is None or size_as_base64(body) <= self._limit
            start["headers"] = [*_without_length(start), (b"content-encoding", b"gzip"), _length(body)]
        if not fits:
            response = error_response(self._too_large())
            start["status"], start["headers"], body = response.status_code, response.raw_headers, response.body
        if large:
            start["headers"] = [*start["headers"], (b"vary", b"accept-encoding")]
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body})

    def _too_large(self) -> PayloadTooLarge:
        compress = ", or send Accept-Encoding: gzip" if self._gzip is False else ""
        return PayloadTooLarge(
            f"The answer is larger than the {self._limit} bytes that can be returned here. Ask for multimodal payloads "
            f'by reference or not at all (mm_payload "reference" or "none"){compress}.'
        )


def replayed(body: bytes, receive: Receive) -> Receive:
    """A request's body that was read already, and then what follows it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


def _length(body: bytes) -> tuple[bytes, bytes]:
    return b"content-length", str(len(body)).encode()


def _without_length(start: Message) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]


def accepts_gzip(accept_encoding: str | None) -> bool | None:
    """Whether a caller takes gzip: True or False where `Accept-Encoding` says so, None where there is no header.

    A coding that is not listed is not wanted, unless `*` stands for it (RFC 9110, 12.5.3).
    """
    if accept_encoding is None:
        return None
    weights: dict[str, float] = {}
    for item in accept_encoding.lower().split(","):
        coding, _, parameter = item.partition(";")
        weights[coding.strip()] = _weight(parameter)
    return weights.get("gzip", weights.get("*", 0.0)) > 0


def compressed(body: bytes) -> bytes:
    """`body` as a gzip stream; equal bodies give equal bytes (no time stamp)."""
    stream = zlib.compressobj(FAST, zlib.DEFLATED, GZIP_WINDOW)
    return stream.compress(body) + stream.flush()


def decompressed(body: bytes, content_encoding: str, limit: int) -> bytes:
    """Undo the request's `Content-Encoding`, never producing more than `limit` bytes.

    Raises:
        BadRequest: an encoding other than gzip, or a stream that is broken.
        PayloadTooLarge: the body inflates to more than `limit`.
    """
    coding = content_encoding.strip().lower()
    if coding in ("", "identity"):
        return body
    if coding not in ("gzip", "x-gzip"):
        raise BadRequest(f"Content-Encoding {coding!r} is not supported. Send gzip or identity.")
    stream = zlib.decompressobj(GZIP_WINDOW)
    try:
        plain = stream.decompress(body, limit + 1)
    except zlib.error as error:
        raise BadRequest("The gzip body cannot be read: it is damaged") from error
    if len(plain) > limit:
        raise too_large(limit)
    if not stream.eof or stream.unused_data:
        raise BadRequest("The gzip body cannot be read: it is not exactly one complete stream")
    return plain


def size_as_text(body: bytes) -> int:
    """Bytes that a UTF-8 text body takes as a string inside the JSON that a function returns."""
    return len(body) + sum(body.count(escaped) for escaped in (b'"', b"\\", b"\n", b"\r", b"\t"))


def size_as_base64(body: bytes) -> int:
    """Bytes that a binary body takes inside the JSON that a function returns."""
    return 4 * ((len(body) + 2) // 3)


def _weight(parameter: str) -> float:
    name, _, value = parameter.partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0
