"""What the front door does beyond render and derender: echoed prompts, demanded calls that fit, refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from renderlayer.derender.core import sse
from renderlayer.errors import BadRequest
from renderlayer.pipeline import Engine, complete_chat, complete_completion
from renderlayer.pipeline.chat import PendingChat
from renderlayer.pipeline.messages import pending_messages
from renderlayer.pipeline.responses import pending_responses
from renderlayer.render.chat import render_chat
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from tests.derender.engine import choice, encoded, events, response, split
from tests.models import open_server
from tests.pipeline.loop import read, wait
from tests.pipeline.mocked import MockEngine

SAID = " and good day!"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
HELLO = [{"role": "user", "content": "Hello"}]


@pytest.fixture
def engine(server: ServedModel) -> Iterator[Engine]:
    tokens = encoded(server, SAID)

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked = json.loads(request.content)
        indexes = range(asked["sampling_params"].get("n") or 1)
        if not asked["stream"]:
            return httpx2.Response(200, json=response(*({**choice(tokens), "index": index} for index in indexes)))
        told = [event for index in indexes for event in events(split(tokens, [1, 2]), index=index)]
        return httpx2.Response(200, content=b"".join([*map(sse.event, told), sse.DONE]))

    client = Engine("http://engine", transport=MockEngine(answer))
    yield client
    wait(client.aclose())


@pytest.fixture(scope="module")
def hermes(model_folder: Path) -> ServedModel:
    return open_server(
        model_folder, Settings(served_model_name=["small"], tool_call_parser="hermes", enable_auto_tool_choice=True)
    )


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("given", ["Hello there", ["Hello", "Good bye"], "ids"])
def test_prompts_are_echoed(server: ServedModel, engine: Engine, stream: bool, given: Any) -> None:
    prompt = encoded(server, "Hello there") if given == "ids" else given
    body = {"prompt": prompt, "echo": True, "n": 2, "stream": stream}
    answer: Any = wait(complete_completion(body, server, engine))
    texts: dict[int, str] = {}
    for chunk in read(answer) if stream else [answer]:
        for told in chunk["choices"]:
            texts[told["index"]] = texts.get(told["index"], "") + told["text"]
    prompts = ["Hello there"] if given == "ids" else [given] if isinstance(given, str) else given
    assert [texts[index] for index in sorted(texts)] == [one + SAID for one in prompts for _ in range(2)]


@pytest.mark.parametrize("stream", [False, True])
def test_a_prompt_alone_is_echoed(server: ServedModel, engine: Engine, stream: bool) -> None:
    body = {"prompt": "Hello", "echo": True, "max_tokens": 0, "stream": stream}
    answer: Any = wait(complete_completion(body, server, engine))
    chunks = read(answer) if stream else [answer]
    assert "".join(told["text"] for chunk in chunks for told in chunk["choices"]) == "Hello"


@pytest.mark.parametrize(("name", "value"), [("best_of", 2), ("guided_json", {}), ("guided_regex", "a")])
def test_what_is_gone_is_refused_by_name(server: ServedModel, engine: Engine, name: str, value: Any) -> None:
    with pytest.raises(BadRequest, match=name) as caught:
        wait(complete_completion({"prompt": "Hello", name: value}, server, engine))
    assert caught.value.param == name


def test_echo_with_logprobs_is_refused(server: ServedModel, engine: Engine) -> None:
    with pytest.raises(BadRequest, match="prompt_logprobs"):
        wait(complete_completion({"prompt": "Hello", "echo": True, "logprobs": 1}, server, engine))


def demanded(
    server: ServedModel, strict: bool | None, choice: Any = "required", schema: Any = SCHEMA
) -> dict[str, Any]:
    """A chat that demands a call."""
    function: dict[str, Any] = {"name": "weather", "parameters": schema}
    if strict is not None:
        function["strict"] = strict
    return {"messages": HELLO, "tools": [{"type": "function", "function": function}], "tool_choice": choice}


def tag_of(rendered: dict[str, Any]) -> Any:
    return json.loads(rendered["sampling_params"]["structured_outputs"]["structural_tag"])


def schemas(tag: Any) -> list[Any]:
    """The different JSON schemas in a tag."""
    found = _schemas(tag)
    return [schema for at, schema in enumerate(found) if schema not in found[:at]]


def _schemas(tag: Any) -> list[Any]:
    if isinstance(tag, list):
        return [found for entry in tag for found in _schemas(entry)]
    if not isinstance(tag, dict):
        return []
    own = [tag["json_schema"]] if tag.get("type") == "json_schema" else []
    return own + [found for key, entry in tag.items() if key != "json_schema" for found in _schemas(entry)]


NAMED = {"type": "function", "function": {"name": "weather"}}


@pytest.mark.parametrize("choice", ["required", NAMED], ids=["required", "named"])
def test_a_demanded_call_fits_its_schema(hermes: ServedModel, choice: Any) -> None:
    body = demanded(hermes, None, choice)
    assert schemas(tag_of(PendingChat(body, hermes).prompts[0])) == [SCHEMA]
    assert schemas(tag_of(render_chat(parse(ChatCompletionRequest, body), hermes))) == [True]  # as the reference


@pytest.mark.parametrize("choice", ["required", NAMED], ids=["required", "named"])
def test_a_demanded_call_that_need_not_be_strict_has_its_schema_s_shape(hermes: ServedModel, choice: Any) -> None:
    text = {"type": "string", "maxLength": 9}
    properties = {"pattern": {**text, "pattern": "^a", "description": "b"}, "tags": {"type": "array", "items": text}}
    schema = {"type": "object", "properties": properties, "required": ["tags"], "if": {}, "title": "Weather"}
    shape = {"type": "object", "properties": {**properties, "pattern": text}, "required": ["tags"]}

    assert schemas(tag_of(PendingChat(demanded(hermes, False, choice, schema), hermes).prompts[0])) == [shape]
    rendered = render_chat(parse(ChatCompletionRequest, demanded(hermes, False, choice, schema)), hermes)
    assert schemas(tag_of(rendered)) == [True]  # as the reference


@pytest.mark.parametrize(
    ("schema", "held_to"), [(None, {"type": "object"}), ({}, {"type": "object"}), ({"anyOf": [SCHEMA]},) * 2]
)
def test_arguments_without_a_schema_are_an_object(hermes: ServedModel, schema: Any, held_to: Any) -> None:
    assert schemas(tag_of(PendingChat(demanded(hermes, None, schema=schema), hermes).prompts[0])) == [held_to]


def test_the_other_apis_hold_demanded_calls_too(hermes: ServedModel) -> None:
    tool = {"name": "weather", "input_schema": SCHEMA}
    message = {"model": "small", "max_tokens": 9, "messages": HELLO, "tools": [tool], "tool_choice": {"type": "any"}}
    assert schemas(tag_of(pending_messages(message, hermes).prompts[0])) == [SCHEMA]
    asked = {
        "input": "Hello",
        "tools": [{"type": "function", "name": "weather", "parameters": SCHEMA}],
        "tool_choice": "required",
    }
    assert schemas(tag_of(pending_responses(asked, hermes).prompts[0])) == [SCHEMA]


def test_what_is_left_to_the_model_is_as_before(hermes: ServedModel) -> None:
    (rendered,) = PendingChat(demanded(hermes, None, "auto"), hermes).prompts
    assert rendered["sampling_params"].get("structured_outputs") is None


def test_a_demanded_call_without_a_parser_is_refused_alike(server: ServedModel, engine: Engine) -> None:
    with pytest.raises(BadRequest, match="--tool-call-parser"):
        wait(complete_chat(demanded(server, None), server, engine))
    tool = {"type": "function", "name": "weather", "parameters": SCHEMA}
    with pytest.raises(BadRequest, match="--tool-call-parser"):
        pending_responses({"input": "Hello", "tools": [tool], "tool_choice": "required"}, server)
    message = {"model": "small", "max_tokens": 9, "messages": HELLO, "tool_choice": {"type": "any"}}
    with pytest.raises(BadRequest, match="--tool-call-parser"):
        pending_messages({**message, "tools": [{"name": "weather", "input_schema": SCHEMA}]}, server)
    assert pending_responses({"input": "Hello", "tools": [tool]}, server).prompts
