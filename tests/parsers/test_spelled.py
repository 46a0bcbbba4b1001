"""Calls whose markers are tokens of the vocabulary, but were written with ordinary ones."""

from __future__ import annotations

import json

import pytest

from renderlayer.parsers.core.message_frames import MessageFormat
from renderlayer.parsers.reasoning.formats import REASONING
from renderlayer.parsers.tool_calls.formats import TOOLS
from tests.parsers.examples import CALLS, TOOL_EXAMPLES
from tests.parsers.support import Words, asking, opened, pieces, streamed

NAMES = [
    name for name, form in TOOLS.items() if form.token_based and not isinstance(REASONING.get(name), MessageFormat)
]
OFF = {"thinking": False, "enable_thinking": False}
NO_TOKENS = Words({}, frozenset())


def read(name: str, text: str, written: Words = NO_TOKENS) -> tuple[str, list[tuple[str, object]]]:
    """Content and calls of a text whose tokens are those of `written`, the same whole and in chunks."""
    parser, _ = opened(name)
    whole = parser.parse(asking(chat_template_kwargs=OFF), pieces(text, written, (3, 1, 7)))
    for sizes in ((1,), (5, 2), (1000,)):
        events, _ = streamed(parser, asking(chat_template_kwargs=OFF), pieces(text, written, (3, 1, 7)), sizes)
        assert parser.assemble(events) == whole
    return whole.content or "", [(call.name, json.loads(call.arguments)) for call in whole.calls]


@pytest.mark.parametrize("name", NAMES)
def test_spelled_calls_are_calls(name: str) -> None:
    content, calls = read(name, f"Now.\n{TOOL_EXAMPLES[name]}\n")

    assert calls == CALLS
    assert content.replace("<|close|>message<|sep|>", "").strip() == "Now."


@pytest.mark.parametrize("name", NAMES)
def test_a_spelled_call_behind_one_in_tokens(name: str) -> None:
    parser, words = opened(name)
    example = TOOL_EXAMPLES[name]
    tokens = [*pieces(example + "\n", words), *pieces(example, NO_TOKENS)]

    answer = parser.parse(asking(chat_template_kwargs=OFF), tokens)

    assert [(call.name, json.loads(call.arguments)) for call in answer.calls] == CALLS * 2


@pytest.mark.parametrize("name", NAMES)
def test_markers_that_are_spoken_of_are_text(name: str) -> None:
    marker = TOOLS[name].starts.literals[0]
    text = f"The model writes {marker} before a call, and {marker}."

    assert read(name, text) == (text, [])


@pytest.mark.parametrize("name", ["glm45", "k2_horizon"])
def test_in_a_call_of_tokens_a_spelled_closer_is_text(name: str) -> None:
    parser, words = opened(name)
    closer = TOOLS[name].value_closers[0]  # type: ignore[attr-defined]
    before, after = TOOL_EXAMPLES[name].split("Paris")
    tokens = [*pieces(before, words), *pieces(f"a {closer} b", NO_TOKENS), *pieces(after, words)]

    answer = parser.parse(asking(), tokens)

    assert json.loads(answer.calls[0].arguments) == {"city": f"a {closer} b", "days": 3}


def test_a_spelled_call_ends_reasoning() -> None:
    parser, words = opened("glm45", "glm45")
    text = "I look." + TOOL_EXAMPLES["glm45"]
    tokens = [*pieces("<think>", words), *pieces(text, NO_TOKENS)]

    answer = parser.parse(asking(), tokens)

    assert answer.reasoning == "I look."
    assert [(call.name, json.loads(call.arguments)) for call in answer.calls] == CALLS


def test_a_token_in_a_name_or_a_key_is_spelled_out() -> None:
    parser, words = opened("gemma4")
    text = "<|tool_call>call:get_<|tool_call>time{a<|tool_call>b:1}<tool_call|>"

    answer = parser.parse(asking(), pieces(text, words))

    assert [(call.name, call.arguments) for call in answer.calls] == [("get_<|tool_call>time", '{"a<|tool_call>b": 1}')]


def test_a_quote_of_tokens_in_plain_quotes_is_escaped() -> None:
    parser, words = opened("gemma4")
    text = '<|tool_call>call:get_weather{city:"a <|"|> b",days:3}<tool_call|>'

    answer = parser.parse(asking(), pieces(text, words))

    assert [json.loads(call.arguments) for call in answer.calls] == [{"city": 'a <|"|> b', "days": 3}]
