"""The tools of a request, as the tag builders see them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from renderlayer.errors import BadRequest
from renderlayer.wire.chat_tools import in_json, is_strict

# Structural-tag models that are programmed; the others are rows of `families.FAMILIES`.
HARMONY, KIMI_K3 = "harmony", "kimi_k3"
HUNYUAN, HUNYUAN_FRAME, MUSE = "hy_v4", "hy_v4_frame", "muse"

Schema = dict[str, Any] | bool
# Whether the model may call a tool, must call one, or must call a named one (which is then the only tool).
Demand = Literal["auto", "required", "named"]

# Characters of a structural tag that an engine is still asked to compile, and what a call or an argument adds to its
# own schema at most. Twenty thousand tools stay below; what is above would not compile in any useful time.
MAX_TAG_CHARS = 64 << 20
_CHARS_PER_PART = 400
_SAYS_TYPE = frozenset({"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"})


@dataclass(frozen=True)
class Tool:
    """A function that the model may call.

    Attributes:
        schema: what its arguments are held to; True is any JSON.
        parameters: the schema it was declared with, or None.
        held: every argument that the schema requires must come, and none twice; the reference is laxer in some formats.
    """

    name: str
    schema: Schema
    parameters: dict[str, Any] | None
    held: bool = False

    @property
    def json_schema(self) -> Schema:
        """What arguments are held to that are written as JSON."""
        found: Schema = in_json(self.schema)
        return found

    @property
    def properties(self) -> dict[str, Any]:
        """The declared arguments by name; empty when the schema does not list them."""
        found = (self.parameters or {}).get("properties")
        return found if isinstance(found, dict) else {}


def read_tools(tools: Sequence[dict[str, Any]], name: str | None, all_strict: bool, held: bool = False) -> list[Tool]:
    """The tools that may be called, from their dumps.

    Args:
        tools: dumped tools (wire.md 2.7).
        name: the named tool, or None for all.
        all_strict: hold every tool's arguments to its schema, as if each were strict.
        held: hold every tool's arguments to its schema, or where it says `"strict": false` to that schema's shape;
            without a schema they are an object.

    Raises:
        BadRequest: no tool has that name.
    """
    found = []
    for tool in tools:
        function = tool["function"]
        if name is None or function["name"] == name:
            parameters = function.get("parameters")
            strict = parameters is not None and (all_strict or is_strict(tool))
            schema: Schema = parameters if strict else True
            if held:
                lax = function.get("strict") is False and not strict
                schema = _object(shape(parameters or {}) if lax else parameters or {})
            found.append(Tool(function["name"], schema, parameters, held))
    if not found:
        raise BadRequest(f"The tool with name '{name}' is not found in the tools list.")
    return found


def _object(parameters: dict[str, Any]) -> dict[str, Any]:
    """A schema of arguments; where it leaves open what they are, they are an object."""
    return parameters if parameters.keys() & _SAYS_TYPE else {"type": "object", **parameters}


def shape(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without the keywords that engines' grammars may not know.

    Example:
        >>> shape({"type": "array", "items": {"type": "string", "pattern": "(?=a)"}, "uniqueItems": True})
        {'type': 'array', 'items': {'type': 'string'}}
    """
    return {name: _SHAPES[name](value) for name, value in schema.items() if name in _SHAPES}


def _same(value: Any) -> Any:
    return value


def _schema(value: Any) -> Any:
    return shape(value) if isinstance(value, dict) else value


def _schemas(value: Any) -> Any:
    if isinstance(value, list):
        return [_schema(entry) for entry in value]
    return {name: _schema(entry) for name, entry in value.items()} if isinstance(value, dict) else value


# Keyword -> what becomes of its value.
_SHAPES: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(
        ("type", "enum", "const", "required", "$ref", "minItems", "maxItems", "minLength", "maxLength"), _same
    ),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _same),
    **dict.fromkeys(("items", "additionalProperties"), _schema),
    **dict.fromkeys(("properties", "$defs", "definitions", "prefixItems", "anyOf", "oneOf", "allOf"), _schemas),
}


def check_size(tools: Sequence[Tool], spellings: int, per_property: bool) -> None:
    """Refuse tools whose structural tag would be unreasonably large, before it is built.

    Args:
        spellings: how often each call is written in the tag.
        per_property: whether every argument gets a format of its own (which may repeat the schema's definitions).

    Raises:
        BadRequest: it would have more than MAX_TAG_CHARS.
    """
    total = 0
    for tool in tools:
        size = _CHARS_PER_PART + len(tool.name)
        if isinstance(tool.schema, dict):
            size += len(json.dumps(tool.schema))
        if per_property:
            size += len(tool.properties) * (_CHARS_PER_PART + _definitions_size(tool))
        total += size * spellings
        if total > MAX_TAG_CHARS:
            raise BadRequest("The tools are too many or too large to constrain the calls.", "tools")


def _definitions_size(tool: Tool) -> int:
    return len(json.dumps(definitions(tool))) if isinstance(tool.schema, dict) else 0


def definitions(tool: Tool) -> dict[str, Any]:
    """The tables in the tool's schema that references of its properties point to."""
    parameters = tool.parameters or {}
    return {key: parameters[key] for key in ("$defs", "definitions") if isinstance(parameters.get(key), dict)}
