"""A shard's lines become a part."""

from __future__ import annotations

from typing import Any

from renderlayer.batch.consumer import Consumer
from renderlayer.http.batch_endpoints import configured_worker

_consume = Consumer("batch_work", lambda: configured_worker().receive)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return _consume(event, context)
