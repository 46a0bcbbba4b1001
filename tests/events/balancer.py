"""Application Load Balancer events (a target group without multi-value headers)."""

from __future__ import annotations

from typing import Any

from tests.events.context import carried, recorded


def load_balancer(
    path: str, body: bytes | str = "", headers: dict[str, str] | None = None, method: str = "POST"
) -> dict[str, Any]:
    event = recorded("load_balancer")
    event["headers"] |= {"content-length": str(len(body)), **(headers or {})}
    text, is_base64 = carried(body)
    return {**event, "httpMethod": method, "path": path, "body": text, "isBase64Encoded": is_base64}
