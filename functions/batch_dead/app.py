"""What failed repeatedly is given up: a shard's lines fail, a file that is not split or joined fails its batch."""

from __future__ import annotations

from typing import Any

from renderlayer.batch.consumer import Consumer
from renderlayer.batch.setup import set_aside, undertaker

_consume = Consumer("batch_dead", lambda: lambda message, time_left: undertaker().receive(message), set_aside)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return _consume(event, context)
