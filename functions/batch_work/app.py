"""A shard's lines become a part; a shard that came back as a dead letter becomes a part of errors."""

from __future__ import annotations

from typing import Any

from renderlayer.batch.consumer import Consumer
from renderlayer.batch.setup import undertaker
from renderlayer.http.lines import configured_worker

_consume = Consumer("batch_work", lambda: configured_worker().receive)
_bury = Consumer("batch_dead", lambda: lambda message, time_left: undertaker().abandon(message))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return _consume(event, context)


def dead_letters(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return _bury(event, context)
