"""The digest of prompt and output, whichever way an answer is derendered (docs/wire.md 2.10)."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from renderlayer.derender import derender_chat, stream_chat
from renderlayer.derender.events.messages_answer import derender_messages, stream_messages
from renderlayer.derender.events.responses import derender_responses, stream_responses
from renderlayer.errors import NotFound
from renderlayer.render.chat import render_chat
from renderlayer.render.continuing import prefixes
from renderlayer.render.continuing.prefixes import prefix_of
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from tests.models import open_server

Json = dict[str, Any]
SAY: list[Json] = [{"role": "user", "content": "Hello"}]
APIS: dict[str, tuple[str, Json, Callable[..., Any], Callable[..., Any]]] = {
    "chat": ("chat_request", {"messages": SAY}, derender_chat, stream_chat),
    "responses": ("responses_request", {"input": SAY}, derender_responses, stream_responses),
    "messages": (
        "messages_request",
        {"model": "small", "max_tokens": 9, "messages": SAY},
        derender_messages,
        stream_messages,
    ),
}


@pytest.fixture(scope="module", params=["", "hermes"])
def served(request: pytest.FixtureRequest, model_folder: Path) -> ServedModel:
    settings = Settings(
        served_model_name=["small"], tool_call_parser=request.param, enable_auto_tool_choice=bool(request.param)
    )
    return open_server(model_folder, settings)


@pytest.fixture
def prompt(served: ServedModel) -> Json:
    body = {"messages": SAY, "return_prefix": True}
    return dict(render_chat(parse(ChatCompletionRequest, body), served))


def answered(served: ServedModel, api: str, prompt: Json, how: str, **known: Any) -> str | None:
    """The digest at the end of an answer."""
    field, request, whole, stream = APIS[api]
    output = served.model.tokenizer.encode("Good day to you.")
    fixed = {field: {**request, "return_prefix": True}, **known}
    choices = [{"index": 0, "token_ids": [token], "finish_reason": None} for token in output]
    choices[-1]["finish_reason"] = "stop"
    if how == "whole":
        choice = {"index": 0, "token_ids": output, "finish_reason": "stop"}
        told: Json = whole({**fixed, "generate_response": {"choices": [choice]}}, served)
        return told["prefix"]  # type: ignore[no-any-return]
    events = [{"request_id": "one", "choices": [choice]} for choice in choices]
    if how == "stream":
        return last(list(stream(iter([fixed, *events]), served)))
    state: Json = {}
    found: list[Json] = []
    for number, event in enumerate(events):
        given = fixed if number == 0 or api == "responses" else {}
        call = whole({**given, "stream": True, "generate_chunk": event, **state}, served)
        state = {"stream_state": call["stream_state"]}
        found += [call["chunk"]] if api == "chat" else call["events"]
        assert number + 1 == len(events) or not any("prefix" in row.get("data", row) for row in found)
    return last(found)


def last(events: list[Json]) -> str | None:
    rows = [event.get("data", event) for event in events]
    digests = [row["prefix"] for row in rows if "prefix" in row]
    assert len(digests) == 1
    return digests[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("how", ["whole", "stream", "events"])
@pytest.mark.parametrize("api", APIS)
def test_the_digest_is_of_prompt_and_output(served: ServedModel, prompt: Json, api: str, how: str) -> None:
    by_ids = answered(served, api, prompt, how, prompt_token_ids=prompt["token_ids"])
    by_digest = answered(served, api, prompt, how, prefix=prompt["prefix"])
    assert by_ids is not None
    assert by_ids == by_digest
    assert prefix_of(by_ids, served) == (
        array("I", prompt["token_ids"]),
        array("I", served.model.tokenizer.encode("Good day to you.")),
    )


@pytest.mark.parametrize("api", APIS)
def test_a_digest_of_nothing(served: ServedModel, prompt: Json, api: str) -> None:
    with pytest.raises(NotFound, match="send prompt_token_ids") as refused:
        answered(served, api, prompt, "whole", prefix="0" * 64)
    assert refused.value.param == "prefix"


def test_a_prompt_that_is_forgotten_midway(served: ServedModel, prompt: Json, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer goes on; there is no digest of it."""
    monkeypatch.setattr(prefixes, "_BYTES", 0)
    assert answered(served, "chat", prompt, "events", prompt_token_ids=prompt["token_ids"]) is None


def test_a_chain_of_digests(served: ServedModel, prompt: Json) -> None:
    """No ids travel but those that were sampled and those that were appended."""
    messages, ids, digest = SAY, prompt["token_ids"], prompt["prefix"]
    output = served.model.tokenizer.encode("Well.<|im_end|>")
    for _ in range(12):
        messages = [*messages, {"role": "assistant", "content": "Well."}, {"role": "user", "content": "And?"}]
        given = {"messages": len(messages) - 1, "output_token_ids": output}
        body: Json = {"messages": messages, "return_prefix": True}
        short = {**given, "prefix": digest, "appended_only": True}
        rendered = render_chat(parse(ChatCompletionRequest, {**body, "continue_from": short}), served)
        whole = {**given, "prompt_token_ids": ids}
        other = render_chat(parse(ChatCompletionRequest, {**body, "continue_from": whole}), served)
        ids = other["token_ids"]
        assert rendered["continuation"] == other["continuation"]
        assert rendered["token_ids"] == ids[rendered["continuation"]["kept"] :]
        assert rendered["prefix"] == other["prefix"]
        without = {name for name in rendered if name not in ("token_ids", "request_id")}
        assert {name: rendered[name] for name in without} == {name: other[name] for name in without}  # type: ignore[literal-required]
        digest = rendered["prefix"]
