"""How a request's work is done, in a worker thread or on the spot, and what is measured of it.

Tokens, and how its answer ends, are kept for whoever writes them down.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from starlette.types import Message, Scope, Send

T = TypeVar("T")
STREAMED = "renderlayer.streamed"
"""Set in the scope of a request whose answer a function's runtime sends while it is made."""
SHARED = "renderlayer.shared"
"""Set in the scope of a request that a host serves among others, though it came as a function's event."""
COUNTS = "renderlayer.counts"
"""Counts of a request, by name, in its ASGI scope."""
LEFT = "left"
"""Among the counts of a request: its client left before the answer had ended."""
CLIENT_CLOSED_REQUEST = 499
"""The status, as nginx named it, under which a request of a client that left is logged."""
_NAMES = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
"""Names of `usage`, and those that the Responses and the Messages API give them."""


def in_function(scope: Scope) -> bool:
    """Whether a Lambda function serves the request: one at a time."""
    return "aws.event" in scope and SHARED not in scope


async def run_blocking(scope: Scope, work: Callable[[], T]) -> T:
    """Do work that takes a while without keeping a server's other requests waiting; a function has no others."""
    return work() if in_function(scope) else await in_thread(work)


async def in_thread(work: Callable[[], T]) -> T:
    """Do work in a worker thread of a server."""
    from starlette.concurrency import run_in_threadpool

    return await run_in_threadpool(work)


def aside_of(scope: Scope) -> Callable[[Callable[[], Any]], Awaitable[Any]]:
    """`run_blocking` for one request."""
    return lambda work: run_blocking(scope, work)


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


def note_left(scope: Scope) -> None:
    """Note for the request's log line that its client left."""
    counts = scope.get(COUNTS)
    if counts is not None:
        counts[LEFT] = 1


class Watch:
    """Watches one answer on its way out; `send` takes the place of the server's.

    Attributes:
        counts: what the application counts on the way, by name.
    """

    def __init__(self, scope: Scope, send: Send) -> None:
        self.counts: dict[str, int] = scope.setdefault(COUNTS, {})
        self._send = send
        self._status = 500
        self._began = time.perf_counter()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
        await self._send(message)

    @property
    def seconds(self) -> float:
        """Since the request came."""
        return time.perf_counter() - self._began

    @property
    def status(self) -> int:
        """The answer's; 500 where none has begun, 499 where the client left before its end."""
        return CLIENT_CLOSED_REQUEST if LEFT in self.counts else self._status
