"""Token counts of a request, left in the ASGI scope for whoever writes the request's log line."""

from __future__ import annotations

from typing import Any

from starlette.types import Scope

COUNTS = "renderlayer.counts"


def count_tokens(scope: Scope, answer: Any) -> None:
    """Note how many tokens an answer of this wire speaks of; without a line to be written it does nothing.

    Args:
        scope: the request's ASGI scope; a host that writes log lines puts an empty dict under `COUNTS`.
        answer: the answer of a route, before it is written as JSON: a rendered request or a list of them, a
            tokenization, or a chat or text completion.
    """
    counts = scope.get(COUNTS)
    if counts is None:
        return
    for part in answer if isinstance(answer, list) else [answer]:
        for name, number in _counted(part).items():
            counts[name] = counts.get(name, 0) + number


def _counted(answer: dict[str, Any]) -> dict[str, int]:
    if "token_ids" in answer:
        return {"prompt_tokens": len(answer["token_ids"])}
    if "count" in answer:
        return {"prompt_tokens": answer["count"]}
    usage = answer.get("usage") or answer.get("chunk", {}).get("usage") or {}
    return {name: usage[name] for name in ("prompt_tokens", "completion_tokens") if usage.get(name) is not None}
