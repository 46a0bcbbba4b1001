"""Reading request bodies and writing answers (wire.md 0, 1.4, 1.6)."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope

from renderlayer.errors import BadRequest, PayloadTooLarge, RenderLayerError, ValidationFailed
from renderlayer.wire._base import malformed
from renderlayer.wire._json import dumped_lenient, read

JSON = "application/json"
EVENT_STREAM = "text/event-stream"
DRAINED = 4
"""How many times the limit of an oversized body is read and dropped, so that its sender gets to read the answer."""


def media_type(scope: Scope) -> str:
    """The Content-Type without its parameters, in lower case."""
    return (header(scope, b"content-type") or "").partition(";")[0].strip().lower()


def require_json(scope: Scope) -> None:
    """Refuse everything that does not say it is JSON; the reference answers 400, not 415 (wire.md 1.4)."""
    if media_type(scope) != JSON:
        raise ValidationFailed("1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed")


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """The whole request body.

    An oversized body is read on, and dropped, to a few times the limit, since a sender that cannot finish sees a broken
    connection where the answer should be. One that waits for leave to send (`Expect: 100-continue`) is not read at all.

    Raises:
        PayloadTooLarge: more than `limit` bytes, stated or sent.
    """
    stated = header(scope, b"content-length") or ""
    oversized = stated.isdigit() and int(stated) > limit
    if oversized and header(scope, b"expect") is not None:
        raise too_large(limit)
    parts: list[bytes] = []
    size, more = 0, True
    while more and size <= limit * DRAINED:
        message = await receive()
        part, more = message.get("body", b""), message.get("more_body", False)
        size += len(part)
        if size > limit:
            oversized = True
            parts.clear()
        elif not oversized:
            parts.append(part)
    if oversized:
        raise too_large(limit)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def refusal(error: RenderLayerError) -> Response:
    """The answer to a request whose body was not taken; closes the connection, where the rest of it may still come."""
    response = error_response(error)
    response.headers["connection"] = "close"
    return response


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


def json_response(content: bytes, status: int = 200) -> Response:
    return Response(content, status, media_type=JSON)


def error_response(error: RenderLayerError, in_anthropics_form: bool = False) -> Response:
    """The answer that an error becomes."""
    body = error.anthropic_body() if in_anthropics_form else error.body()
    response = json_response(dumped_lenient(body), error.status)
    retry_after = getattr(error, "retry_after", None)
    if retry_after is not None:
        response.headers["Retry-After"] = str(retry_after)
    return response
