"""REST API proxy events (payload 1.0). Their `path` leaves the stage out."""

from __future__ import annotations

from typing import Any

from tests.events.context import carried


def rest_api(
    path: str, body: bytes | str = "", headers: dict[str, str] | None = None, method: str = "POST"
) -> dict[str, Any]:
    text, is_base64 = carried(body)
    single = {
        "Accept": "*/*",
        "Content-Type": "application/json",
        "Host": "abc123.execute-api.eu-central-1.amazonaws.com",
        "User-Agent": "curl/8.5.0",
        "X-Amzn-Trace-Id": "Root=1-67a2f0c1-0123456789abcdef01234567",
        "X-Forwarded-For": "203.0.113.9",
        "X-Forwarded-Port": "443",
        "X-Forwarded-Proto": "https",
        **(headers or {}),
    }
    return {
        "resource": "/{proxy+}",
        "path": path,
        "httpMethod": method,
        "headers": single,
        "multiValueHeaders": {name: [value] for name, value in single.items()},
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "pathParameters": {"proxy": path.lstrip("/")},
        "stageVariables": None,
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "abc123",
            "domainName": "abc123.execute-api.eu-central-1.amazonaws.com",
            "extendedRequestId": "Fk0ZLGb0DoEEPHQ=",
            "httpMethod": method,
            "identity": {"sourceIp": "203.0.113.9", "userAgent": "curl/8.5.0"},
            "path": f"/prod{path}",
            "protocol": "HTTP/1.1",
            "requestId": "0f2d8d3a-6a2c-4f0f-8a4a-6a1f3f6d2a10",
            "requestTime": "05/Nov/2026:09:12:33 +0000",
            "requestTimeEpoch": 1793869953123,
            "resourceId": "abcdef",
            "resourcePath": "/{proxy+}",
            "stage": "prod",
        },
        "body": text or None,
        "isBase64Encoded": is_base64,
    }
