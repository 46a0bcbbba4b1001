"""What tests of the Responses and Messages derenders share: requests, an answer, and a client that keeps the state."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from renderlayer.served_model import ServedModel
from tests.derender.engine import PROMPT, Json, choice, encoded, events, response, split

ANSWER = (
    "<think>\nLet me see.\n</think>\n\nHello Köln 😀\n"
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>\n'
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome", "days": [1, 2]}}\n</tool_call><|im_end|>'
)
SCHEMA: Json = {"type": "object", "properties": {"city": {"type": "string"}}}
RESPONSES: Json = {
    "model": "small",
    "input": "Hello",
    "tools": [{"type": "function", "name": "get_weather", "parameters": SCHEMA}],
}
MESSAGES: Json = {
    "model": "small",
    "max_tokens": 3000,
    "messages": [{"role": "user", "content": "Hello"}],
    "tools": [{"name": "get_weather", "input_schema": SCHEMA}],
}

Derender = Callable[[Any, ServedModel], Json]


def whole(derender: Derender, server: ServedModel, text: str, finish_reason: str = "stop", **body: Any) -> Json:
    """The answer to a whole generate response of `text`."""
    generated = response(choice(encoded(server, text), finish_reason, **body.pop("choice", {})))
    prompt = encoded(server, PROMPT)
    return derender({"generate_response": generated, "prompt_token_ids": prompt, **body}, server)


def chunked(
    derender: Derender,
    server: ServedModel,
    stream: Iterable[Json],
    first: Json | None = None,
    **body: Any,
) -> tuple[list[Json], list[Json]]:
    """The events for a stream's chunks, one call each, and the states in between.

    Args:
        first: what the first call brings beside what all bring.
    """
    told: list[Json] = []
    states: list[Json] = []
    for event in stream:
        call = {"stream": True, "generate_chunk": event, **body}
        call |= (
            {"stream_state": states[-1]} if states else {"prompt_token_ids": encoded(server, PROMPT), **(first or {})}
        )
        answer = derender(call, server)
        told += answer["events"]
        states.append(json.loads(json.dumps(answer["stream_state"])))
    return told, states


def cut(server: ServedModel, text: str, sizes: Sequence[int], finish_reason: str = "stop", **last: Any) -> list[Json]:
    """`text` as the events of a generate stream, in chunks of these sizes."""
    return list(events(split(encoded(server, text), sizes), finish_reason, **last))
