"""Properties of every format: markers count only where they can stand, arguments parse, and nothing vanishes.

Each runs twice: on examples that are always the same, and on others at random.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from renderlayer.parsers import TOOL_PARSERS, Answer, Conversation, Parser
from renderlayer.parsers.core.message_frames import MessageFormat
from renderlayer.parsers.reasoning.formats import REASONING
from renderlayer.parsers.response_template import NAMES as BY_TEMPLATE
from renderlayer.parsers.tool_calls.formats import TOOLS
from renderlayer.parsers.tool_calls.tag_values import Tags
from tests.parsers.examples import REASONING_EXAMPLES, TOOL_EXAMPLES
from tests.parsers.support import END_OF_TURN, Words, asking, markers_of, opened, pieces, streamed, tokens_of
from tests.parsers.test_laws import BITS

PHASES = [Phase.explicit, Phase.generate, Phase.target]
CHECKED = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
FEW = settings(max_examples=12, suppress_health_check=CHECKED, phases=PHASES)
THINKING = {"thinking": True, "enable_thinking": True, "reasoning_effort": "high"}
OTHERS = (
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<|im_start|>",
    END_OF_TURN,
    "[THINK]",
    "<|tool_call_end|>",
)
WORDS = ("zeta", "kappa", "omega", "sigma", "lambda")
Check = Callable[[str, st.DataObject], None]


def law(check: Check, names: list[str]) -> Check:
    """The test of a property for the formats of those names."""

    def test(name: str, data: st.DataObject) -> None:
        check(name, data)

    return pytest.mark.parametrize("name", names)(FEW(given(data=st.data())(test)))


def reasoning_of(tool: str) -> str | None:
    """The reasoning format of the same name, where a family has both."""
    return tool if tool in REASONING and tool in REASONING_EXAMPLES else None


def read(parser: Parser, conversation: Conversation, text: str, words: Words, data: st.DataObject) -> Answer:
    """What a text says, which is the same whole and in chunks."""
    whole = parser.parse(conversation, pieces(text, words))
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    events, _ = streamed(parser, conversation, pieces(text, words, tuple(sizes)), sizes)
    assert parser.assemble(events) == whole
    return whole


def ending(tool: str) -> list[str]:
    """What ends a string value of the format, or the message that it is in."""
    form, found = TOOLS.get(tool), []
    if isinstance(form, Tags):
        found += [*form.value_closers, form.key_opener, form.call_opener]
    found += [getattr(form, "quote", ""), getattr(form, "prefix", "")]
    if tool == "openai" or tool in BY_TEMPLATE:  # whose fields end at their delimiters, wherever those stand
        found += markers_of(tool, None)
    messages = REASONING.get(tool)
    if isinstance(messages, MessageFormat):
        found += messages.declared()
    return [marker for marker in found if marker]


def markers_in_values(name: str, data: st.DataObject) -> None:
    """A string value may hold any marker but its own closer, with or without a reasoning parser."""
    reasoning = data.draw(st.sampled_from([None, reasoning_of(name), "qwen3"])) if name != "openai" else None
    if name in BY_TEMPLATE or (name in REASONING and isinstance(REASONING[name], MessageFormat)):
        reasoning = None
    own = [*markers_of(name, None), *(markers_of(None, reasoning) if reasoning else []), *OTHERS]
    ends = ending(name)
    inside = [m for m in dict.fromkeys(own) if "\n" not in m and not any(end in m or m in end for end in ends)]
    inside = [marker for marker in inside if not {"'", '"', "\\"} & {*marker}]
    value = "x " + " ".join(data.draw(st.lists(st.sampled_from(inside or ["y"]), max_size=4))) + " z"
    parser, words = opened(name, reasoning, tokens=[*tokens_of(name, reasoning), *OTHERS])
    thought = REASONING_EXAMPLES[reasoning].replace("Yes.", "").removesuffix("</response>") if reasoning else ""

    answer = read(
        parser,
        asking(chat_template_kwargs=THINKING),
        thought + TOOL_EXAMPLES[name].replace("Paris", value),
        words,
        data,
    )

    assert [json.loads(call.arguments) for call in answer.calls][:1] == [{"city": value, "days": 3}]
    assert len(answer.calls) == 2


def arguments_parse(name: str, data: st.DataObject) -> None:
    """Whatever stands between the markers, the arguments of every call are an object."""
    parser, words = opened(name)
    text = TOOL_EXAMPLES[name]
    own = markers_of(name, None)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 30)))
        part = data.draw(st.one_of(st.sampled_from(own or ["x"]), st.sampled_from(BITS), st.text(max_size=5)))
        text = text[:start] + part.encode("utf-8", "replace").decode() + text[end:]
    choice = data.draw(st.sampled_from(["auto", "required", {"type": "function", "function": {"name": "search"}}]))

    answer = read(parser, asking(tool_choice=choice), text, words, data)

    assert all(isinstance(json.loads(call.arguments), dict) for call in answer.calls)


def nothing_vanishes(name: str, data: st.DataObject) -> None:
    """What is said around calls and in their values is told, wherever the answer is cut off and what is wanted."""
    parser, words = opened(name)
    before, after, *inside = data.draw(st.permutations(WORDS))
    text = TOOL_EXAMPLES[name].replace("Paris", f"a {inside[0]} b {inside[1]} c {inside[2]} d")
    told = "<|say|>{}<|end|>" if name == "beam" else "{}"  # its template gives text outside of fields to nobody
    text = told.format(f"Now {before} it.\n") + text + told.format(f"\nThen {after} it.")
    cut = data.draw(st.integers(0, len(text)))
    choice = data.draw(st.sampled_from(["auto", "auto", "none", None]))

    answer = read(parser, asking(tool_choice=choice), text[:cut], words, data)

    said = " ".join([answer.reasoning or "", answer.content or "", *(call.arguments for call in answer.calls)])
    for word in WORDS:
        assert (word + " " in text[:cut]) <= (word in said), word


test_markers_in_values = law(markers_in_values, list(TOOL_PARSERS))
test_arguments_parse = law(arguments_parse, list(TOOL_PARSERS))
test_nothing_vanishes = law(nothing_vanishes, list(TOOL_PARSERS))
