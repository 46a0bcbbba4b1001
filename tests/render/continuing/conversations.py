"""What the tests of continuing share: a request, what was sampled, and the next request."""

from __future__ import annotations

from typing import Any

from renderlayer.render.chat import render_chat
from renderlayer.served_model import ServedModel
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse

Json = dict[str, Any]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather in a city.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]
SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "Weather in Oslo?"}
RESULT = {"role": "tool", "tool_call_id": "call00000", "name": "get_weather", "content": "21 degrees"}
NEXT = {"role": "user", "content": "And in Rome?"}


def call(arguments: str = '{"city": "Oslo"}', **more: Any) -> Json:
    function = {"name": "get_weather", "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call00000", "type": "function", "function": function}],
        **more,
    }


def render(server: ServedModel, messages: list[Json], **body: Any) -> Json:
    return render_chat(parse(ChatCompletionRequest, {"messages": messages, **body}), server)


def ids(server: ServedModel, text: str) -> list[int]:
    return server.model.tokenizer.encode(text)


def text(server: ServedModel, token_ids: list[int]) -> str:
    return server.model.tokenizer.decode(token_ids, skip_special_tokens=False)


def go_on(
    server: ServedModel,
    messages: list[Json],
    sampled: str | list[int],
    new: list[Json],
    *,
    then: Json | None = None,
    before: list[Json] | None = None,
    options: Json | None = None,
    **body: Any,
) -> tuple[Json, list[int]]:
    """Render the messages but the last, then all of them and the new ones, continuing.

    Args:
        messages: the last is the sampled turn.
        sampled: what was sampled for it.
        then: fields of the first request only.
        before: what the first request rendered, where that is something else.
        options: fields of `continue_from`.

    Returns:
        The second answer, and the ids that it must begin with.
    """
    first = render(server, before or messages[:-1], **{**body, **(then or {})})["token_ids"]
    output = ids(server, sampled) if isinstance(sampled, str) else sampled
    given = {"prompt_token_ids": first, "output_token_ids": output, "messages": len(messages), **(options or {})}
    return render(server, [*messages, *new], continue_from=given, **body), [*first, *output]
