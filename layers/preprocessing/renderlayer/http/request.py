"""What is read of a request: its path, its headers, its trace, its body (wire.md 0, 1.4)."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from contextlib import suppress
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from renderlayer.errors import BadRequest, PayloadTooLarge, RenderLayerError, RequestTimeout, ValidationFailed
from renderlayer.http.execution.disconnect import Disconnected
from renderlayer.http.response import JSON, error_response, in_anthropics_form
from renderlayer.wire.common.base import malformed
from renderlayer.wire.common.json_text import read

FRONT_DOOR = frozenset({"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages"})
"""Paths that an engine answers."""
DRAINED = 4
"""How many times the limit of an oversized body is taken and dropped, so that its sender gets to read the answer."""
SLOWEST = 32 << 10
"""Bytes a second that a body must have, once its first seconds (`patience`) are over."""

_PARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_XRAY = re.compile(r"Root=1-([0-9a-f]{8})-([0-9a-f]{24});Parent=([0-9a-f]{16});Sampled=([01])(?:;.*)?")
_STATE = re.compile(r"[\x20-\x7e]{1,512}")
LAMBDA = "_X_AMZN_TRACE_ID"
"""The variable in which Lambda's runtimes keep the header of the invocation."""


def route_path(scope: Scope) -> str:
    """The path as routes have it: without the prefix, and without a slash at its end."""
    path = str(scope["path"].removeprefix(scope.get("root_path", "")))
    return path.rstrip("/") or path


class UnderPrefix:
    """ASGI middleware that tells the application which beginning of the path is not part of its routes.

    Requests without the prefix are served as well. Behind an HTTP API with a named stage, the stage is the prefix.

    Args:
        app: the application.
        prefix: such as "/render" (`settings.root_path`); empty for none.
    """

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        put_under(scope, self._prefix)
        await self._app(scope, receive, send)


def put_under(scope: Scope, prefix: str) -> None:
    """Note in a request's scope which prefix its path may have."""
    prefix = prefix.rstrip("/") or _stage(scope)
    if prefix and scope["type"] == "http":
        scope["root_path"] = prefix


def _stage(scope: Scope) -> str:
    """The stage as a prefix. Only events of payload 2.0 have it in their path; those of a REST API leave it out."""
    event = scope.get("aws.event", {})
    stage = event["requestContext"].get("stage") if event.get("version") == "2.0" else None
    return f"/{stage}" if stage else ""


def media_type(scope: Scope) -> str:
    """The Content-Type without its parameters, in lower case."""
    return (header(scope, b"content-type") or "").partition(";")[0].strip().lower()


def require_json(scope: Scope) -> None:
    """Refuse everything that does not say it is JSON; the reference answers 400, not 415 (wire.md 1.4)."""
    if media_type(scope) != JSON:
        raise ValidationFailed("1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed")


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """The whole request body.

    Raises:
        PayloadTooLarge: more than `limit` bytes, stated or sent.
        Disconnected: its sender left before its end.
    """
    return await Incoming(scope, receive).read(limit)


class Incoming:
    """A request's body on its way.

    Args:
        patience: seconds that it may take, and one more for every `SLOWEST` bytes of it; 0: any time, without which
            there need not be an event loop.
    """

    def __init__(self, scope: Scope, receive: Receive, patience: float = 0) -> None:
        self._scope = scope
        self._receive = receive
        self._patience = patience
        self._began = time.monotonic()
        self._size = 0
        self._limit = 0
        self._more = True

    async def read(self, limit: int) -> bytes:
        """The whole body.

        Raises:
            PayloadTooLarge: more than `limit` bytes, stated or sent; at once, the rest may still be on its way.
            RequestTimeout: it came too slowly.
            Disconnected: its sender left before its end.
        """
        self._limit = limit
        stated = header(self._scope, b"content-length") or ""
        if stated.isdigit() and int(stated) > limit:
            raise too_large(limit)
        parts: list[bytes] = []
        while self._more:
            parts.append(await self._part())
            if self._size > limit:
                raise too_large(limit)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def refuse(self, error: RenderLayerError, send: Send) -> None:
        """Answer without having taken the body whole, and close the connection.

        A sender that cannot finish sees a broken connection where the answer should be: what still comes is taken and
        dropped, for as long as a body may take, to a few times the size of what was refused. One that waits for leave
        to send (`Expect: 100-continue`) gets none.
        """
        response = error_response(error, in_anthropics_form(self._scope["path"]))
        response.headers["connection"] = "close"
        linger = self._more and self._patience and header(self._scope, b"expect") is None
        await send({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
        await send({"type": "http.response.body", "body": response.body, "more_body": bool(linger)})
        if linger:
            with suppress(RequestTimeout, Disconnected):
                while self._more and self._size < self._limit * DRAINED:
                    await self._part()
            await send({"type": "http.response.body", "body": b""})

    async def _part(self) -> bytes:
        if not self._patience:
            message = await self._receive()
        else:
            end = self._began + self._patience + self._size / SLOWEST
            try:
                async with asyncio.timeout(max(end - time.monotonic(), 0)):
                    message = await self._receive()
            except TimeoutError:
                raise RequestTimeout("The request's body did not come in time.") from None
        if message["type"] == "http.disconnect":
            raise Disconnected
        part: bytes = message.get("body", b"")
        self._more = message.get("more_body", False)
        self._size += len(part)
        return part


def header(scope: Scope, name: bytes) -> str | None:
    """The first header of that name; ASGI has all names in lower case."""
    for key, value in scope["headers"]:
        if key == name:
            return str(value, "latin-1")
    return None


def too_large(most: int) -> PayloadTooLarge:
    """The answer to a request body of more than `most` bytes."""
    return PayloadTooLarge(
        f"The request body is larger than {most} bytes (RENDERLAYER_MAX_BODY_BYTES). "
        "Send media as URLs, and files in smaller parts (/v1/uploads)."
    )


def decoded(body: bytes) -> Any:
    """The JSON value of a body.

    Raises:
        ValidationFailed: the body is empty or not JSON; param is the position of the fault.
        BadRequest: it is nested deeper than anything on this wire.
    """
    if not body:
        raise malformed(None, "")
    try:
        return read(body)
    except json.JSONDecodeError as error:
        raise malformed(error.pos, error.msg) from None
    except UnicodeDecodeError as error:
        raise malformed(error.start, "not UTF-8") from None
    except RecursionError:
        raise BadRequest("The request body is nested too deeply.") from None
    except ValueError:  # a number of more digits than Python reads
        raise malformed(0, "a number is too long") from None


def trace_of(scope: Scope) -> tuple[tuple[str, str], ...]:
    """Headers for the calls that a request causes, by which the trace that it belongs to goes on.

    The caller's `traceparent` (and `tracestate`, https://www.w3.org/TR/trace-context/), else one for the invocation's
    trace in X-Ray (https://docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html#xray-concepts-tracingheader),
    else nothing.
    """
    parent = header(scope, b"traceparent") or ""
    if _PARENT.fullmatch(parent):
        state = header(scope, b"tracestate") or ""
        return (("traceparent", parent), *((("tracestate", state),) if _STATE.fullmatch(state) else ()))
    xray = _XRAY.fullmatch(os.environ.get(LAMBDA, ""))
    if xray is None:
        return ()
    time, rest, span, sampled = xray.groups()
    return (("traceparent", f"00-{time}{rest}-{span}-0{sampled}"),)
