"""A client of streams: carries the state from call to call and puts the chunks together."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from renderlayer.derender import derender_chat
from renderlayer.served_model import ServedModel
from tests.derender.engine import Json

Derender = Callable[[Any, ServedModel], Json]


def replayed(
    events: Iterable[Json],
    server: ServedModel,
    first: Json | None = None,
    always: Json | None = None,
    derender: Derender = derender_chat,
) -> list[Json]:
    """The chunks for the events of one sequence.

    Args:
        first: what the first call brings beside its event; `always`: what every call brings.
    """
    chunks: list[Json] = []
    state: Json | None = None
    for at, event in enumerate(events):
        body = {"stream": True, "generate_chunk": event, "stream_state": state, **(always or {})}
        answer = derender({**body, **(first or {})} if at == 0 else body, server)
        state = json.loads(json.dumps(answer["stream_state"]))
        chunks.append(answer["chunk"])
    return chunks


def put_together(chunks: Iterable[Json], index: int = 0) -> Json:
    """The message that a stream's chunks make up, as a client shows it."""
    message: Json = {"role": None, "content": "", "reasoning": "", "text": "", "finish_reason": None, "logprobs": []}
    calls: dict[int, Json] = {}
    for choice in (choice for chunk in chunks for choice in chunk["choices"] if choice["index"] == index):
        delta = choice.get("delta", {"content": None, "reasoning": None, "role": None})
        message["role"] = message["role"] or delta["role"]
        message["content"] += delta["content"] or ""
        message["reasoning"] += delta["reasoning"] or ""
        message["text"] += choice.get("text", "")
        message["finish_reason"] = choice["finish_reason"] or message["finish_reason"]
        message["logprobs"] += (choice["logprobs"] or {}).get("content") or []
        for part in delta.get("tool_calls", ()):
            call = calls.setdefault(part["index"], {"id": "", "name": "", "arguments": ""})
            call["id"] += part["id"] or ""
            call["name"] += part["function"]["name"] or ""
            call["arguments"] += part["function"]["arguments"] or ""
    return {**message, "calls": [calls[index] for index in sorted(calls)]}
