"""Demanded calls of parsers that no structural tag describes: JSON by the tools' schemas, or nothing (wire.md 2.7)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from renderlayer.constraints.adjust import Adjustment, adjust
from renderlayer.constraints.structural_tags.params import params
from renderlayer.errors import BadRequest
from tests.parsers.tools import BOOK_SCHEMA, NAMED, Names, tool


def test_a_demanded_call_without_a_tag_is_a_json_array() -> None:
    nothing = tool("nothing", None)
    change = adjust(Names("jamba"), [tool(), nothing], "required", structured_outputs=params(regex="a"))
    assert change == Adjustment(
        params(
            json={
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "anyOf": [
                        {
                            "properties": {"name": {"type": "string", "enum": ["book"]}, "parameters": BOOK_SCHEMA},
                            "required": ["name", "parameters"],
                        },
                        {
                            "properties": {
                                "name": {"type": "string", "enum": ["nothing"]},
                                "parameters": {"type": "object", "properties": {}},
                            },
                            "required": ["name", "parameters"],
                        },
                    ],
                },
            }
        ),
        skip_special_tokens=False,
    )


def test_definitions_are_hoisted_and_the_tools_are_left_alone() -> None:
    first = {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}}
    second = {"type": "object", "$defs": {"A": {"type": "string"}, "B": {"type": "null"}}}
    tools = [tool("one", first), tool("two", second)]
    before = json.dumps(tools)
    found = adjust(Names("xlam"), tools, "required").structured_outputs
    assert found is not None
    assert found["json"]["$defs"] == {"A": {"type": "string"}, "B": {"type": "null"}}
    entries = found["json"]["items"]["anyOf"]
    assert entries[0]["properties"]["parameters"] == {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}}
    assert entries[1]["properties"]["parameters"] == {"type": "object"}
    assert json.dumps(tools) == before


def test_one_name_for_two_definitions_is_refused() -> None:
    tools = [tool("one", {"$defs": {"A": {"type": "string"}}}), tool("two", {"$defs": {"A": {"type": "null"}}})]
    with pytest.raises(BadRequest, match="Tool definition 'A' has multiple schemas"):
        adjust(Names("xlam"), tools, "required")


@pytest.mark.parametrize(
    ("parameters", "schema"), [(BOOK_SCHEMA, BOOK_SCHEMA), (None, {"type": "object", "properties": {}})]
)
def test_a_named_tool_without_a_tag_is_its_arguments(parameters: Any, schema: Any) -> None:
    tools = [tool("other"), tool(parameters=parameters)]
    assert adjust(Names("pythonic"), tools, NAMED) == Adjustment(params(json=schema))


@pytest.mark.parametrize("choice", ["required", NAMED])
def test_mistral_writes_arguments_where_others_write_parameters(choice: Any) -> None:
    found = adjust(Names("mistral"), [tool(), tool("other")], choice).structured_outputs
    assert found is not None
    schema = found["json"]
    names = [entry["properties"]["name"]["enum"] for entry in schema["items"]["anyOf"]]
    if choice == NAMED:
        assert list(schema) == ["type", "minItems", "maxItems", "items"]
        assert names == [["book"]]
    else:
        assert list(schema) == ["type", "minItems", "items"]
        assert names == [["book"], ["other"]]
    assert schema["items"]["anyOf"][0] == {
        "type": "object",
        "properties": {"name": {"type": "string", "enum": ["book"]}, "arguments": BOOK_SCHEMA},
        "required": ["name", "arguments"],
    }


@pytest.mark.parametrize("parser", ["gemma4", "poolside_v1", "muse", "inkling"])
@pytest.mark.parametrize("choice", ["required", NAMED])
def test_parsers_that_read_their_own_format_only_are_not_given_json(parser: str, choice: Any) -> None:
    assert adjust(Names(parser), [tool()], choice) == Adjustment(None, skip_special_tokens=False)


def test_mistral_constrains_nothing_where_a_named_tool_is_not_there() -> None:
    assert adjust(Names("mistral"), [tool("other")], NAMED).structured_outputs is None


@pytest.mark.parametrize("choice", ["required", NAMED])
def test_mistral_lets_a_tool_without_schema_have_any_arguments(choice: Any) -> None:
    bare = {"type": "function", "function": {"name": "book", "description": None, "parameters": None}}
    constraint = adjust(Names("mistral"), [bare], choice).structured_outputs
    assert constraint is not None
    assert constraint["json"]["items"]["anyOf"][0]["properties"]["arguments"] == {"type": "object"}


@pytest.mark.parametrize("parser", ["hermes", "jamba"])
def test_a_named_tool_that_is_not_there_is_refused(parser: str) -> None:
    with pytest.raises(BadRequest, match="book"):
        adjust(Names(parser), [tool("other")], NAMED)
