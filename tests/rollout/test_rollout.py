"""A rollout's tokens never change; those of full renders do."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import pytest

import renderlayer
from renderlayer import LoadedModel
from renderlayer.errors import Conflict
from renderlayer.rollout import Rollout
from renderlayer.rollout import rollout as module
from renderlayer.settings import Settings
from tests.models import open_server

Json = dict[str, Any]
TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "parameters": {"type": "object", "properties": {"word": {"type": "string"}, "deep": {"type": "boolean"}}},
    },
}
ODD = (
    '<tool_call>\n{"name":"look_up",  "arguments": {"word":"\\u00e9t\\u00e9", "deep": true}}\n</tool_call>',
    '<tool_call>\n{"arguments": {"deep": false, "word": "a\\/b"}, "name": "look_up"}\n</tool_call>',
    '<tool_call>{"name": "look_up", "arguments": {"word":  "x" , "deep" :true}}</tool_call>',
    "It is  fine ,  is n't it ?",
    "  spaces around  ",
)


@pytest.fixture(scope="module")
def loaded(model_folder: Path) -> LoadedModel:
    settings = Settings(tool_call_parser="hermes", enable_auto_tool_choice=True, served_model_name=["small"])
    return LoadedModel(open_server(model_folder, settings))


def letters(model: LoadedModel, text: str) -> list[int]:
    """The tokens of a text, as no tokenizer would split it: one by one, but for the special ones."""
    return [token for letter in text for token in model.tokenize(letter)]


def odd(model: LoadedModel, turn: int) -> list[int]:
    text = ODD[turn % len(ODD)]
    inner = text.removeprefix("<tool_call>").removesuffix("</tool_call>")
    opener, closer = ("<tool_call>", "</tool_call>") if inner != text else ("", "")
    return [*model.tokenize(opener), *letters(model, inner), *model.tokenize(closer + "<|im_end|>")]


def follows(message: Json) -> Json:
    calls = message.get("tool_calls")
    if calls:
        return {"role": "tool", "tool_call_id": calls[0]["id"], "content": '{"found": false}'}
    return {"role": "user", "content": "Go on."}


def test_ten_turns_of_odd_spelling(loaded: LoadedModel) -> None:
    """With full renders every turn breaks the prefix; with a rollout none does."""
    request: Json = {"messages": [{"role": "user", "content": "Look it up."}], "tools": [TOOL]}
    rollout, breaks = Rollout(loaded, request), 0
    for turn in range(10):
        before, output = list(rollout.token_ids), odd(loaded, turn)
        message = rollout.sampled(output, [-0.5] * len(output))
        assert bool(message.get("tool_calls")) == (turn % len(ODD) < 3)
        rollout.answer(follows(message))
        assert rollout.token_ids[: len(before) + len(output)] == [*before, *output]
        assert rollout.request["token_ids"] == rollout.token_ids
        assert rollout.mask[len(before) : len(before) + len(output)] == [1] * len(output)
        assert len(rollout.token_ids) == len(rollout.mask) == len(rollout.logprobs)
        anew = loaded.render_chat({**request, "messages": rollout.messages})["token_ids"]
        breaks += anew[: len(before) + len(output)] != [*before, *output]
    assert breaks == 10
    assert {number for number, flag in zip(rollout.logprobs, rollout.mask, strict=True) if flag} == {-0.5}


def test_drift_is_refused(loaded: LoadedModel) -> None:
    rollout = Rollout(loaded, {"messages": [{"role": "user", "content": "Hello"}]})
    rollout.sampled(loaded.tokenize("Good day<|im_end|>"))
    rollout.messages[0] = {"role": "user", "content": "Something else"}
    before = list(rollout.token_ids)
    with pytest.raises(Conflict):
        rollout.answer({"role": "user", "content": "And?"})
    assert rollout.token_ids == before


def test_turns_take_turns(loaded: LoadedModel) -> None:
    rollout = Rollout(loaded, {"messages": [{"role": "user", "content": "Hello"}]})
    with pytest.raises(ValueError, match="2 tokens have 1 logprobs"):
        rollout.sampled([1, 2], [0.0])
    rollout.sampled(loaded.tokenize("Good day<|im_end|>"))
    with pytest.raises(ValueError, match="sampled already"):
        rollout.sampled([1])


def test_the_example(loaded: LoadedModel) -> None:
    tests = doctest.DocTestFinder().find(module, globs={"model": loaded, "Rollout": Rollout})
    results = [doctest.DocTestRunner().run(test) for test in tests]
    assert sum(result.attempted for result in results) >= 3
    assert not any(result.failed for result in results)
    assert renderlayer.__version__
