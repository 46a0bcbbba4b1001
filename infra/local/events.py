"""HTTP requests as API Gateway HTTP API events (payload 2.0), and a function's result as an HTTP answer.

The event's form: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
"""

from __future__ import annotations

import base64
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response
from starlette.types import Scope

from renderlayer.http.response import LARGE, Pieces

TEXT = ("text/", "application/json", "application/xml", "application/javascript")
"""Beginnings of the content types whose bodies API Gateway hands over as text."""


@dataclass(frozen=True)
class Context:
    """What a handler gets to know about its invocation; in `counts` it notes the tokens, for the host's log."""

    function_name: str
    aws_request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    function_version: str = "$LATEST"
    memory_limit_in_mb: str = "1769"
    counts: dict[str, int] | None = None

    @property
    def invoked_function_arn(self) -> str:
        return f"arn:aws:lambda:local:000000000000:function:{self.function_name}"


def http_event(scope: Scope, body: bytes) -> dict[str, Any]:
    """The event for one request.

    Args:
        scope: its ASGI scope.
        body: its whole body, still encoded if the request says so.
    """
    headers = _joined(scope["headers"])
    cookies = headers.pop("cookie", "")
    now = time.time()
    path = scope["raw_path"].decode("latin-1")
    text = _text(body, headers.get("content-type", ""))
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": scope["query_string"].decode("latin-1"),
        "headers": headers,
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "local",
            "domainName": headers.get("host", "localhost"),
            "http": {
                "method": scope["method"],
                "path": path,
                "protocol": f"HTTP/{scope['http_version']}",
                "sourceIp": scope["client"][0] if scope["client"] else "127.0.0.1",
                "userAgent": headers.get("user-agent", ""),
            },
            "requestId": uuid.uuid4().hex,
            "routeKey": "$default",
            "stage": "$default",
            "time": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now)),
            "timeEpoch": int(now * 1000),
        },
        "isBase64Encoded": text is None,
    }
    if cookies:
        event["cookies"] = cookies.split("; ")
    if body:
        event["body"] = base64.b64encode(body).decode() if text is None else text
    return event


def answer(result: dict[str, Any]) -> Response | Pieces:
    """The HTTP answer that API Gateway makes of a function's result, whose body is taken out of it."""
    body = result.pop("body", "")
    content = base64.b64decode(body) if result.get("isBase64Encoded") else body.encode("utf-8")
    headers = {name: value for name, value in result.get("headers", {}).items() if name.lower() != "content-length"}
    status, cookies = result["statusCode"], result.get("cookies", [])
    if len(content) >= LARGE and not cookies:
        large = Pieces([content], status)
        large.headers |= {name.lower(): value for name, value in headers.items()}
        return large
    response = Response(content, status, headers)
    for cookie in cookies:
        response.raw_headers.append((b"set-cookie", cookie.encode("latin-1")))
    return response


def _joined(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by lower-case name; repeated ones joined by commas, cookies by semicolons."""
    joined: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        separator = "; " if name == "cookie" else ","
        joined[name] = f"{joined[name]}{separator}{value}" if name in joined else value
    return joined


def _text(body: bytes, content_type: str) -> str | None:
    """The body as text where the content type says that it is and the bytes agree; None for a binary body."""
    if body and not content_type.lower().startswith(TEXT):
        return None
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return None
