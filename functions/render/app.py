"""Requests to token ids: `/v1/chat/completions/render` and its kin, `/tokenize`, `/v1/models`, `/health`."""

from __future__ import annotations

from typing import Any

from renderlayer.http.aws.function import function

_answer = function("render")


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return _answer(event, context)
