"""The deployed handlers, run by the real runtime client."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.events import SOURCES, http_api
from tests.runtime import Function

CHAT = {"messages": [{"role": "user", "content": "Say hello, please."}], "model": "small"}


def environment(server: Any) -> dict[str, str]:
    return {"RENDERLAYER_MODEL": server.settings.model, "RENDERLAYER_SERVED_MODEL_NAME": "small"}


def answered(function: Function, event: dict[str, Any]) -> tuple[int, Any]:
    outcome = function.invoke(event)
    assert outcome.ok, outcome.value
    body = outcome.value["body"]
    return outcome.value["statusCode"], json.loads(body) if body else None


def test_render(server: Any) -> None:
    with Function("functions.render.app.handler", environment(server)) as function:
        for source in SOURCES:
            status, rendered = answered(function, source("/v1/chat/completions/render", json.dumps(CHAT)))
            assert status == 200
            assert rendered["token_ids"]
        assert answered(function, http_api("/health", method="GET")) == (200, None)
        status, models = answered(function, http_api("/v1/models", method="GET"))
        assert [card["id"] for card in models["data"]] == ["small"]
        status, error = answered(function, http_api("/v1/chat/completions/render", "{}"))
        assert (status, error["error"]["type"]) == (400, "Bad Request")
        status, error = answered(function, http_api("/v1/chat/completions/derender", "{}"))
        assert (status, error["error"]["type"]) == (404, "NotFoundError")
        said = function.output()
    lines = [json.loads(line) for line in said.splitlines()]
    assert [line["status"] for line in lines] == [200, 200, 200, 200, 200, 200, 400, 404]
    assert [line["cold_start"] for line in lines] == [True] + [False] * 7
    assert len({line["prompt_tokens"] for line in lines[:4]}) == 1
    assert "Say hello" not in said


def test_derender(server: Any) -> None:
    tokens = server.model.tokenizer.encode("Hello there!")
    choice = {"index": 0, "token_ids": tokens, "finish_reason": "stop", "logprobs": None}
    body = {
        "model": "small",
        "generate_response": {"request_id": "generate-tokens-1", "choices": [choice]},
        "prompt_tokens": 7,
    }
    with Function("functions.derender.app.handler", environment(server)) as function:
        status, chat = answered(function, http_api("/v1/chat/completions/derender", json.dumps(body)))
        assert status == 200
        assert chat["choices"][0]["message"]["content"] == "Hello there!"
        assert answered(function, http_api("/v1/chat/completions/render", json.dumps(CHAT)))[0] == 404
        line = json.loads(function.output().splitlines()[0])
    assert (line["service"], line["prompt_tokens"], line["completion_tokens"]) == ("derender", 7, len(tokens))


def test_a_configuration_that_cannot_work_is_told_at_start() -> None:
    with Function("functions.render.app.handler", {"RENDERLAYER_MODEL": "/nowhere"}) as function:
        outcome = function.invoke(http_api("/health", method="GET"))
    assert not outcome.ok
    assert outcome.value["errorType"].endswith("ConfigurationError")
    assert "/nowhere" in outcome.value["errorMessage"]


@pytest.mark.parametrize("unknown", [{}, {"Records": []}])
def test_an_event_that_is_no_request_is_an_error_of_the_invocation(server: Any, unknown: dict[str, Any]) -> None:
    with Function("functions.derender.app.handler", environment(server)) as function:
        assert not function.invoke(unknown).ok
