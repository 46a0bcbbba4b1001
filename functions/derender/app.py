"""Token ids to answers: `/v1/chat/completions/derender` and `/v1/completions/derender`, whole and streamed."""

from __future__ import annotations

from typing import Any

from renderlayer.http.aws.function import function

_answer = function("derender")


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return _answer(event, context)
