"""`continue_from` at the front door: the engine is given an extension, and the answer says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from renderlayer.derender.core import sse
from renderlayer.pipeline import Engine, complete_chat
from renderlayer.pipeline.messages import complete_messages
from renderlayer.pipeline.responses import complete_responses
from renderlayer.served_model import ServedModel
from tests.derender.engine import choice, encoded, events, response, split
from tests.pipeline.loop import read, wait
from tests.render.continuing.conversations import ids, render

SAID = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Good day"}]
MORE = [*SAID, {"role": "user", "content": "And?"}]


@pytest.fixture
def asked() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def engine(server: ServedModel, asked: list[dict[str, Any]]) -> Iterator[Engine]:
    tokens = encoded(server, "Well.")

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(json.loads(request.content))
        if not asked[-1]["stream"]:
            return httpx2.Response(200, json=response(choice(tokens)))
        told = events(split(tokens, [1, 2]))
        return httpx2.Response(200, content=b"".join([*map(sse.event, told), sse.DONE]))

    client = Engine("http://engine", transport=httpx2.MockTransport(answer))
    yield client
    wait(client.aclose())


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("complete", [complete_chat, complete_responses, complete_messages])
def test_the_engine_is_given_an_extension(
    server: ServedModel, engine: Engine, asked: list[dict[str, Any]], complete: Any, stream: bool
) -> None:
    first = render(server, SAID[:1])["token_ids"]
    output = [token for letter in "Good day" for token in ids(server, letter)] + ids(server, "<|im_end|>")
    held = {"prompt_token_ids": first, "output_token_ids": output, "messages": 2, "require": True}
    said = "input" if complete is complete_responses else "messages"
    body = {"model": "small", said: MORE, "max_tokens": 9, "stream": stream, "continue_from": held}
    if complete is complete_responses:
        del body["max_tokens"]
    answer = wait(complete(body, server, engine))
    told = read(answer) if stream else [answer]
    assert asked[0]["token_ids"][: len(first) + len(output)] == [*first, *output]
    assert "continuation" not in asked[0]
    if not stream or complete is complete_chat:
        assert told[0]["continuation"]["mode"] == "extended"
        assert not any("continuation" in chunk for chunk in told[1:])
