"""HTTP API events, payload 2.0, and the function URL events that share their form."""

from __future__ import annotations

from typing import Any

from tests.events.context import carried, recorded


def http_api(
    path: str,
    body: bytes | str = "",
    headers: dict[str, str] | None = None,
    method: str = "POST",
    stage: str = "$default",
) -> dict[str, Any]:
    full = path if stage == "$default" else f"/{stage}{path}"
    event = _changed(recorded("http_api"), full, body, headers, method)
    event["requestContext"]["stage"] = stage
    return event


def function_url(
    path: str, body: bytes | str = "", headers: dict[str, str] | None = None, method: str = "POST"
) -> dict[str, Any]:
    return _changed(recorded("function_url"), path, body, headers, method)


def _changed(
    event: dict[str, Any], path: str, body: bytes | str, headers: dict[str, str] | None, method: str
) -> dict[str, Any]:
    event["headers"] |= {"content-length": str(len(body)), **(headers or {})}
    event["requestContext"]["http"] |= {"method": method, "path": path}
    text, is_base64 = carried(body)
    return {**event, "rawPath": path, "body": text, "isBase64Encoded": is_base64}
