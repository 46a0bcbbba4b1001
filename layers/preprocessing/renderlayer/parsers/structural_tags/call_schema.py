"""JSON schemas of demanded calls, for parsers without a structural tag (wire.md 2.7 step 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from renderlayer.errors import BadRequest

Schema = dict[str, Any]
Dumps = Sequence[dict[str, Any]]


def arguments(tools: Dumps, name: str) -> Schema:
    """The schema of a named tool's arguments: the answer is these and nothing else.

    Raises:
        BadRequest: no tool has that name.
    """
    return _parameters(_functions(tools, name)[0])


def calls(tools: Dumps) -> Schema:
    """The schema of one call or more: `[{"name": …, "parameters": …}]`.

    Raises:
        BadRequest: two tools define different things under one name.
    """
    functions = _functions(tools, None)
    entries = [
        {
            "properties": {"name": _exactly(function["name"]), "parameters": _without_definitions(function)},
            "required": ["name", "parameters"],
        }
        for function in functions
    ]
    schema: Schema = {"type": "array", "minItems": 1, "items": {"type": "object", "anyOf": entries}}
    found = _definitions(functions)
    return {**schema, "$defs": found} if found else schema


def mistral_calls(tools: Dumps, name: str | None) -> Schema:
    """The schema of Mistral's older format, `[{"name": …, "arguments": …}]`; exactly one call of a named tool.

    Raises:
        BadRequest: no tool has that name, or two tools define different things under one name.
    """
    functions = _functions(tools, name)
    entries = [
        {
            "type": "object",
            "properties": {"name": _exactly(function["name"]), "arguments": _without_definitions(function)},
            "required": ["name", "arguments"],
        }
        for function in functions
    ]
    schema: Schema = {"type": "array", "minItems": 1}
    if name is not None:
        schema["maxItems"] = 1
    schema["items"] = {"type": "object", "anyOf": entries}
    found = _definitions(functions)
    return {**schema, "$defs": found} if found else schema


def _functions(tools: Dumps, name: str | None) -> list[Schema]:
    functions = [tool["function"] for tool in tools if name is None or tool["function"]["name"] == name]
    if not functions:
        raise BadRequest(f"Tool '{name}' has not been passed in `tools`.", "tool_choice")
    return functions


def _exactly(name: str) -> Schema:
    return {"type": "string", "enum": [name]}


def _parameters(function: Schema) -> Schema:
    """The tool's schema; arguments of a tool that declares none are an empty object, not any JSON."""
    return function.get("parameters") or {"type": "object", "properties": {}}


def _without_definitions(function: Schema) -> Schema:
    return {key: value for key, value in _parameters(function).items() if key != "$defs"}


def _definitions(functions: Sequence[Schema]) -> Schema:
    """The `$defs` of all tools in one table, for they are found from the top of a schema only."""
    found: Schema = {}
    for function in functions:
        for name, schema in (_parameters(function).get("$defs") or {}).items():
            if name in found and found[name] != schema:
                raise BadRequest(f"Tool definition '{name}' has multiple schemas, which is not supported.", "tools")
            found[name] = schema
    return found
