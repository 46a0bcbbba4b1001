"""Laws of every format, on random texts made of its own markers: chunks do not matter, the state is small JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from renderlayer.parsers import REASONING_PARSERS, TOOL_PARSERS
from renderlayer.parsers.core.resumable import HOLD_LIMIT
from tests.parsers.support import END_OF_TURN, TURN, asking, markers_of, opened, pieces, streamed, told

LAW = settings(max_examples=8, suppress_health_check=list(HealthCheck))
BITS = (
    *('{"name": "', "get_weather", '", "arguments": ', '{"city": ', '"Paris"', "}", "]", "[", "{", '"', ", ", ": "),
    *("call:", "city", "=", "'", "(", ")", "\\", "\\u00e9", "\\x4", "functions.", "get_time:0", ";", "```json", "`"),
    *(
        " ",
        "\n",
        "\n\n",
        "Let me check.",
        "é",
        "👍",
        "3",
        "-1.5",
        "true",
        "null",
        "[1, 2]",
        "<",
        "</",
        "<|",
        ">",
        "x" * 40,
    ),
    *(" to=", "to=functions.search", "analysis", "final", "commentary"),
)
CHOICES = ("auto", "auto", "none", "required", None, {"type": "function", "function": {"name": "search"}})
BY_REASONING = sorted({*REASONING_PARSERS} - {"openai_gptoss"})
PAIRS = [
    *((name, None) for name in TOOL_PARSERS),
    *((None, name) for name in BY_REASONING),
    ("hermes", "qwen3"),
    ("qwen3_coder", "qwen3"),
    ("deepseek_v3", "deepseek_r1"),
    ("glm45", "glm45"),
    ("mistral", "mistral"),
]
# Everything that a state holds besides text that waits for a decision.
FRAME = 1_024


@pytest.mark.parametrize(("tool", "reasoning"), PAIRS)
@LAW
@given(data=st.data())
def test_any_chunking_tells_the_same(tool: str | None, reasoning: str | None, data: st.DataObject) -> None:
    parser, words = opened(tool, reasoning)
    own = [*markers_of(tool, reasoning), END_OF_TURN]
    part = st.one_of(st.sampled_from(own), st.sampled_from(BITS), st.sampled_from(own).map(lambda m: m[:-1]))
    text = "".join(data.draw(st.lists(part, max_size=24)))
    prompts = [None, [words.added[TURN]], [words.added[TURN], *(words.added[m] for m in own if m in words.added)]]
    conversation = asking(
        tool_choice=data.draw(st.sampled_from(CHOICES)), prompt_token_ids=data.draw(st.sampled_from(prompts))
    )
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    whole, _ = streamed(parser, conversation, pieces(text, words), (10_000,))

    for tokens, chunks in (((1,), (1,)), ((2, 3), (2,)), ((1,), (7,)), (tuple(sizes), tuple(sizes))):
        events, states = streamed(parser, conversation, pieces(text, words, tokens), chunks)
        assert told(parser, events) == told(parser, whole)
        assert all(len(json.dumps(state)) < FRAME + 6 * len(text) for state in states)


@pytest.mark.parametrize(("tool", "reasoning"), PAIRS)
@pytest.mark.parametrize("filler", ["word ", '{"a": '])
def test_the_state_does_not_grow_with_the_output(tool: str | None, reasoning: str | None, filler: str) -> None:
    parser, words = opened(tool, reasoning)
    opener = markers_of(tool, reasoning)[:1]
    conversation = asking()

    for prefix in ("", *opener):
        _, states = streamed(parser, conversation, pieces(prefix + filler * 2_000, words, (97,)), (1,))
        assert max(len(json.dumps(state)) for state in states) < FRAME + 2 * HOLD_LIMIT


@pytest.mark.parametrize(("tool", "reasoning"), PAIRS)
def test_the_state_is_plain_json(tool: str | None, reasoning: str | None) -> None:
    parser, words = opened(tool, reasoning)
    text = "".join(markers_of(tool, reasoning)) + "é👍\\ " + "".join(BITS)

    _, states = streamed(parser, asking(), pieces(text, words, (1,)), (1,))

    for state in states:
        assert json.loads(json.dumps(state)) == state
        json.dumps(state, ensure_ascii=False).encode()
