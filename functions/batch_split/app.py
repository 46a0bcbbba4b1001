"""A file that came, or one that is to be gone on with, becomes shards in a queue."""

from __future__ import annotations

from typing import Any

from renderlayer.batch.consumer import Consumer
from renderlayer.batch.setup import splitter

_consume = Consumer("batch_split", lambda: splitter().receive)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return _consume(event, context)
