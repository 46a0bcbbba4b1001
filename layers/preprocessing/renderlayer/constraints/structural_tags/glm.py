"""Arguments of GLM: keys and values between tags, strings without quotes (wire.md 7.4).

A strict tool's schema goes to the engine, which knows this markup; a held tool's becomes a grammar here, for the engine
lets white space stand round a value, which is part of a string. Other tools are still held to their argument names
and to the first level of types, so that a value can be told from a key and numbers stay numbers.
"""

from __future__ import annotations

import json
from typing import Any

from renderlayer.constraints.structural_tags import formats
from renderlayer.constraints.structural_tags.formats import Format
from renderlayer.constraints.structural_tags.native import Notation
from renderlayer.constraints.structural_tags.tools import Tool

MARKERS = (
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
)
_NOTATION = Notation(
    before="<arg_key>", between="</arg_key><arg_value>", after="</arg_value>", excludes=("<tool_call>", "</tool_call>")
)
_SAY_MORE = {"$ref", "allOf", "anyOf", "oneOf", "patternProperties"}
_JSON_TYPES = ("number", "integer", "boolean", "null", "array", "object")


def arguments(tool: Tool) -> Format:
    """The format of the arguments of one call."""
    if tool.held:
        return _NOTATION.arguments(tool)
    properties = _plain_properties(tool.parameters or {})
    if isinstance(tool.schema, dict) or not properties:
        return formats.json_schema(tool.schema, "glm_xml")
    pairs = [_pair(name, schema) for name, schema in properties.items()]
    return formats.star(formats.one_of(pairs))


def _plain_properties(parameters: dict[str, Any]) -> dict[str, Any]:
    """The members of a schema that says nothing else of them."""
    found = parameters.get("properties")
    plain = isinstance(found, dict) and parameters.get("additionalProperties") is not True
    return found if plain and not parameters.keys() & _SAY_MORE else {}  # type: ignore[return-value]


def _pair(name: str, schema: Any) -> Format:
    return formats.sequence(
        formats.const(f"<arg_key>{name}</arg_key><arg_value>"), _value(schema), formats.const("</arg_value>")
    )


def _value(schema: Any) -> Format:
    if not isinstance(schema, dict):
        return _text()
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return formats.one_of([formats.const(_spelled(choice)) for choice in choices])
    types = schema.get("type")
    if isinstance(types, list) and types:
        others = [_of_type(entry) for entry in types if entry != "string"]
        return formats.one_of([*others, *([_text()] if "string" in types else [])])
    return _of_type(types)


def _of_type(name: Any) -> Format:
    return formats.json_schema({"type": name}) if name in _JSON_TYPES else _text()


def _text() -> Format:
    return formats.any_text(MARKERS)


def _spelled(choice: Any) -> str:
    return choice if isinstance(choice, str) else json.dumps(choice)
