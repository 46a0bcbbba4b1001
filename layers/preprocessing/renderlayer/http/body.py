"""Reading request bodies and writing answers (wire.md 0, 1.4, 1.6)."""

from __future__ import annotations

import json
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from renderlayer.errors import BadRequest, PayloadTooLarge, RenderLayerError, ValidationFailed
from renderlayer.wire._base import malformed

JSON = "application/json"
EVENT_STREAM = "text/event-stream"


def media_type(request: Request) -> str:
    """The Content-Type without its parameters, in lower case."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def require_json(request: Request) -> None:
    """Refuse everything that does not say it is JSON; the reference answers 400, not 415 (wire.md 1.4)."""
    if media_type(request) != JSON:
        raise ValidationFailed("1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed")


async def read_body(request: Request, most: int) -> bytes:
    """The raw body, read no further than `most` bytes.

    Raises:
        PayloadTooLarge: the body is, or says it is, longer.
    """
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > most:
        raise too_large(most)
    received = bytearray()
    async for chunk in request.stream():
        received += chunk
        if len(received) > most:
            raise too_large(most)
    return bytes(received)


def too_large(most: int) -> PayloadTooLarge:
    """The answer to a request body of more than `most` bytes."""
    return PayloadTooLarge(
        f"The request body is larger than {most} bytes (RENDERLAYER_MAX_BODY_BYTES). Send media as URLs."
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
        return json.loads(body)
    except json.JSONDecodeError as error:
        raise malformed(error.pos, error.msg) from None
    except UnicodeDecodeError as error:
        raise malformed(error.start, "not UTF-8") from None
    except RecursionError:
        raise BadRequest("The request body is nested too deeply.") from None
    except ValueError:  # a number of more digits than Python reads
        raise malformed(0, "a number is too long") from None


def dumped(value: Any) -> bytes:
    """Compact JSON as Python writes it: non-ASCII raw.

    Raises:
        UnicodeEncodeError: a lone surrogate would reach the body.
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def dumped_fast(value: Any) -> bytes:
    """Compact JSON as orjson writes it, which render's answers use; integers over 64 bits go the slow way."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return dumped(value)


def json_response(content: bytes, status: int = 200) -> Response:
    return Response(content, status, media_type=JSON)


def error_response(error: RenderLayerError) -> Response:
    """The answer that an error becomes."""
    response = json_response(dumped_lenient(error.body()), error.status)
    retry_after = getattr(error, "retry_after", None)
    if retry_after is not None:
        response.headers["Retry-After"] = str(retry_after)
    return response


def dumped_lenient(value: Any) -> bytes:
    """Like `dumped`, but what cannot be encoded is escaped: an error text may quote the client's input."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
