"""Kimi K3: channels opened and closed by special tokens, every argument in a tag that states its type (wire.md 7.4).

<|open|>response<|sep|>text<|close|>response<|sep|>
<|open|>tools<|sep|>
  <|open|>call tool="NAME" index="1"<|sep|>
    <|open|>argument key="KEY" type="TYPE"<|sep|>VALUE<|close|>argument<|sep|>
  <|close|>call<|sep|>
<|close|>tools<|sep|>
<|close|>message<|sep|>
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from renderlayer.constraints.structural_tags import formats
from renderlayer.constraints.structural_tags.formats import Format
from renderlayer.constraints.structural_tags.native import excluded
from renderlayer.constraints.structural_tags.schemas import Schemas
from renderlayer.constraints.structural_tags.tools import Demand, Tool, definitions

_OPEN, _CLOSE, _SEPARATOR = "<|open|>", "<|close|>", "<|sep|>"
_END_OF_MESSAGE = "<|end_of_msg|>"
# JSON type -> the type attribute of an argument.
_TYPES = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
    "object": "object",
    "array": "array",
}
# A character of a raw string: "<" may occur, the beginning of a marker may not.
_CHARACTER = "(?:[^<]|<[^|])"
_MAX_LENGTH = 4096
_MAX_CHOICES = 256


def tool_calls(tools: Sequence[Tool], demand: Demand, single: bool) -> Format:
    """The format of a whole answer behind the reasoning: text, then calls."""
    channel = _channel("tools", formats.separated([_call(tool) for tool in tools], "", single=single))
    # The prompt opens the response itself when thinking is off.
    return formats.sequence(
        formats.optional(formats.const(f"{_OPEN}response{_SEPARATOR}")),
        formats.tag("", formats.any_text((_OPEN, _CLOSE, _END_OF_MESSAGE)), _closing("response")),
        formats.optional(channel) if demand == "auto" else channel,
        formats.optional(formats.const(_closing("message"))),
    )


def _closing(name: str) -> str:
    return f"{_CLOSE}{name}{_SEPARATOR}"


def _channel(name: str, content: Format) -> Format:
    return formats.tag(f"{_OPEN}{name}{_SEPARATOR}", content, _closing(name))


def _call(tool: Tool) -> Format:
    return formats.tag(
        f'{_OPEN}call tool="{_attribute(tool.name)}" index="',
        formats.sequence(formats.regex("[0-9]+"), formats.const(f'"{_SEPARATOR}'), _arguments(tool)),
        _closing("call"),
    )


def _arguments(tool: Tool) -> Format:
    if not isinstance(tool.schema, dict) or not tool.properties:
        return formats.star(_any_argument())
    if tool.held:
        return _held_arguments(tool)
    tables = definitions(tool)
    content = formats.one_of([_argument(name, schema, tables) for name, schema in tool.properties.items()])
    return formats.plus(content) if tool.schema.get("required") else formats.star(content)


def _argument(name: str, schema: Any, tables: dict[str, Any], held: bool = False) -> Format:
    kind = schema.get("type") if isinstance(schema, dict) else None
    if not isinstance(kind, str) or kind not in _TYPES:
        return _any_argument()
    whole = {**tables, **schema}
    excludes = excluded(whole, (_OPEN, _CLOSE, _SEPARATOR)) if held and kind in ("object", "array") else ()
    content = _string(schema) if kind == "string" else formats.json_schema(whole, excludes=excludes)
    return formats.tag(
        f'{_OPEN}argument key="{_attribute(name)}" type="{_TYPES[kind]}"{_SEPARATOR}', content, _closing("argument")
    )


def _held_arguments(tool: Tool) -> Format:
    """Every argument once."""
    assert isinstance(tool.schema, dict)
    schemas, needed = Schemas(tool.schema), tool.schema.get("required") or ()
    parts = []
    for name, schema in (tool.schema.get("properties") or {}).items():
        ways = [_argument(name, way.schema, definitions(tool), held=True) for way in schemas.ways(schema)]
        if ways:
            parts.append(formats.one_of(ways) if name in needed else formats.optional(formats.one_of(ways)))
    return formats.sequence(*parts)


def _any_argument() -> Format:
    return formats.tag(
        f"{_OPEN}argument ",
        formats.sequence(formats.regex(r"[^<]*<\|sep\|>"), formats.any_text((_CLOSE,))),
        _closing("argument"),
    )


def _string(schema: dict[str, Any]) -> Format:
    """A string stands raw between the tags, where a JSON schema cannot reach it."""
    choices = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(choices, list) and 0 < len(choices) <= _MAX_CHOICES and all(map(_writable, choices)):
        return formats.one_of([formats.const(choice) for choice in choices])
    longest, shortest = schema.get("maxLength"), schema.get("minLength", 0)
    if isinstance(longest, int) and 0 <= longest <= _MAX_LENGTH:
        shortest = shortest if isinstance(shortest, int) and 0 <= shortest <= longest else 0
        return formats.regex(f"{_CHARACTER}{{{shortest},{longest}}}")
    return formats.any_text((_CLOSE,))


def _writable(choice: Any) -> bool:
    return isinstance(choice, str) and "<|" not in choice


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;")
