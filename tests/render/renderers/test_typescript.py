"""JSON schemas as TypeScript, member by member."""

from __future__ import annotations

from typing import Any

import pytest

from renderlayer.render.renderers.typescript import typescript


def member(schema: Any) -> str:
    """What an optional member of this schema becomes."""
    text = typescript({"type": "object", "properties": {"x": schema}})
    return text.removeprefix("{\n").removesuffix("\n}")


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string"}, "string"),
        ({"type": "integer"}, "number"),
        ({"type": "number"}, "number"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "null"}, "any"),
        ({"type": "string", "enum": ["a", "é", 1]}, '"a" | "é"'),
        ({"type": "string", "enum": []}, "string"),
        ({"type": ["integer", "string", "null"]}, "number | string | null"),
        ({"type": []}, "any"),
        ({"type": "array"}, "Array<any>"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "string"}}}, "string[][]"),
        ({"type": "object"}, "{\n}"),
        ({"anyOf": [{"type": "string"}]}, "any"),
        ({"$ref": "#/$defs/thing"}, "any"),
        ({}, "any"),
        (True, "any"),
        (
            {"oneOf": [{"type": "string", "description": "one", "default": "a"}, {"type": "number", "nullable": True}]},
            '\n | string // one default: "a"\n | number | null',
        ),
    ],
)
def test_types(schema: Any, text: str) -> None:
    assert typescript(schema) == text


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string"}, "x?: string,"),
        ({"type": "string", "description": "what it is"}, "// what it is\nx?: string,"),
        ({"type": "string", "title": "X"}, "// X\n//\nx?: string,"),
        ({"type": "string", "examples": ["a", 1, 'b"']}, '// Examples:\n// - "a"\n// - "b""\nx?: string,'),
        ({"type": "string", "nullable": True}, "x?: string | null,"),
        ({"type": ["string", "null"], "nullable": True}, "x?: string | null,"),
        ({"type": "string", "default": 'a"b'}, 'x?: string, // default: "a"b"'),
        ({"type": "string", "enum": ["a"], "default": "a"}, 'x?: "a", // default: a'),
        ({"type": "integer", "default": None}, "x?: number, // default: null"),
        ({"type": "number", "default": 1e16}, "x?: number, // default: 1e+16"),
        ({"type": "number", "default": 10**25}, "x?: number, // default: 1e+25"),
        ({"default": [1.0, "é", {"k": [True]}]}, 'x?: any, // default: [1.0,"é",{"k":[true]}]'),
        (
            {"oneOf": [{"type": "string", "description": "same"}, {"type": "number"}], "description": "same"},
            "x?:\n | string\n | number\n,",
        ),
        (
            {
                "oneOf": [{"type": "string", "description": "own"}, {"default": 1}],
                "description": "whole",
                "default": "d",
            },
            '// whole\n// default: "d"\nx?:\n | string\n | any // default: 1\n,',
        ),
    ],
)
def test_members(schema: Any, text: str) -> None:
    assert member(schema) == text


def test_nested_objects_are_indented_and_required_members_known() -> None:
    inner = {"type": "object", "description": "inside", "properties": {"b": {"type": "string"}}, "required": ["b"]}
    schema = {"type": "object", "properties": {"a": inner}, "required": ["a", 7]}
    assert typescript(schema) == "{\n// inside\na:     // inside\n{\n    b: string,\n    },\n}"


def test_numbers_beyond_every_float_do_not_fail() -> None:
    assert member({"default": 10**400}).startswith("x?: any, // default: 1.7976931348623157e+308")
