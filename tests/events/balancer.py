"""Application Load Balancer events (a target group without multi-value headers)."""

from __future__ import annotations

from typing import Any

from tests.events.context import carried


def load_balancer(
    path: str, body: bytes | str = "", headers: dict[str, str] | None = None, method: str = "POST"
) -> dict[str, Any]:
    text, is_base64 = carried(body)
    group = "arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/render/49e9d65c45c6791a"
    return {
        "requestContext": {"elb": {"targetGroupArn": group}},
        "httpMethod": method,
        "path": path,
        "queryStringParameters": {},
        "headers": {
            "accept": "*/*",
            "content-length": str(len(body)),
            "content-type": "application/json",
            "host": "render-1234567890.eu-central-1.elb.amazonaws.com",
            "user-agent": "curl/8.5.0",
            "x-amzn-trace-id": "Root=1-67a2f0c1-0123456789abcdef01234567",
            "x-forwarded-for": "203.0.113.9",
            "x-forwarded-port": "443",
            "x-forwarded-proto": "https",
            **(headers or {}),
        },
        "body": text,
        "isBase64Encoded": is_base64,
    }
