"""REST API proxy events (payload 1.0). Their `path` leaves the stage out."""

from __future__ import annotations

from typing import Any

from tests.events.context import carried, recorded


def rest_api(
    path: str, body: bytes | str = "", headers: dict[str, str] | None = None, method: str = "POST"
) -> dict[str, Any]:
    event = recorded("rest_api")
    event["headers"] |= headers or {}
    event["requestContext"] |= {"httpMethod": method, "path": f"/prod{path}"}
    text, is_base64 = carried(body)
    return {
        **event,
        "path": path,
        "httpMethod": method,
        "multiValueHeaders": {name: [value] for name, value in event["headers"].items()},
        "pathParameters": {"proxy": path.lstrip("/")},
        "body": text or None,
        "isBase64Encoded": is_base64,
    }
