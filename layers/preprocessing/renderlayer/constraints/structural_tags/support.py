"""Which constraints xgrammar, which reads structural tags, can hold an answer to (wire.md 2.7 step 4).

What it cannot hold stays a constraint of its own, for which the engine has other backends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from renderlayer.constraints.structural_tags.params import Params, as_format, constrains
from renderlayer.errors import BadRequest

_TYPES = {"string", "number", "integer", "boolean", "null", "array", "object"}
_FORMATS = {
    *("email", "date", "time", "date-time", "duration", "ipv4", "ipv6", "hostname", "uuid"),
    *("uri", "uri-reference", "uri-template", "json-pointer", "relative-json-pointer"),
}
_UNHELD_OF_ARRAYS = ("uniqueItems", "contains", "minContains", "maxContains")


def supported(given: Params) -> bool:
    """Whether a constraint is one that a structural tag can have beside calls.

    Regular expressions are judged by Python's grammar, grammars not at all.
    """
    if not constrains(given) or given["choice"] == []:
        return False
    try:
        as_format(given)
        if given["regex"] is not None:
            re.compile(given["regex"])
        if given["json"] is not None:
            schema = json.loads(given["json"]) if isinstance(given["json"], str) else given["json"]
            return isinstance(schema, dict) and all(map(_held, _schemas(schema)))
    except (BadRequest, re.error, RecursionError):
        return False
    return given["regex"] is None or "\x00" not in given["regex"]


def _schemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All objects in a schema: those that are no schemas are read as if they were, as the reference reads them."""
    yield schema
    for value in schema.values():
        for entry in value if isinstance(value, list) else [value]:
            if isinstance(entry, dict):
                yield from _schemas(entry)


def _held(schema: dict[str, Any]) -> bool:
    named = schema.get("type")
    listed = named if isinstance(named, list) else [named]
    types = {kind for kind in listed if isinstance(kind, str)}
    if not types <= _TYPES:
        return False
    unheld = (
        bool(types & {"integer", "number"}) and "multipleOf" in schema,
        "array" in types and any(key in schema for key in _UNHELD_OF_ARRAYS),
        "string" in types and ("format" in schema and schema["format"] not in _FORMATS),
        "string" in types and _bounded_pattern(schema),
        "object" in types and ("propertyNames" in schema and not _names_held(schema)),
        "object" in types and not _patterns_held(schema),
        isinstance(schema.get("allOf"), list) and len(schema["allOf"]) > 1,
    )
    return not any(unheld)


def _bounded_pattern(schema: dict[str, Any]) -> bool:
    return ("pattern" in schema or "format" in schema) and ("minLength" in schema or "maxLength" in schema)


def _names_held(schema: dict[str, Any]) -> bool:
    names = schema["propertyNames"]
    if isinstance(names, dict) and _bounded_pattern(names):
        return False
    beside = "patternProperties" in schema or "properties" in schema
    return not beside and schema.get("unevaluatedProperties", True) is True


def _patterns_held(schema: dict[str, Any]) -> bool:
    patterns = schema.get("patternProperties")
    return not isinstance(patterns, dict) or ("properties" not in schema and len(patterns) < 2)
