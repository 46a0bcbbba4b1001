"""Answers read by a response template: the parsers `hf` and `beam`."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from renderlayer.parsers import Answer, Call, Parser
from renderlayer.parsers.core.resumable import HOLD_LIMIT
from tests.parsers.examples import CALLS
from tests.parsers.hostility import assert_refused_or_harmless, seconds, tampered
from tests.parsers.support import TOOLS_GIVEN, Words, asking, opened, pieces, streamed, told
from tests.parsers.templates import EXAMPLES, LINES, LISTED, MARKERS, NOTATION, OBJECTS, TAGS, TEMPLATES
from tests.parsers.test_laws import BITS, FRAME

LAW = settings(max_examples=25, suppress_health_check=list(HealthCheck))
NAMES = sorted(TEMPLATES)
TEXTLESS = Words({}, frozenset())
THOUGHTFUL = [name for name in NAMES if name != "lines"]


def by_template(template: Mapping[str, Any]) -> Parser:
    return opened("hf", "hf" if "thinking" in template["fields"] else None, template=template)[0]


def answer(template: Mapping[str, Any], text: str, **facts: Any) -> Answer:
    return by_template(template).parse(asking(**facts), [(0, text)])


def arguments(calls: list[Call]) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments)) for call in calls]


def ids(text: str, words: Words) -> list[int]:
    """Token ids of a prompt."""
    return [words.added.get(piece, token) for token, piece in pieces(text, words)]


# --- what is read ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_examples_in_every_way_of_writing(name: str) -> None:
    found = answer(TEMPLATES[name], EXAMPLES[name])

    assert found.reasoning == (None if name == "lines" else "Hm.")
    assert found.content == "Let me see."
    said = json.loads(json.dumps(CALLS).replace("\\nx", "")) if name == "lines" else json.loads(json.dumps(CALLS))
    assert arguments(found.calls) == [tuple(call) for call in said]


@pytest.mark.parametrize("name", NAMES)
@LAW
@given(data=st.data())
def test_any_chunking_tells_the_same(name: str, data: st.DataObject) -> None:
    parser = by_template(TEMPLATES[name])
    own = st.sampled_from(MARKERS[name])
    part = st.one_of(own, own.map(lambda marker: marker[:-1]), st.sampled_from(BITS), st.just(EXAMPLES[name]))
    text = "".join(data.draw(st.lists(part, max_size=16)))
    cut = data.draw(st.integers(0, len(text)))
    text = text[:cut] + data.draw(st.sampled_from(BITS)) + text[cut + data.draw(st.integers(0, 3)) :]
    conversation = asking(tool_choice=data.draw(st.sampled_from(["auto", "none", "required"])))
    whole = told(parser, streamed(parser, conversation, [(0, text)], (1,))[0])

    for tokens, chunks in (((1,), (1,)), ((2, 3), (2,)), ((1, 7), (3,))):
        events, states = streamed(parser, conversation, pieces(text, TEXTLESS, tokens), chunks)
        assert told(parser, events) == whole
        assert all(len(json.dumps(state)) < FRAME + 6 * HOLD_LIMIT for state in states)


@pytest.fixture(scope="module")
def reference() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("transformers.utils.chat_parsing").ResponseParser


@pytest.mark.parametrize("name", NAMES)
@LAW
@given(data=st.data())
def test_text_goes_to_the_fields_of_the_reference(name: str, reference: Any, data: st.DataObject) -> None:
    part = st.one_of(st.sampled_from(MARKERS[name]), st.sampled_from(BITS).filter(lambda bit: len(bit) < 9))
    text = "".join(data.draw(st.lists(part, max_size=16))) + "."  # the end cuts no delimiter off
    template = json.loads(json.dumps(TEMPLATES[name]))
    for field in template["fields"].values():  # calls are compared elsewhere: most of these are malformed
        field.update(content="text", content_args={}, transform_each=False, transform={"all": "{content}"})
    template["fields"].setdefault("content", {})
    stream = reference(template, prefix="")
    events = [*stream.feed(text), *stream.finalize()[1]]
    expected = {
        kind: "".join(event["text"] for event in events if event["type"] == "region_chunk" and event["field"] == kind)
        for kind in ("thinking", "content")
    }

    found = told(by_template(TEMPLATES[name]), streamed(by_template(TEMPLATES[name]), asking(), [(0, text)], (1,))[0])

    assert {"thinking": found[0], "content": found[1]} == expected


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<>\r\n\0"), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
TYPED = {
    "city": TEXT,
    "days": st.sampled_from(["3", "3.0", "-7", "12345678901234567890123", "many", "3.5"]),
    "detail": st.sampled_from(["true", "False", "0", "perhaps"]),
    "tags": st.sampled_from(['["a", 1]', "[]", "a, b", '{"a": 1}']),
    "where": st.sampled_from(['{"lat": 1.5}', "here"]),
}


@LAW
@given(arguments=st.fixed_dictionaries({}, optional=TYPED) | st.dictionaries(TEXT, VALUES, max_size=4), data=st.data())
def test_json_calls_are_those_of_the_reference(reference: Any, arguments: dict[str, Any], data: st.DataObject) -> None:
    spelled = json.dumps(arguments, ensure_ascii=data.draw(st.booleans()), indent=data.draw(st.sampled_from([None, 1])))
    template, text = data.draw(
        st.sampled_from(
            [
                (OBJECTS, f'<do>{{"name": "get_weather", "arguments": {spelled}}}</do>'),
                (OBJECTS, f'<do>\n{{"arguments": {spelled}, "id": [1, {{}}], "name": "get_weather"}} </do>'),
                (LISTED, f'<|acts|>[{{"tool": "get_weather", "input": {spelled}, "x": "]"}}]<|/acts|>'),
                (NOTATION, f"<|do>call:get_weather{spelled}<do|>"),
            ]
        )
    )

    _agree(reference, template, text)


@LAW
@given(typed=st.fixed_dictionaries({}, optional=TYPED), space=st.sampled_from(["", "\n", " \n "]))
def test_tagged_calls_are_those_of_the_reference(reference: Any, typed: dict[str, str], space: str) -> None:
    tags = space.join(f'<arg name="{key}">{value}</arg>' for key, value in typed.items())
    _agree(reference, TAGS, f'<|do|><call name="get_weather">{space}{tags}{space}</call>{space}<|end|>')


def _agree(reference: Any, template: Mapping[str, Any], text: str) -> None:
    stream = reference(json.loads(json.dumps(template)), prefix="", tools=TOOLS_GIVEN)
    events = [*stream.feed(text), *stream.finalize()[1]]
    values = [event["value"] for event in events if event["type"] == "region_close" and event["field"] == "tool_calls"]
    flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
    expected = [(item["function"]["name"], item["function"]["arguments"]) for item in flat]

    assert arguments(answer(template, text).calls) == expected


# --- what is peculiar --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", ["required", None, {"type": "function", "function": {"name": "search"}}])
def test_forced_choices_are_read_like_automatic_ones(choice: Any) -> None:
    assert answer(TAGS, EXAMPLES["tags"], tool_choice=choice) == answer(TAGS, EXAMPLES["tags"])


@pytest.mark.parametrize("name", NAMES)
def test_calls_that_nobody_may_make_are_content_as_they_are_written(name: str) -> None:
    found = answer(TEMPLATES[name], EXAMPLES[name], tool_choice="none")

    assert found.calls == []
    assert found.content is not None
    written = EXAMPLES[name][EXAMPLES[name].index("Let me see.") :]
    for marker in ("<|turn_end|>", "<turn|>", "<|eot|>", "<|/text|>"):
        written = written.replace(marker, "")
    assert found.content.replace("<|end|>", "") == written.replace("<|end|>", "")


@pytest.mark.parametrize("name", THOUGHTFUL)
def test_one_half_alone(name: str) -> None:
    tools = opened("hf", None, template=TEMPLATES[name])[0].parse(asking(), [(0, EXAMPLES[name])])
    thinking = opened(None, "hf", template=TEMPLATES[name])[0].parse(asking(), [(0, EXAMPLES[name])])

    assert (tools.reasoning, tools.content) == (None, "Hm.Let me see.")
    assert [call.name for call in tools.calls] == ["get_weather", "search"]
    assert (thinking.reasoning, thinking.calls) == ("Hm.", [])
    assert (thinking.content or "").startswith("Let me see.")


@pytest.mark.parametrize(
    ("template", "text", "reasoning", "calls"),
    [
        (OBJECTS, "<plan>Hm.</pl", "Hm.", []),
        (OBJECTS, '<do>{"name": "search", "arguments": {"q": "x"}}</', None, [("search", {"q": "x"})]),
        (TAGS, '<|do|><call name="search"><arg name="n">3</arg></call>\n', None, [("search", {"n": 3})]),
        (
            TAGS,
            '<|do|><call name="search"><arg name="n">3</arg><arg name="q">x</a',
            None,
            [("search", {"n": 3, "q": "x"})],
        ),
        (LINES, "```call search\nq=x\nn=3``", None, [("search", {"q": "x", "n": 3})]),
        (NOTATION, "<|do>call:search{q:<|'|>x<|'|>}<do", None, [("search", {"q": "x"})]),
    ],
)
def test_an_answer_that_stops_inside_the_last_closer_closes_it(
    template: Mapping[str, Any], text: str, reasoning: str | None, calls: list[Any]
) -> None:
    found = answer(template, text)

    assert (found.reasoning, found.content, arguments(found.calls)) == (reasoning, None, calls)


def test_what_is_no_call_is_dropped() -> None:
    bodies = ("", "{", "[]", '{"arguments": {}}', '{"name": "f"}', '{"name": 7, "arguments": {}}', "f()", '"f"')
    for body in bodies:
        assert answer(OBJECTS, f"a<do>{body}</do>b") == Answer(None, "ab", [])


def test_a_value_too_long_to_be_held_is_a_string() -> None:
    digits, items = "7" * 2_000, "[" + "1," * 1_000 + "1]"
    text = f'<|do|><call name="get_weather"><arg name="days">{digits}</arg><arg name="tags">{items}</arg></call><|end|>'

    assert arguments(answer(TAGS, text).calls) == [("get_weather", {"days": digits, "tags": [1] * 1_001})]


PROMPTS = [
    ("objects", "<|turn|>model\n", None, False),
    ("objects", "<|turn|>model\nold<plan><|turn|>user\n<|turn|>model\n", None, False),
    ("objects", "<|turn|>model\n<plan>", False, False),
    ("objects", "<|turn|>model\n<plan>Well", False, False),
    ("objects", "<|turn|>model\n<plan>\n</plan>\n", True, True),
    ("objects", "<|turn|>model\n<do>", True, True),
    ("tags", "<|assistant|>\n<|thought|>", False, False),
    ("tags", "<|assistant|><|say|>", True, True),
    ("tags", "<|assistant|><|thought|>x<|end|>", True, True),
]


@pytest.mark.parametrize(("name", "prompt", "ended", "off"), PROMPTS)
def test_whether_the_prompt_has_ended_the_reasoning(name: str, prompt: str, ended: bool | None, off: bool) -> None:
    parser, words = opened("hf", "hf", template=TEMPLATES[name])

    assert parser.reasoning_ended(ids(prompt, words), {}) is (ended or False)
    assert parser.reasoning_ended(ids(prompt, words), {"enable_thinking": False}) is (
        off if ended is not None else True
    )


def test_an_answer_goes_on_where_its_prompt_stops() -> None:
    parser, words = opened("hf", "hf", template=OBJECTS)

    def after(prompt: str, text: str) -> Answer:
        return parser.parse(asking(prompt_token_ids=ids(prompt, words)), [(0, text)])

    assert after("<|turn|>model\n<plan>Well, ", "yes.</plan>Hi") == Answer("yes.", "Hi", [])
    assert after("<|turn|>model\nI say</", "plan>Hi") == Answer(None, "plan>Hi", [])
    assert after("<|turn|>model\nI say<pl", "an>Hi") == Answer("Hi", None, [])
    assert after("<|turn|>model\nI say<pl", "ant") == Answer(None, "ant", [])
    assert after("<|turn|>model\n<plan>a<|turn|>model\n", "Hi") == Answer(None, "Hi", [])
    assert after("<|turn|>model\n" + "x " * 3_000 + "<plan>", "Hi") == Answer("Hi", None, [])
    assert after("<|turn|>model\n<plan>", "") == Answer(None, None, [])
    call = after('<|turn|>model\n<do>{"name": "search", "arg', 'uments": {"q": "x"}}</do>').calls
    assert [(made.name, made.arguments) for made in call] == [("search", '{"q": "x"}')]


# --- what is hostile ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_own_markers_take_linear_time(name: str) -> None:
    parser, own = by_template(TEMPLATES[name]), MARKERS[name]
    call, member, _ = re.split("(?s)(?<=Paris)(.{1,30})", EXAMPLES[name], maxsplit=1)  # in the middle of a call
    parts = ("".join(own), own[0] + own[-1], own[0] + '{"name": "', " \n", "<", EXAMPLES[name], member)
    for part in parts:
        short, long = ([(0, call * (part == member) + part * (size // len(part)))] for size in (12_000, 96_000))

        quick = seconds(lambda tokens=short: parser.parse(asking(), tokens))  # type: ignore[misc]
        slow = seconds(lambda tokens=long: parser.parse(asking(), tokens))  # type: ignore[misc]

        assert slow < 28 * quick + 0.02, part  # eight times the text; sixty-four times as long if it were quadratic


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60)
@given(data=st.data())
def test_a_tampered_state_is_refused_or_harmless(name: str, data: st.DataObject) -> None:
    parser = by_template(TEMPLATES[name])
    text = EXAMPLES[name][: data.draw(st.integers(1, len(EXAMPLES[name])))]
    _, state = parser.feed(parser.start(asking()), [(0, text)])

    assert_refused_or_harmless(parser, tampered(state, data))
