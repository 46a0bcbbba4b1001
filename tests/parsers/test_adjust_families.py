"""Calls as the models write them (wire.md 7.4) against the tags: what must pass passes, what must not does not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderlayer.constraints.adjust import adjust
from tests.parsers.tag_reader import accepts
from tests.parsers.tools import BOOK_SCHEMA, NAMED, Names, tag_of, tool

ARGUMENTS = '{"room": "7", "nights": 2}'
_SECTION = ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>")
_DSML_VALUES = '<｜DSML｜parameter name="room" string="true">7</｜DSML｜parameter>\n'
_XML_VALUES = "<parameter=room>\n7\n</parameter>"

# parser -> (what opens the calls, one call, what closes them); {n} is the call's number.
OUTPUTS: dict[str, tuple[str, str, str]] = {
    "hermes": ("", f'<tool_call>\n{{"name": "book", "arguments": {ARGUMENTS}}}\n</tool_call>', ""),
    "qwen3_json": ("", f'<tool_call>{{"name": "book", "arguments": {ARGUMENTS}}}</tool_call>', ""),
    "longcat": ("", f'<longcat_tool_call>{{"name": "book", "arguments": {ARGUMENTS}}}</longcat_tool_call>', ""),
    "llama3_json": ("", f'{{"name": "book", "parameters": {ARGUMENTS}}}', ""),
    "llama4_json": ("", f'{{"name": "book", "parameters": {ARGUMENTS}}}', ""),
    "deepseek_v31": (
        "<｜tool▁calls▁begin｜>",
        f"<｜tool▁call▁begin｜>book<｜tool▁sep｜>{ARGUMENTS}<｜tool▁call▁end｜>",
        "<｜tool▁calls▁end｜>",
    ),
    "deepseek_v32": (
        "\n\n<｜DSML｜function_calls>\n",
        f'<｜DSML｜invoke name="book">\n{_DSML_VALUES}</｜DSML｜invoke>\n',
        "</｜DSML｜function_calls>",
    ),
    "deepseek_v4": (
        "\n\n<｜DSML｜tool_calls>\n",
        f'<｜DSML｜invoke name="book">\n{_DSML_VALUES}</｜DSML｜invoke>\n',
        "</｜DSML｜tool_calls>",
    ),
    "deepseek_v41": (
        "\n\n<｜DSML｜ calls>\n",
        '<｜DSML｜ invoke name="book">\n<｜DSML｜ parameter name="room" string="true">7</｜DSML｜ parameter>\n'
        "</｜DSML｜ invoke>\n",
        "</｜DSML｜ calls>",
    ),
    "kimi_k2": (
        _SECTION[0],
        f"<|tool_call_begin|>functions.book:12<|tool_call_argument_begin|>{ARGUMENTS}<|tool_call_end|>",
        _SECTION[1],
    ),
    "glm45": (
        "",
        "<tool_call>book<arg_key>room</arg_key><arg_value>7</arg_value>"
        "<arg_key>nights</arg_key><arg_value>2</arg_value></tool_call>",
        "",
    ),
    "ling3": ("", "<tool_call>book<arg_key>nights</arg_key><arg_value>2</arg_value></tool_call>", ""),
    "minimax_m2": (
        "\n<minimax:tool_call>\n",
        '<invoke name="book">\n<parameter name="room">7</parameter>\n</invoke>\n',
        "</minimax:tool_call>",
    ),
    "qwen3_coder": ("", f"<tool_call>\n<function=book>\n{_XML_VALUES}\n</function>\n</tool_call>", ""),
    "step3p5": ("", f"<tool_call>\n<function=book>\n{_XML_VALUES}\n</function>\n</tool_call>", ""),
    "step5": ("", f"<tool_call>\n<function=book>\n{_XML_VALUES}\n</function>\n</tool_call>", ""),
    "mimo": ("", "<tool_call><function=book><parameter=room>7</parameter></function></tool_call>", ""),
    "plamo3": (
        "<|plamo:begin_tool_requests:plamo|>",
        "<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>book<|plamo:end_tool_name:plamo|>"
        f"<|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>{ARGUMENTS}"
        "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>",
        "<|plamo:end_tool_requests:plamo|>",
    ),
    "kimi_k3": (
        "<|open|>response<|sep|>Let me see.<|close|>response<|sep|><|open|>tools<|sep|>",
        '<|open|>call tool="book" index="1"<|sep|><|open|>argument key="room" type="string"<|sep|>7'
        "<|close|>argument<|sep|><|close|>call<|sep|>",
        "<|close|>tools<|sep|><|close|>message<|sep|>",
    ),
    "openai": (
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant",
        f"<|channel|>commentary to=functions.book <|constrain|>json<|message|>{ARGUMENTS}",
        "",
    ),
}
# An answer that calls nothing, where it is not plain text.
PROSE = {
    "kimi_k3": "<|open|>response<|sep|>Hello.<|close|>response<|sep|>",
    "openai": "<|channel|>final<|message|>Hello.",
}
SEPARATORS = {"deepseek_v3": "\n"}
ONE_CALL_ONLY = {"openai"}


def format_for(parser: str, choice: Any, tools: list[dict[str, Any]] | None = None, **more: Any) -> Any:
    """The tag, with the calls' frame constrained even under auto."""
    given = [tool(), tool("other")] if tools is None else tools
    return tag_of(adjust(Names(parser), given, choice, strict_level="function", **more))


def answer(parser: str, calls: int = 1) -> str:
    opening, call, closing = OUTPUTS[parser]
    return opening + call * calls + closing


@pytest.mark.parametrize("choice", ["auto", "required", NAMED], ids=["auto", "required", "named"])
@pytest.mark.parametrize("parser", OUTPUTS)
def test_a_call_passes_and_an_unknown_tool_does_not(parser: str, choice: Any) -> None:
    content = format_for(parser, choice)
    assert accepts(content, answer(parser))
    if choice != "auto":
        assert not accepts(content, answer(parser).replace("book", "cook"))


@pytest.mark.parametrize("parser", OUTPUTS)
def test_only_auto_lets_an_answer_without_a_call_pass(parser: str) -> None:
    prose = PROSE.get(parser, "Hello.")
    passed = [accepts(format_for(parser, choice), prose) for choice in ("auto", "required", NAMED)]
    assert passed == [True, False, False]


@pytest.mark.parametrize("parser", sorted(set(OUTPUTS) - ONE_CALL_ONLY))
def test_several_calls_pass_unless_one_is_the_limit(parser: str) -> None:
    assert accepts(format_for(parser, "required"), answer(parser, 3))
    assert not accepts(format_for(parser, "required", parallel_tool_calls=False), answer(parser, 3))
    assert accepts(format_for(parser, "required", parallel_tool_calls=False), answer(parser))


def test_deepseek_v3_fences_its_arguments() -> None:
    call = f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>book\n```json\n{ARGUMENTS}\n```<｜tool▁call▁end｜>"
    content = format_for("deepseek_v3", "required")
    assert accepts(content, f"<｜tool▁calls▁begin｜>{call}\n{call}<｜tool▁calls▁end｜>")
    assert not accepts(content, f"<｜tool▁calls▁begin｜>{call}{call}<｜tool▁calls▁end｜>")


@pytest.mark.parametrize(
    ("schema", "value", "passes"),
    [
        ({"type": "integer"}, "3", True),
        ({"type": "integer"}, "three", False),
        ({"type": "string"}, 'any "text"', True),
        ({"type": "string"}, "a <arg_key> inside", False),
        ({"enum": ["c", "f"]}, "f", True),
        ({"enum": ["c", "f"]}, "g", False),
        ({"type": "boolean", "enum": [True]}, "true", True),
        ({"type": ["number", "null"]}, "null", True),
        ({"type": ["number", "null"]}, "none", False),
        (True, "free", True),
        ({}, "free", True),
    ],
)
def test_glm_tells_values_by_their_first_type(schema: Any, value: str, passes: bool) -> None:
    tools = [tool(parameters={"properties": {"x": schema}})]
    text = f"<tool_call>book<arg_key>x</arg_key><arg_value>{value}</arg_value></tool_call>"
    assert accepts(format_for("glm45", "required", tools), text) is passes


def test_glm_leaves_a_strict_tool_and_one_without_arguments_to_the_engine() -> None:
    tools = [tool(strict=True), tool("bare", {"type": "object", "properties": {}})]
    contents = [entry["content"] for entry in format_for("glm45", "required", tools)["tags"]]
    assert [(entry["style"], entry["json_schema"]) for entry in contents] == [
        ("glm_xml", BOOK_SCHEMA),
        ("glm_xml", True),
    ]


@pytest.mark.parametrize(
    ("schema", "kind", "value", "passes"),
    [
        ({"type": "string"}, "string", "a < b", True),
        ({"type": "string"}, "string", "a <|close|> b", False),
        ({"type": "string", "enum": ["c", "f"]}, "string", "f", True),
        ({"type": "string", "enum": ["c", "f"]}, "string", "g", False),
        ({"type": "string", "const": "c"}, "string", "c", True),
        ({"type": "string", "maxLength": 2}, "string", "abc", False),
        ({"type": "string", "minLength": 2, "maxLength": 4}, "string", "abc", True),
        ({"type": "integer"}, "number", "3", True),
        ({"type": "integer"}, "string", "3", False),
        ({"type": ["string", "null"]}, "anything", "free", True),
        (True, "anything", "free", True),
    ],
)
def test_kimi_k3_types_the_arguments_of_strict_tools(schema: Any, kind: str, value: str, passes: bool) -> None:
    tools = [tool(parameters={"properties": {'a"&b': schema}, "required": ['a"&b']}, strict=True)]
    argument = f'<|open|>argument key="a&quot;&amp;b" type="{kind}"<|sep|>{value}<|close|>argument<|sep|>'
    call = f'<|open|>call tool="book" index="1"<|sep|>{argument}<|close|>call<|sep|>'
    text = f"<|close|>response<|sep|><|open|>tools<|sep|>{call}<|close|>tools<|sep|>"
    assert accepts(format_for("kimi_k3", "required", tools), text) is passes
    assert not accepts(format_for("kimi_k3", "required", tools), text.replace(argument, ""))


def test_kimi_k3_keeps_definitions_within_reach() -> None:
    schema = {"properties": {"x": {"type": "object", "$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "object"}}}
    call = format_for("kimi_k3", "required", [tool(parameters=schema, strict=True)])["elements"][2]["content"]["tags"][
        0
    ]
    argument = call["content"]["elements"][2]["content"]
    assert argument["content"]["json_schema"] == {
        "$defs": {"A": {"type": "object"}},
        "type": "object",
        "$ref": "#/$defs/A",
    }


NAMES = st.text("abcXYZ_09-", min_size=1, max_size=8)
VALUES = st.dictionaries(NAMES, st.none() | st.booleans() | st.integers() | st.text(max_size=8), max_size=3)


@given(names=st.lists(NAMES, min_size=1, max_size=4, unique=True), arguments=VALUES, chosen=st.integers(0, 3))
def test_any_offered_tool_may_be_called_with_any_json(names: list[str], arguments: Any, chosen: int) -> None:
    name = names[chosen % len(names)]
    text = f'<tool_call>\n{{"name": "{name}", "arguments": {json.dumps(arguments)}}}\n</tool_call>'
    assert accepts(format_for("hermes", "required", [tool(entry) for entry in names]), text)
