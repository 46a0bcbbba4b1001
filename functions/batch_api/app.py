"""`/v1/files`, `/v1/uploads` and `/v1/batches`."""

from __future__ import annotations

from typing import Any

from renderlayer.http.batches import function

_answer = function()


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return _answer(event, context)
