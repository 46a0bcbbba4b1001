"""`continue_from` at the front door: the engine is given an extension, and the answer says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from renderlayer.derender.core import sse
from renderlayer.errors import BadRequest
from renderlayer.pipeline import Engine, complete_chat
from renderlayer.pipeline.messages import complete_messages
from renderlayer.pipeline.responses import complete_responses
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from tests.derender.engine import choice, encoded, events, response, split
from tests.models import open_server
from tests.pipeline.loop import read, wait
from tests.pipeline.mocked import MockEngine
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

    client = Engine("http://engine", transport=MockEngine(answer))
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


class Cache:
    """An engine's prefix cache: blocks of tokens, each known by all tokens up to its end."""

    def __init__(self, block: int = 16) -> None:
        self.block, self.known = block, set[tuple[int, ...]]()
        self.asked = self.hit = 0

    def see(self, prompt: list[int], output: list[int]) -> None:
        """Count what of a prompt is there, and put the prompt and its answer there."""
        hits = 0
        while tuple(prompt[: (hits + 1) * self.block]) in self.known and (hits + 1) * self.block <= len(prompt):
            hits += 1
        self.asked += len(prompt)
        self.hit += hits * self.block
        tokens = [*prompt, *output]
        self.known |= {tuple(tokens[:end]) for end in range(self.block, len(tokens) + 1, self.block)}


ODD_CALL = '<tool_call>\n{"name":"look_up",  "arguments": {"word":"\\u00e9t\\u00e9" , "deep":true}}\n</tool_call>'
TOOL = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}


@pytest.mark.parametrize("continuing", [False, True])
def test_a_tool_loop_and_the_engines_prefix_cache(model_folder: Path, continuing: bool) -> None:
    """Prompts that are extensions find all full blocks of the turn before; rendered anew they lose the sampled ones."""
    server = open_server(model_folder, Settings(tool_call_parser="hermes", enable_auto_tool_choice=True))
    spelled = [token for letter in ODD_CALL[11:-12] for token in ids(server, letter)]
    output = [*ids(server, "<tool_call>"), *spelled, *ids(server, "</tool_call><|im_end|>")]
    cache = Cache()

    def answer(request: httpx2.Request) -> httpx2.Response:
        prompt = json.loads(request.content)["token_ids"]
        cache.see(prompt, output)
        return httpx2.Response(200, json={**response(choice(output)), "prompt_token_ids": prompt})

    engine = Engine("http://engine", transport=MockEngine(answer))
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look it up."}]
    body: dict[str, Any] = {"tools": [TOOL], "return_token_ids": True}
    given: dict[str, Any] = {}
    before, lost, total, hits = 0, 0, 0, 0
    for _ in range(10):
        cache.asked = cache.hit = 0
        done: Any = wait(complete_chat({**body, **given, "messages": messages}, server, engine))
        lost += before // cache.block * cache.block - cache.hit
        said = done["choices"][0]["message"]
        call = said["tool_calls"][0]
        messages = [*messages, {"role": "assistant", "content": said["content"], "tool_calls": said["tool_calls"]}]
        held = {"prompt_token_ids": done["prompt_token_ids"], "output_token_ids": output, "messages": len(messages)}
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": "found"})
        before = len(done["prompt_token_ids"]) + len(output)
        given = {"continue_from": {**held, "require": True}} if continuing else {}
        total += cache.asked
        hits += cache.hit
    wait(engine.aclose())
    assert (lost == 0) == continuing
    assert (hits / total > 0.9) == continuing


@pytest.mark.parametrize("stream", [False, True])
def test_a_digest_stands_for_the_ids(
    server: ServedModel, engine: Engine, asked: list[dict[str, Any]], stream: bool
) -> None:
    """Three turns, of which no ids travel between client and front door."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Hello"}]
    body: dict[str, Any] = {"model": "small", "max_tokens": 9, "stream": stream, "return_prefix": True}
    before: list[int] = []
    for _ in range(3):
        answer: Any = wait(complete_chat({**body, "messages": messages}, server, engine))
        told = read(answer) if stream else [answer]
        prefixes = [chunk["prefix"] for chunk in told if "prefix" in chunk]
        assert len(prefixes) == 1
        assert asked[-1]["token_ids"][: len(before)] == before
        before = [*asked[-1]["token_ids"], *encoded(server, "Well.")]
        messages = [*messages, {"role": "assistant", "content": "Well."}, {"role": "user", "content": "And?"}]
        body["continue_from"] = {"prefix": prefixes[0], "messages": len(messages) - 1, "require": True}


def test_a_digest_of_nothing(server: ServedModel, engine: Engine) -> None:
    given = {"prefix": "0" * 64, "messages": 2}
    answer: Any = wait(complete_chat({"messages": MORE, "max_tokens": 9, "continue_from": given}, server, engine))
    assert answer["continuation"]["reason"] == "no ids are kept under this prefix"
    assert "prefix" not in answer
    for wrong in ({"messages": 2}, {**given, "prompt_token_ids": [1], "output_token_ids": [2]}):
        with pytest.raises(BadRequest, match="continue_from must have output_token_ids"):
            wait(complete_chat({"messages": MORE, "continue_from": wrong}, server, engine))
