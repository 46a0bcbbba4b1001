"""`continue_from` of the Responses and the Messages API: what it counts are their own items (docs/wire.md 2.10)."""

from __future__ import annotations

from typing import Any

import pytest

from renderlayer.errors import BadRequest
from renderlayer.render.messages.render import render_messages
from renderlayer.render.responses.render import render_responses
from renderlayer.served_model import ServedModel
from renderlayer.wire.common.base import parse
from renderlayer.wire.messages import MessagesRequest
from renderlayer.wire.responses import ResponsesRequest
from tests.render.continuing.conversations import ids, text

Json = dict[str, Any]
TOOL = {"name": "get_weather", "description": "The weather.", "parameters": {"type": "object", "properties": {}}}
SAID = '<tool_call>\n{"name":"get_weather", "arguments":{ "city":"Oslo"} }\n</tool_call><|im_end|>'
SUFFIX = "\n<|im_start|>tool\n21 degrees<|im_end|>\n<|im_start|>assistant\n"


def responses(server: ServedModel, items: list[Json], **body: Any) -> Json:
    tools = [{"type": "function", **TOOL}]
    given = {"input": items, "instructions": "Be brief.", "tools": tools, "tool_choice": "none", **body}
    return render_responses(parse(ResponsesRequest, given), server)


def messages(server: ServedModel, turns: list[Json], **body: Any) -> Json:
    tools = [{"name": "get_weather", "description": "The weather.", "input_schema": TOOL["parameters"]}]
    given = {
        "model": "small", "max_tokens": 9, "messages": turns, "system": "Be brief.", "tools": tools,
        "tool_choice": {"type": "none"}, **body,
    }  # fmt: skip
    return render_messages(parse(MessagesRequest, given), server)


ITEMS = [
    {"role": "user", "content": "Weather in Oslo?"},
    {"type": "function_call", "call_id": "call00000", "name": "get_weather", "arguments": '{"city": "Oslo"}'},
    {"type": "function_call_output", "call_id": "call00000", "output": "21 degrees"},
]
TURNS = [
    {"role": "user", "content": "Weather in Oslo?"},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "call00000", "name": "get_weather", "input": {"city": "Oslo"}}],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call00000", "content": "21 degrees"}]},
]


@pytest.mark.parametrize(("render", "given"), [(responses, ITEMS), (messages, TURNS)], ids=["responses", "messages"])
def test_a_tool_cycle(server: ServedModel, render: Any, given: list[Json]) -> None:
    first, output = render(server, given[:1])["token_ids"], ids(server, SAID)
    held = {"prompt_token_ids": first, "output_token_ids": output, "messages": 2}
    rendered = render(server, given, continue_from=held)
    assert rendered["continuation"]["mode"] == "extended", rendered["continuation"]
    assert rendered["token_ids"][: len(first) + len(output)] == [*first, *output]
    assert text(server, rendered["token_ids"][len(first) + len(output) :]) == SUFFIX
    with pytest.raises(BadRequest, match=r"continue_from\.messages"):
        render(server, given, continue_from={**held, "messages": 9})


def test_an_input_that_is_a_text_has_no_turn(server: ServedModel) -> None:
    held = {"prompt_token_ids": [1], "output_token_ids": [2], "messages": 1}
    rendered = render_responses(parse(ResponsesRequest, {"input": "Hello", "continue_from": held}), server)
    assert rendered["continuation"]["mode"] == "rendered"
