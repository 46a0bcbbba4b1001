"""Calls of custom tools in chat: `custom` with its input, whole and streamed, beside calls of functions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from renderlayer.derender import ChatStream, derender_chat
from renderlayer.errors import RenderLayerError
from renderlayer.served_model import ServedModel
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from tests.derender.client import replayed
from tests.derender.engine import PROMPT, Json, choice, encoded, events, response, split

REQUEST: Json = {
    "messages": [{"role": "user", "content": "Hello"}],
    "tools": [
        {"type": "custom", "custom": {"name": "shell"}},
        {"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}},
    ],
}
INPUT = 'echo "客单价 😂"\n'


def call(name: str, arguments: str) -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


SHELL = call("shell", json.dumps({"input": INPUT}))
ANSWER = SHELL + call("find", '{"input": "x"}') + call("shell", "{}") + SHELL
CALLS = [
    ("custom", {"name": "shell", "input": INPUT}),
    ("function", {"name": "find", "arguments": '{"input": "x"}'}),
    ("custom", {"name": "shell", "input": "{}"}),
    ("custom", {"name": "shell", "input": INPUT}),
]


def opening(server: ServedModel) -> Json:
    return {"chat_request": REQUEST, "prompt_token_ids": encoded(server, PROMPT)}


def told(chunks: list[Json]) -> list[tuple[str, Json]]:
    """The calls that a stream's chunks make up, as a client puts them together."""
    calls: dict[int, Json] = {}
    for part in (part for chunk in chunks for part in chunk["choices"][0]["delta"].get("tool_calls") or ()):
        kind = calls.setdefault(part["index"], {"type": part["type"], "fields": {}})["type"]
        assert set(part) == {"id", "type", "index", kind}
        fields = calls[part["index"]]["fields"]
        for name, value in part[kind].items():
            fields[name] = fields.get(name, "") + (value or "")
    return [(entry["type"], entry["fields"]) for entry in calls.values()]


def test_a_whole_answer(parsed_server: ServedModel) -> None:
    generated = response(choice(encoded(parsed_server, ANSWER + "<|im_end|>")))
    (answer,) = derender_chat({"generate_response": generated, **opening(parsed_server)}, parsed_server)["choices"]
    calls = answer["message"]["tool_calls"]

    assert [(entry["type"], entry[entry["type"]]) for entry in calls] == CALLS
    assert all(set(entry) == {"id", "type", entry["type"]} for entry in calls)
    assert answer["finish_reason"] == "tool_calls"


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_a_stream(parsed_server: ServedModel, size: int) -> None:
    sent = list(events(split(encoded(parsed_server, ANSWER), [size] * 400), "stop"))
    request = parse(ChatCompletionRequest, REQUEST)
    stream = ChatStream(parsed_server, request, prompt_token_ids=encoded(parsed_server, PROMPT))
    stateless = replayed(sent, parsed_server, opening(parsed_server))

    assert told([chunk for event in sent if (chunk := stream.step(event))]) == CALLS
    assert told(stateless) == CALLS
    assert stateless[-1]["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize("tool", [{}, {"type": "custom"}, {"type": "custom", "custom": {"name": 1}}])
def test_custom_tools_without_a_name_are_refused(parsed_server: ServedModel, tool: Any) -> None:
    body = {"generate_response": response(choice([1])), "chat_request": {**REQUEST, "tools": [tool]}}
    with pytest.raises(RenderLayerError) as caught:
        derender_chat(body, parsed_server)
    assert caught.value.status == 400
