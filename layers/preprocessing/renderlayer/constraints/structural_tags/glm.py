"""Arguments of GLM: keys and values between tags, strings without quotes (wire.md 7.4).

A strict tool's schema goes to the engine, which knows this markup. Other tools are still held to their argument names
and to the first level of types, so that a value can be told from a key and numbers stay numbers.
"""

from __future__ import annotations

from typing import Any

from renderlayer.constraints.structural_tags import formats
from renderlayer.constraints.structural_tags.formats import Format
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
_JSON_TYPES = ("number", "integer", "boolean", "null", "array", "object")


def arguments(tool: Tool) -> Format:
    """The format of the arguments of one call."""
    if isinstance(tool.schema, dict) or not tool.properties:
        return formats.json_schema(tool.schema, "glm_xml")
    pairs = [_pair(name, schema) for name, schema in tool.properties.items()]
    return formats.star(formats.one_of(pairs))


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
        return formats.one_of([_of_type(entry) for entry in types])
    return _of_type(types)


def _of_type(name: Any) -> Format:
    return formats.json_schema({"type": name}) if name in _JSON_TYPES else _text()


def _text() -> Format:
    return formats.any_text(MARKERS)


def _spelled(choice: Any) -> str:
    if isinstance(choice, bool):
        return "true" if choice else "false"
    return str(choice)
