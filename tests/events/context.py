"""What the runtime client hands to a handler beside the event."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class FakeContext:
    aws_request_id: str = "c6af9ac6-7b61-11e6-9a41-93e812345678"
    function_name: str = "render"
    memory_limit_in_mb: str = "1769"
    invoked_function_arn: str = "arn:aws:lambda:eu-central-1:123456789012:function:render"


def carried(body: bytes | str) -> tuple[str, bool]:
    """A body as it travels in an event: text as it is, bytes as base64."""
    return (body, False) if isinstance(body, str) else (base64.b64encode(body).decode(), True)


def recorded(name: str) -> dict[str, Any]:
    """A fresh copy of an event of this folder, such as "rest_api"."""
    event: dict[str, Any] = json.loads((Path(__file__).parent / f"{name}.json").read_text())
    return event
