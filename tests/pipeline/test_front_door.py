"""Responses and Messages through render, an engine and derender, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from renderlayer.derender.core import sse
from renderlayer.errors import NotFound, Unavailable
from renderlayer.http.application import Application
from renderlayer.http.complete import complete_endpoints
from renderlayer.pipeline.chat import PendingChat
from renderlayer.pipeline.engine import Engine
from renderlayer.pipeline.messages import complete_messages
from renderlayer.pipeline.responses import complete_responses
from renderlayer.render.messages.render import render_messages
from renderlayer.served_model import ServedModel
from renderlayer.wire.common.base import parse
from renderlayer.wire.messages import MessagesRequest
from tests.derender.engine import choice, encoded, events, response, split
from tests.pipeline.loop import wait
from tests.pipeline.mocked import MockEngine

SAID = "Hello there, good day!"
BODIES = {
    "/v1/responses": {"model": "small", "input": "Hello"},
    "/v1/messages": {"model": "small", "max_tokens": 20, "messages": [{"role": "user", "content": "Hello"}]},
}


@pytest.fixture
def engine(server: ServedModel) -> Iterator[Engine]:
    """An engine on the wire that always says the same."""
    tokens = encoded(server, SAID)

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked = json.loads(request.content)
        if not asked["stream"]:
            return httpx2.Response(200, json=response(choice(tokens)))
        told = b"".join([*map(sse.event, events(split(tokens, [1, 2, 3]))), sse.DONE])
        return httpx2.Response(200, content=told)

    client = Engine("http://engine", transport=MockEngine(answer))
    yield client
    wait(client.aclose())


def test_whole_answers(server: ServedModel, engine: Engine) -> None:
    answer = wait(complete_responses(BODIES["/v1/responses"], server, engine))
    assert isinstance(answer, dict)
    assert answer["output"][0]["content"][0]["text"] == SAID
    assert answer["id"].startswith("resp_")
    assert answer["usage"]["output_tokens"] == len(encoded(server, SAID))
    message = wait(complete_messages(BODIES["/v1/messages"], server, engine, "given"))
    assert isinstance(message, dict)
    assert (message["content"][0]["text"], message["id"]) == (SAID, "msg_given")


def test_an_error_of_the_request(server: ServedModel, engine: Engine) -> None:
    for complete, path in ((complete_responses, "/v1/responses"), (complete_messages, "/v1/messages")):
        with pytest.raises(NotFound):
            wait(complete({**BODIES[path], "model": "other"}, server, engine))


@pytest.mark.parametrize("path", BODIES)
def test_streams_of_named_events(server: ServedModel, engine: Engine, path: str) -> None:
    client = client_of(server, engine)
    text = client.post(path, json={**BODIES[path], "stream": True}).text
    told = [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data:")]
    names = [line.removeprefix("event: ") for line in text.splitlines() if line.startswith("event:")]
    assert [event["type"] for event in told] == names
    assert names[-1] in ("response.completed", "message_stop")
    deltas = [
        event["delta"] for event in told if event["type"] in ("response.output_text.delta", "content_block_delta")
    ]
    assert "".join(delta if isinstance(delta, str) else delta["text"] for delta in deltas) == SAID
    assert len(deltas) > 2


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("stream", [False, True])
def test_an_engine_that_is_busy_is_an_ordinary_error(server: ServedModel, path: str, stream: bool) -> None:
    busy = Engine("http://engine", transport=MockEngine(lambda request: httpx2.Response(503)))
    answer = client_of(server, busy).post(path, json={**BODIES[path], "stream": stream})
    assert answer.status_code == Unavailable.status
    wait(busy.aclose())


def client_of(server: ServedModel, engine: Engine) -> Any:
    return TestClient(Application(server.settings, waiting=complete_endpoints(server, engine)))


@pytest.mark.parametrize("stream", [False, True])
def test_what_a_request_leaves_out_is_told_in_a_header(server: ServedModel, engine: Engine, stream: bool) -> None:
    given = [{"type": "item_of_tomorrow"}, {"role": "user", "content": "Hello"}]
    answer = client_of(server, engine).post("/v1/responses", json={"input": given, "stream": stream})
    assert answer.status_code == 200
    assert "item_of_tomorrow" in answer.headers["x-renderlayer-warning"]


def test_later_parts_of_a_call_have_no_null_fields(server: ServedModel) -> None:
    """Clients that put calls together take a later `"type": null` for the type."""
    settings = replace(server.settings, tool_call_parser="hermes", enable_auto_tool_choice=True)
    tool = {"type": "function", "function": {"name": "f"}}
    body = {"messages": [{"role": "user", "content": "Hello"}], "tools": [tool], "stream": True}
    pending = PendingChat(body, ServedModel(server.model, settings))
    said = '<tool_call>\n{"name": "f", "arguments": {"a": "hello, world"}}\n</tool_call>'
    ids = server.model.tokenizer.encode(said, False)
    events = [
        {"request_id": "x", "choices": [{"index": 0, "token_ids": [token], "finish_reason": None}]} for token in ids
    ]
    chunks = [chunk for event in events for chunk in pending.step(0, event)]
    calls = [call for chunk in chunks for call in chunk["choices"][0]["delta"].get("tool_calls") or ()]
    assert len(calls) > 2
    assert calls[0]["type"] == "function"
    assert all(set(call) == {"index", "function"} and set(call["function"]) == {"arguments"} for call in calls[1:])


def test_a_budget_of_thinking_is_left_out_for_a_model_that_does_not_think(server: ServedModel) -> None:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    request = parse(MessagesRequest, {**BODIES["/v1/messages"], "max_tokens": 2048, "thinking": thinking})
    here, there = (render_messages(request, one)["sampling_params"] for one in (server.front_door, server))
    assert here.get("thinking_token_budget") is None
    assert there["thinking_token_budget"] == 1024
