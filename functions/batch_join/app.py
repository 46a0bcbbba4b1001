"""Parts that came become a batch's output and error files once they are all there."""

from __future__ import annotations

from typing import Any

from renderlayer.batch.consumer import Consumer
from renderlayer.batch.setup import joiner

_consume = Consumer("batch_join", lambda: lambda message, time_left: joiner().receive(message))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return _consume(event, context)
