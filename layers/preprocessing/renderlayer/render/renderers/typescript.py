"""JSON schemas as TypeScript types, the form in which harmony shows tools to the model (wire.md 3.8).

The forms are those of OpenAI's harmony library, comment by comment, since the model was trained on them:

    type get_weather = (_: {
    // City name
    city: string,
    unit?: "c" | "f", // default: c
    }) => any;

What has no TypeScript form there (`anyOf`, `$ref`, bare `enum`, …) is `any`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import orjson

_INT64_MIN, _UINT64_MAX = -(2**63), 2**64 - 1
_FLOAT_MAX = int(sys.float_info.max)
_SIMPLE = {"number": "number", "integer": "number", "boolean": "boolean"}


def typescript(schema: Any, indent: str = "") -> str:
    """The type that a schema describes.

    Args:
        schema: a JSON schema; whatever is no object is `any`.
        indent: white space before the lines of an object's members.
    """
    if not isinstance(schema, dict):
        return "any"
    variants = schema.get("oneOf")
    if isinstance(variants, list):
        return "".join(f"\n{indent} | {_variant(variant, indent)}" for variant in variants)
    kind = schema.get("type")
    if isinstance(kind, list) and (names := [name for name in kind if isinstance(name, str)]):
        return " | ".join("number" if name == "integer" else name for name in names)
    if kind == "object":
        return _object(schema, indent)
    if kind == "array":
        return f"{typescript(schema['items'], indent)}[]" if "items" in schema else "Array<any>"
    if kind == "string":
        return " | ".join(f'"{value}"' for value in _strings(schema.get("enum"))) or "string"
    return _SIMPLE.get(kind, "any") if isinstance(kind, str) else "any"


def _object(schema: dict[str, Any], indent: str) -> str:
    description = _text(schema, "description")
    members = schema.get("properties")
    required = set(_strings(schema.get("required")))
    lines = [f"{indent}// {description}\n"] if description is not None else []
    lines.append("{\n")
    for name, member in members.items() if isinstance(members, dict) else ():
        lines += _member(name + ("" if name in required else "?"), member, indent)
    return "".join([*lines, indent, "}"])


def _member(label: str, schema: Any, indent: str) -> Iterator[str]:
    """The lines of a member: comments, and its label with its type."""
    if (title := _text(schema, "title")) is not None:
        yield f"{indent}// {title}\n{indent}//\n"
    one_of = schema.get("oneOf") if isinstance(schema, dict) else None
    description = _text(schema, "description")
    if description is not None and one_of is None:
        yield f"{indent}// {description}\n"
    if isinstance(schema, dict) and isinstance(examples := schema.get("examples"), list) and examples:
        yield f"{indent}// Examples:\n"
        yield from (f'{indent}// - "{example}"\n' for example in _strings(examples))
    if isinstance(one_of, list):
        yield from _one_of_member(label, schema, one_of, description, indent)
        return
    comment = _default(schema) if one_of is None else None
    shown = "" if comment is None else f" // {comment}"
    yield f"{indent}{label}: {_nullable(schema, indent + '    ')},{shown}\n"


def _one_of_member(
    label: str, schema: dict[str, Any], variants: list[Any], description: str | None, indent: str
) -> Iterator[str]:
    """A member with alternatives, a line each. Their descriptions follow them, unless they say what stands above."""
    first = _text(variants[0], "description") if variants else None
    above = description is not None and description != first
    if above:
        yield f"{indent}// {description}\n"
    if (default := _default(schema)) is not None:
        yield f"{indent}// {default}\n"
    yield f"{indent}{label}:\n"
    for index, variant in enumerate(variants):
        own = _text(variant, "description")
        silent = (index == 0 and above) or own == description
        comments = [text for text in (None if silent else own, _default(variant)) if text is not None]
        shown = f" // {' '.join(comments)}" if comments else ""
        yield f"{indent} | {_nullable(variant, indent + '   ')}{shown}\n"
    yield f"{indent},\n"


def _variant(schema: Any, indent: str) -> str:
    """An alternative of a schema that is no member: its description and default follow it."""
    comments = [text for text in (_text(schema, "description"), _default(schema, bare=False)) if text is not None]
    shown = f" // {' '.join(comments)}" if comments else ""
    return _nullable(schema, indent + "   ") + shown


def _nullable(schema: Any, indent: str) -> str:
    text = typescript(schema, indent)
    nullable = isinstance(schema, dict) and schema.get("nullable") is True
    return f"{text} | null" if nullable and "null" not in text else text


def _default(schema: Any, bare: bool = True) -> str | None:
    """The comment that tells the default; strings among an enumeration stand bare or as JSON."""
    if not isinstance(schema, dict) or "default" not in schema:
        return None
    value = schema["default"]
    if not isinstance(value, str):
        return f"default: {_json(value)}"
    listed = schema.get("enum")
    if not (isinstance(listed, list) and listed):
        return f'default: "{value}"'
    return f"default: {value}" if bare else f"default: {_json(value)}"


def _json(value: Any) -> str:
    """Compact JSON; integers beyond 64 bits become floats."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_json(str(key))}:{_json(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json, value)) + "]"
    if isinstance(value, int) and not _INT64_MIN <= value <= _UINT64_MAX:
        value = float(max(-_FLOAT_MAX, min(_FLOAT_MAX, value)))
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return orjson.dumps(value).decode()


def _text(schema: Any, key: str) -> str | None:
    value = schema.get(key) if isinstance(schema, dict) else None
    return value if isinstance(value, str) else None


def _strings(values: Any) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []
