"""Text that was made to be slow to parse, and states that were made up."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderlayer.errors import BadRequest
from renderlayer.parsers import REASONING_PARSERS, TOOL_PARSERS, Conversation, Parser, Piece
from tests.parsers.examples import TOOL_EXAMPLES
from tests.parsers.hostility import assert_refused_or_harmless, seconds, tampered
from tests.parsers.support import Words, asking, markers_of, opened, pieces

SIZE = 6_000
ROUNDS = 8
FORMATS = [(name, None) for name in TOOL_PARSERS] + [(None, name) for name in REASONING_PARSERS]
STATED = ["hermes", "qwen3_coder", "glm45", "kimi_k2", "pythonic", "gemma4", "openai", "minimax_m3", "hf", "beam"]


def repeated(part: str, size: int, words: Words) -> list[Piece]:
    tokens = pieces(part, words, (3,))
    return tokens * (size // len(part))


@pytest.mark.parametrize(("tool", "reasoning"), FORMATS)
def test_markers_without_end_take_linear_time(tool: str | None, reasoning: str | None) -> None:
    parser, words = opened(tool, reasoning)
    own = markers_of(tool, reasoning) or ["<think>"]
    for part in ("".join(own), own[0] + own[-1], own[0] + '{"name": "'):
        assert grows_linearly(parser, repeated(part, SIZE, words), repeated(part, 8 * SIZE, words)), part


def grows_linearly(parser: Parser, short: list[Piece], long: list[Piece]) -> bool:
    """Whether eight times the text takes about eight times as long; quadratic time would take 64 times as long.

    What a call costs that reads nothing is taken off both, so that a format of any speed is measured by its own time.
    A busy machine only ever adds time, so each is the least of all rounds, and rounds go on while they would say that
    the time is not linear. The limit is far from both. Below a millisecond, where even the least is off by more, the
    long text is the short one: four times of it would take sixteen times as long.
    """
    conversation = asking()
    nothing = quick = slow = slower = float("inf")
    for turn in range(ROUNDS):
        nothing = min(nothing, seconds(lambda: parser.parse(conversation, [])))
        quick = min(quick, seconds(lambda: parser.parse(conversation, short)))
        slow = min(slow, seconds(lambda: parser.parse(conversation, long)))
        if slow - nothing < 28 * max(quick - nothing, 0.0):
            return True
        if turn >= ROUNDS // 2:
            slower = min(slower, seconds(lambda: parser.parse(conversation, long * 4)))
            if slower - nothing < 10 * (slow - nothing):
                return True
    return False


class Quadratic:
    """A parser that looks at all that it has read again for every token, and takes a millisecond for the short text."""

    def parse(self, conversation: Conversation, tokens: list[Piece]) -> None:
        read = ""
        for _, text in tokens:
            read += text
            read.count("<", 0, len(read))


def test_quadratic_time_of_a_millisecond_is_noticed() -> None:
    tokens: list[Piece] = [(0, "<abc")] * (SIZE // 4)
    assert not grows_linearly(Quadratic(), tokens, tokens * 8)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("hermes", '<tool_call>{"name": "f", "arguments": ' + "{" * 50_000),
        ("hermes", '<tool_call>{"name": "f", "arguments": ' + '{"a": [' * 15_000),
        ("llama3_json", "{" * 50_000),
        ("xlam", "[" * 50_000),
        ("pythonic", "[f(a=" + "[" * 50_000),
        ("pythonic", "[f(a='" + "\\" * 50_000),
        ("pythonic", "[f(a=" + "x" * 50_000),
        ("gemma4", "<|tool_call>call:f{a:" + "[" * 50_000),
        ("gemma4", "<|tool_call>call:f{" + "a" * 50_000),
        ("qwen3_coder", "<tool_call><function=f><parameter=a>" + "\n" * 50_000),
        ("qwen3_coder", "<tool_call><function=f><parameter=" + "a" * 50_000),
        ("minimax_m3", ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="f">' + "]<]minimax[>[<a>" * 3_000),
        ("openai", "<|channel|>" + "a" * 50_000),
        ("mistral", "[TOOL_CALLS]" + "a" * 50_000),
    ],
)
def test_what_never_ends_is_no_trouble(tool: str, text: str) -> None:
    parser, words = opened(tool)

    answer = parser.parse(asking(), [(0, text[at : at + 50]) for at in range(0, len(text), 50)])

    assert answer.content or answer.calls
    assert seconds(lambda: parser.parse(asking(), pieces(text, words, (500,)))) < 2


@pytest.fixture(params=STATED)
def parser(request: pytest.FixtureRequest) -> Parser:
    return opened(request.param)[0]


def mid_call(name: str) -> tuple[Parser, dict[str, Any]]:
    """A parser and a state from the middle of a call."""
    parser, words = opened(name)
    tokens = pieces(TOOL_EXAMPLES[name], words)
    return parser, parser.feed(parser.start(asking()), tokens[: len(tokens) // 2])[1]


@pytest.mark.parametrize(
    "state", [None, {}, [], "", 1, {"v": 1}, {"v": 1, "parser": "hermes+"}, {"v": 9, "parser": ""}]
)
def test_what_is_no_state_is_refused(parser: Parser, state: Any) -> None:
    with pytest.raises(BadRequest, match="invalid stream_state"):
        parser.feed(state, [(1, "x")])
    with pytest.raises(BadRequest, match="invalid stream_state"):
        parser.finish(state)


@pytest.mark.parametrize("version", [1, 2, 4])
def test_a_state_of_another_version_is_refused(parser: Parser, version: int) -> None:
    state = {**parser.start(asking()), "v": version}

    with pytest.raises(BadRequest, match=f"it has version {version}, and this release reads version 3"):
        parser.feed(state, [(1, "x")])


def test_the_state_of_another_parser_is_refused() -> None:
    hermes, state = mid_call("hermes")

    with pytest.raises(BadRequest):
        opened("longcat")[0].feed(state, [])
    assert hermes.feed(state, [])[0] == []


@pytest.mark.parametrize("name", STATED)
@settings(max_examples=60)
@given(data=st.data())
def test_a_tampered_state_is_refused_or_harmless(name: str, data: st.DataObject) -> None:
    parser, state = mid_call(name)

    assert_refused_or_harmless(parser, tampered(state, data))
