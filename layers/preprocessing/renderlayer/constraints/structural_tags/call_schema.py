"""JSON schemas of demanded calls, for parsers without a structural tag (wire.md 2.7 step 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.wire.chat_tools import in_json

Schema = dict[str, Any]
Dumps = Sequence[dict[str, Any]]
NO_ARGUMENTS: Schema = {"type": "object", "properties": {}}
"""Arguments of a tool that declares none: an empty object, not any JSON."""


def arguments(tools: Dumps, name: str) -> Schema:
    """The schema of a named tool's arguments, of the last one of that name: the answer is these and nothing else.

    Raises:
        BadRequest: no tool has that name.
    """
    found: Schema = in_json(_functions(tools, name)[-1].get("parameters") or NO_ARGUMENTS)
    return found


def calls(tools: Dumps) -> Schema:
    """The schema of one call or more: `[{"name": …, "parameters": …}]`.

    Raises:
        BadRequest: two tools define different things under one name.
    """
    functions = _functions(tools, None)
    entries = [
        {
            "properties": {"name": _exactly(function["name"]), "parameters": _bare(function, NO_ARGUMENTS)},
            "required": ["name", "parameters"],
        }
        for function in functions
    ]
    schema: Schema = {"type": "array", "minItems": 1, "items": {"type": "object", "anyOf": entries}}
    found = _definitions(functions)
    return {**schema, "$defs": found} if found else schema


def mistral_calls(tools: Dumps, name: str | None) -> Schema | None:
    """The schema of Mistral's older format, `[{"name": …, "arguments": …}]`; exactly one call of a named tool.

    Returns:
        None when no tool has that name: Messages, unlike chat, lets such a choice pass, and nothing is constrained.

    Raises:
        BadRequest: two tools define different things under one name.
    """
    functions = [tool["function"] for tool in tools if name is None or tool["function"]["name"] == name]
    if not functions:
        return None
    entries = [
        {
            "type": "object",
            "properties": {"name": _exactly(function["name"]), "arguments": _bare(function, {"type": "object"})},
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


def _bare(function: Schema, absent: Schema) -> Schema:
    """The tool's schema, or `absent` where it declares none, without the definitions that stand at the top."""
    return {key: value for key, value in in_json(function.get("parameters") or absent).items() if key != "$defs"}


def _definitions(functions: Sequence[Schema]) -> Schema:
    """The `$defs` of all tools in one table, for they are found from the top of a schema only."""
    found: Schema = {}
    for function in functions:
        for name, schema in ((function.get("parameters") or {}).get("$defs") or {}).items():
            if name in found and found[name] != schema:
                raise BadRequest(f"Tool definition '{name}' has multiple schemas, which is not supported.", "tools")
            found[name] = schema
    return found
