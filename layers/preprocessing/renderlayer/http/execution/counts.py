"""Token counts of a request, left in the ASGI scope for whoever writes the request's log line."""

from __future__ import annotations

from typing import Any

from starlette.types import Scope

COUNTS = "renderlayer.counts"
_NAMES = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
"""Names of `usage`, and those that the Responses and the Messages API give them."""


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


def count_generated(scope: Scope, event: Any) -> None:
    """Note the tokens of one event of the engine's stream."""
    counts = scope.get(COUNTS)
    choices = event.get("choices") if isinstance(event, dict) else None
    if counts is not None and isinstance(choices, list):
        number = sum(len(choice.get("token_ids") or ()) for choice in choices if isinstance(choice, dict))
        counts["completion_tokens"] = counts.get("completion_tokens", 0) + number
        cached = _cached(event.get("usage") or {})
        if cached is not None:
            counts["cached_tokens"] = cached


def _counted(answer: dict[str, Any]) -> dict[str, int]:
    if "token_ids" in answer:
        return {"prompt_tokens": len(answer["token_ids"])}
    if "count" in answer:
        return {"prompt_tokens": answer["count"]}
    usage = answer.get("usage") or answer.get("chunk", {}).get("usage") or {}
    named = {name: usage.get(name, usage.get(other)) for name, other in _NAMES.items()}
    named["cached_tokens"] = _cached(usage)
    return {name: number for name, number in named.items() if number is not None}


def _cached(usage: dict[str, Any]) -> int | None:
    """Prompt tokens that the engine found in its cache, as the four APIs tell it; None: it says nothing."""
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details") or {}
    found = details.get("cached_tokens", usage.get("cache_read_input_tokens"))
    return found if isinstance(found, int) else None
