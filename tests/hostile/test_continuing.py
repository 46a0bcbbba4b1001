"""`continue_from` and `return_token_spans` with conversations and ids of any kind: an answer, or an error."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from renderlayer.errors import RenderLayerError
from renderlayer.render.chat import render_chat
from renderlayer.served_model import ServedModel
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse

CONTENTS: list[Any] = [
    "", "a", "\ud800", "\0", "zq" + "0" * 12 + "c0z", "<|im_end|>", "<think></think>", "</think>", None, [], ["a"],
    [{"type": "text", "text": ""}], [{"type": "text", "text": "x"}, {"type": "refusal", "refusal": "no"}], "é" * 9000,
]  # fmt: skip
ROLES = ["user", "assistant", "system", "tool", "developer", "function", "", "ünï"]
ARGUMENTS = ["", "{}", "[]", "{", '{"a": 1}', '{"\\"": "x"}', "null", '{"a": {"b": []}}']


def message(random: Random) -> dict[str, Any]:
    made: dict[str, Any] = {"role": random.choice(ROLES), "content": random.choice(CONTENTS)}
    if random.random() < 0.3:
        function = {"name": random.choice(["f", "", "é"]), "arguments": random.choice(ARGUMENTS)}
        made["tool_calls"] = [{"id": random.choice(["", "c"]), "type": "function", "function": function}] * 2
    if random.random() < 0.3:
        made["reasoning"] = random.choice(["", "why", {"a": 1}, 3])
    if random.random() < 0.2:
        made["tool_call_id"] = random.choice(["", "c"])
    return made


def numbers(random: Random) -> list[int]:
    return [random.choice([0, 1, 5, 300, 699, 706, 10**6, -1, 2**40, 10**30]) for _ in range(random.randrange(0, 9))]


@pytest.mark.parametrize("seed", range(8))
def test_any_conversation(server: ServedModel, seed: int) -> None:
    random, answered = Random(seed), 0
    for _ in range(150):
        body: dict[str, Any] = {"messages": [message(random) for _ in range(random.randrange(1, 6))]}
        if random.random() < 0.7:
            prompt = numbers(random)
            if random.random() < 0.7:
                try:
                    prompt = render_chat(parse(ChatCompletionRequest, body), server)["token_ids"]
                except RenderLayerError:
                    continue
                body["messages"] += [{"role": "assistant", "content": random.choice(CONTENTS)}, message(random)]
            held = {"prompt_token_ids": prompt, "output_token_ids": numbers(random)}
            held |= {"messages": len(body["messages"]) - 1, "history": random.choice(["keep", "template"])}
            body["continue_from"] = held
        else:
            body["return_token_spans"] = True
        try:
            rendered = render_chat(parse(ChatCompletionRequest, body), server)
        except RenderLayerError as error:
            assert error.status < 500
            continue
        answered += 1
        if rendered.get("continuation", {}).get("mode") == "extended":
            given = [*body["continue_from"]["prompt_token_ids"], *body["continue_from"]["output_token_ids"]]
            assert rendered["token_ids"][: len(given)] == given
    assert answered
