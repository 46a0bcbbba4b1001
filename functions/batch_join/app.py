"""Parts that came become a batch's output and error files once they are all there."""

from __future__ import annotations

from typing import Any

from renderlayer.batch.consumer import Consumer, Receive
from renderlayer.batch.setup import joiner


def _receiver() -> Receive:
    """Many parts of a batch come in one event: one look at it is enough."""
    looked_at: set[str] = set()
    return lambda message, time_left: joiner().receive(message, time_left, looked_at)


_consume = Consumer("batch_join", _receiver)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    if "sweep" in event:  # of the schedule
        return _consume.run(lambda time_left: joiner().sweep(time_left), context)
    return _consume(event, context)
