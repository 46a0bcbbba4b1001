"""Values: JSON scanned in pieces, Python literals and tagged text turned into JSON."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderlayer.parsers.core.resumable import HOLD_LIMIT
from renderlayer.parsers.values.json_scan import JsonScan
from renderlayer.parsers.values.python_value import PythonValue, number
from renderlayer.parsers.values.schema import digest, to_json
from tests.parsers.support import answered, tool

PROPERTY = settings(max_examples=150)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(SCALARS, lambda v: st.lists(v, max_size=4) | st.dictionaries(TEXT, v, max_size=4), max_leaves=12)


def scanned(text: str, size: int) -> int:
    """The end of the value in `text`, found in pieces of `size`; -1 when it has none."""
    scan = JsonScan()
    for start in range(0, len(text), size):
        end = scan.end(text, start, min(len(text), start + size))
        if end >= 0:
            return end
    return -1


@PROPERTY
@given(VALUES, st.integers(1, 9), st.sampled_from([None, 1]))
def test_the_end_of_json_is_found_in_any_pieces(value: Any, size: int, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=indent)

    assert scanned(f"  {text}, and more", size) == len(text) + 2


@pytest.mark.parametrize("text", ["", "  ", "{", '{"a": "}"', '["]"', '"abc\\"', '{"a": [}', "12"])
def test_json_that_goes_on_has_no_end(text: str) -> None:
    assert scanned(text, 100) == -1


def converted(text: str, size: int) -> str:
    """The JSON of a Python literal, converted in pieces of `size`."""
    value, held, out = PythonValue(), "", []
    for start in [*range(0, len(text), size), len(text)]:
        held += text[start : start + size]
        json_text, used, _ = value.convert(held, 0, final=start == len(text))
        out.append(json_text)
        held = held[used:]
    return "".join(out) + value.closing()


@PROPERTY
@given(VALUES, st.integers(1, 9))
def test_python_literals_become_the_same_json(value: Any, size: int) -> None:
    assert json.loads(converted(repr(value), size)) == value


@pytest.mark.parametrize(
    "literal",
    [
        r"'a\x41\u00e9\U0001F44D\101\n\t\\\'\"'",
        '"it\'s"',
        "(1, 2, (3,))",
        "{'a': {'b': [True, None]}}",
        "-0x1F",
        "1_000",
        "[1, 2,]",
        "'''a\nb 'c' d'''",
        '"""say "x" """',
        "'a' 'b'",
        "('a'  # first\n 'b'\n)",
        r"r'\d+\''",
        "u'x' R'\\n' rb'y'"[:-6],
        "(1)",
        "((1))",
        "(1,)",
        "()",
        "{}",
        "- 1",
        "+ 1.5e-3",
        "0b11",
        "[(), {}, ('a'), ('a',), {'k': ('b' 'c')}]",
        r"'\N{BULLET}'",
        "{1: 2, False: 3}",
        ".5",
        "5.",
        "00",
    ],
)
@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_literals_mean_what_python_means(literal: str, size: int) -> None:
    meant = json.loads(json.dumps(ast.literal_eval(literal)))

    assert json.loads(converted(literal, size)) == meant


@pytest.mark.parametrize(
    "literal", ["{1, 2}", "{'a'}", "{'a', 'b',}", "{('x' 'y')}", "{" + ", ".join(map(repr, range(400))) + "}"]
)
@pytest.mark.parametrize("size", [1, 3, 10_000])
def test_sets_are_arrays(literal: str, size: int) -> None:
    assert sorted(json.loads(converted(literal, size))) == sorted(ast.literal_eval(literal))


@pytest.mark.parametrize(
    "text",
    [
        "01",
        "1 2",
        "1 + 2",
        "f'x'",
        "x",
        "f()",
        "[1,,2]",
        "{'a': }",
        "{'a' 1}",
        "{'a': 1, 'b'}",
        "-'a'",
        "[1)",
        "1j",
        ")",
    ],
)
def test_what_is_no_literal_is_not_read(text: str) -> None:
    _, _, status = PythonValue().convert(text + ",", 0, True)

    assert status == "broken"


@pytest.mark.parametrize(
    ("literal", "closed"),
    [
        ("[1, 'a", [1, "a"]),
        ("{'a': 1, 'b", {"a": 1}),
        ("{'a': 1, 'b'", {"a": 1}),
        ("{'a': 1, 'b': ", {"a": 1}),
        ("{'a': [", {"a": []}),
        ("('a'", "a"),
        ("'a' 'b", "ab"),
        ("'''a'", "a'"),
    ],
)
def test_what_was_read_can_be_closed(literal: str, closed: Any) -> None:
    assert json.loads(converted(literal, 1)) == closed


@pytest.mark.parametrize(
    ("word", "json_text"),
    [("1_0", "10"), ("0x1F", "31"), ("1e999", "null"), ("nan", None), ("01", None), ("1.", "1.0"), ("", None)],
)
def test_numbers(word: str, json_text: str | None) -> None:
    assert number(word) == json_text


@pytest.mark.parametrize(
    ("text", "letters", "json_text"),
    [
        ("3", "i", "3"),
        ("+007", "i", "7"),
        ("-0", "i", "0"),
        ("9" * 40, "i", "9" * 40),
        ("3.0", "i", '"3.0"'),
        ("3", "f", "3"),
        ("3.50", "f", "3.5"),
        ("1e999", "f", '"1e999"'),
        ("TRUE", "b", "true"),
        ("0", "b", "false"),
        ("yes", "b", '"yes"'),
        (" null ", "ns", "null"),
        ("None", "n", "null"),
        ('{"a": 1}', "o", '{"a": 1}'),
        ('["a"]', "o", '"[\\"a\\"]"'),
        ("[1, 2", "a", '"[1, 2"'),
        ("[NaN]", "a", '"[NaN]"'),
        ("[" * 5_000 + "]" * 5_000, "a", None),
        ("3", "is", "3"),
        ("three", "is", '"three"'),
        ("3", "", '"3"'),
        ('"x"', "j", '"x"'),
        ("x", "j", '"x"'),
    ],
)
def test_text_becomes_the_first_type_that_fits(text: str, letters: str, json_text: str | None) -> None:
    assert to_json(text, letters) == (json_text if json_text is not None else json.dumps(text))


@pytest.mark.parametrize(
    ("schema", "letters"),
    [
        ({"type": "integer"}, "i"),
        ({"type": "string"}, None),
        ({}, None),
        ({"type": ["string", "null"]}, "ns"),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, "nf"),
        ({"allOf": [{"type": "bool"}]}, "b"),
        ({"oneOf": [{"type": "dict"}, {"type": "list"}]}, "oa"),
        ({"enum": [1, 2.5, None, "x", True]}, "nifbs"),
        ({"type": "date"}, None),
        ("nonsense", None),
        ({"type": 3, "anyOf": 4, "enum": 5}, None),
    ],
)
def test_the_digest_of_a_schema(schema: Any, letters: str | None) -> None:
    assert digest([tool("f", x=schema)]) == {"f": {"x": letters} if letters else {}}


def test_references_into_the_schema_are_followed() -> None:
    given = tool("f", x={"$ref": "#/$defs/Place"}, y={"$ref": "#/nowhere"}, z={"$ref": "http://x/"})
    given["function"]["parameters"]["$defs"] = {"Place": {"type": "object"}}  # type: ignore[index]

    assert digest([given]) == {"f": {"x": "o"}}


@pytest.mark.parametrize("tools", [None, [], [{}], [{"function": {"name": "f", "parameters": None}}]])
def test_tools_without_schemas_have_an_empty_digest(tools: Any) -> None:
    assert all(types == {} for types in digest(tools).values())


def test_a_schema_that_contains_itself_ends() -> None:
    schema: dict[str, Any] = {"type": "array"}
    schema["anyOf"] = [schema]

    assert digest([tool("f", x=schema)]) == {"f": {"x": "a"}}


@pytest.mark.parametrize("size", [HOLD_LIMIT // 2, 3 * HOLD_LIMIT])
def test_long_values_keep_their_type(size: int) -> None:
    items = json.dumps(["x" * 60] * (size // 64))
    text = f"<tool_call><function=get_weather><parameter=tags>\n{items}\n</parameter></function></tool_call>"

    (call,) = answered("qwen3_coder", None, text).calls

    assert json.loads(call.arguments) == {"tags": json.loads(items)}


def test_a_long_value_that_cannot_be_its_type_is_a_string() -> None:
    value = "so many days " * 200
    text = f"<tool_call><function=get_weather><parameter=days>{value}</parameter></function></tool_call>"

    (call,) = answered("qwen3_coder", None, text).calls

    assert json.loads(call.arguments) == {"days": value}


@pytest.mark.parametrize("wrapper", ["arguments", "input"])
def test_deepseeks_wrapper_of_all_arguments_is_taken_off(wrapper: str) -> None:
    text = (
        '<｜DSML｜function_calls><｜DSML｜invoke name="{}"><｜DSML｜parameter name="{}" string="false">{{"q": "x"}}'
        "</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>"
    )
    own = tool("own", **{wrapper: {"type": "object"}})

    (call,) = answered("deepseek_v32", None, text.format("search", wrapper)).calls
    assert json.loads(call.arguments) == {"q": "x"}
    (call,) = answered("deepseek_v32", None, text.format("own", wrapper), tools=[own]).calls
    assert json.loads(call.arguments) == {wrapper: {"q": "x"}}
