"""Answers read by the tokenizer's response template, over the wire."""

from __future__ import annotations

import json

import pytest

from renderlayer.derender import derender_chat
from renderlayer.render.chat import render_chat
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from tests.derender.client import put_together, replayed
from tests.derender.engine import choice, encoded, events, response, split
from tests.models import SPECIAL_TOKENS, make_model_folder, open_server
from tests.parsers.support import WEATHER
from tests.parsers.templates import TAGS

CHAT = """\
{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}<|assistant|>
<|thought|>
"""
ANSWER = (
    "Hm, é 👍.<|end|><|say|>Let me see.<|end|>"
    '<|do|><call name="get_weather"><arg name="city">Paris</arg><arg name="days">3.0</arg></call><|end|>'
)
REQUEST = {"messages": [{"role": "user", "content": "Weather?"}], "tools": [WEATHER], "tool_choice": "auto"}


@pytest.fixture(scope="module", params=["hf", "beam"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ServedModel:
    markers = ("<|assistant|>", "<|thought|>", "<|say|>", "<|do|>", "<|end|>")
    folder = make_model_folder(
        tmp_path_factory.mktemp("models") / "templated", template=CHAT, special_tokens=(*SPECIAL_TOKENS, *markers)
    )
    (folder / "response_template.json").write_text(json.dumps(TAGS), encoding="utf-8")
    name = request.param
    return open_server(folder, Settings(tool_call_parser=name, reasoning_parser=name, enable_auto_tool_choice=True))


@pytest.mark.parametrize("size", [1, 2, 7, 500])
def test_every_chunking_is_the_whole_answer(server: ServedModel, size: int) -> None:
    prompt = render_chat(parse(ChatCompletionRequest, REQUEST), server)["token_ids"]
    frame = {"chat_request": REQUEST, "prompt_token_ids": prompt}
    ids = encoded(server, ANSWER)

    whole = derender_chat({**frame, "generate_response": response(choice(ids))}, server)["choices"][0]["message"]
    stream = put_together(replayed(events(split(ids, [size] * 500)), server, first=frame))

    assert (whole["reasoning"], whole["content"]) == ("Hm, é 👍.", "Let me see.")
    assert [call["function"] for call in whole["tool_calls"]] == [
        {"name": "get_weather", "arguments": '{"city": "Paris", "days": 3}'}
    ]
    assert (stream["reasoning"], stream["content"]) == (whole["reasoning"], whole["content"])
    assert [(call["name"], call["arguments"]) for call in stream["calls"]] == [
        (call["function"]["name"], call["function"]["arguments"]) for call in whole["tool_calls"]
    ]
