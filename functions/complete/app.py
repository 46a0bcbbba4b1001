"""The front door: `/v1/chat/completions`, `/v1/completions`, `/v1/responses`, `/v1/messages`, answered by an engine."""

from __future__ import annotations

from typing import Any

from renderlayer.http.aws.function import function

_answer = function("complete")


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    if event == {"check": "engine"}:  # of whoever may invoke the function itself
        from renderlayer.http.server.check import check_engine

        return check_engine()
    return _answer(event, context)
