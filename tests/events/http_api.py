"""HTTP API events, payload 2.0, and the function URL events that share their form."""

from __future__ import annotations

from typing import Any

from tests.events.context import carried


def http_api(
    path: str,
    body: bytes | str = "",
    headers: dict[str, str] | None = None,
    method: str = "POST",
    stage: str = "$default",
) -> dict[str, Any]:
    text, is_base64 = carried(body)
    full = path if stage == "$default" else f"/{stage}{path}"
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": full,
        "rawQueryString": "",
        "headers": {
            "accept": "*/*",
            "content-length": str(len(body)),
            "content-type": "application/json",
            "host": "abc123.execute-api.eu-central-1.amazonaws.com",
            "user-agent": "curl/8.5.0",
            "x-amzn-trace-id": "Root=1-67a2f0c1-0123456789abcdef01234567",
            "x-forwarded-for": "203.0.113.9",
            "x-forwarded-port": "443",
            "x-forwarded-proto": "https",
            **(headers or {}),
        },
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "abc123",
            "domainName": "abc123.execute-api.eu-central-1.amazonaws.com",
            "domainPrefix": "abc123",
            "http": {
                "method": method,
                "path": full,
                "protocol": "HTTP/1.1",
                "sourceIp": "203.0.113.9",
                "userAgent": "curl/8.5.0",
            },
            "requestId": "FkZhYjXxliAEPTQ=",
            "routeKey": "$default",
            "stage": stage,
            "time": "05/Nov/2026:09:12:33 +0000",
            "timeEpoch": 1793869953123,
        },
        "body": text,
        "isBase64Encoded": is_base64,
    }


def function_url(
    path: str, body: bytes | str = "", headers: dict[str, str] | None = None, method: str = "POST"
) -> dict[str, Any]:
    event = http_api(path, body, headers, method)
    domain = "qx2k5v3abcdefghijklmnopq0rstuv.lambda-url.eu-central-1.on.aws"
    event["headers"]["host"] = domain
    event["requestContext"] |= {
        "accountId": "anonymous",
        "apiId": "qx2k5v3abcdefghijklmnopq0rstuv",
        "domainName": domain,
        "domainPrefix": "qx2k5v3abcdefghijklmnopq0rstuv",
        "requestId": "e1506fd5-9e7b-434f-bd42-4f8fa224b599",
    }
    return event
