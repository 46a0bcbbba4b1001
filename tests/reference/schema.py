"""The fields of a pydantic model as plain rows, to compare two models of one body.

Imports nothing of this project: `dump.py` runs it in the reference's environment.
"""

from __future__ import annotations

from typing import Any

Json = Any
BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "minItems", "maxItems")


def rows(schema: dict[str, Json]) -> dict[str, dict[str, Json]]:
    """Name → what is known of a field: types, allowed values, types of items, bounds, default, whether it is required.

    Args:
        schema: of a model, as `model_json_schema` gives it.
    """
    definitions, required = schema.get("$defs", {}), schema.get("required", [])
    out = {}
    for name, field in sorted(schema.get("properties", {}).items()):
        row = _row(field, definitions)
        if "default" in field:
            row["default"] = field["default"]
        if name in required:
            row["required"] = True
        out[name] = row
    return out


def _row(field: dict[str, Json], definitions: dict[str, Json]) -> dict[str, Json]:
    """What alternatives of a field amount to together."""
    types: set[str] = set()
    values: set[str] = set()
    items: set[str] = set()
    bounds: dict[str, Json] = {}
    free = False
    for option in _options(field, definitions):
        kind = option.get("type")
        types |= {kind} if isinstance(kind, str) else set(kind or ())
        listed = option.get("enum") or ([option["const"]] if "const" in option else [])
        values |= {str(value) for value in listed}
        free = free or (kind == "string" and not listed)
        held = option.get("items") or option.get("additionalProperties")
        for inner in _options(held, definitions) if isinstance(held, dict) else ():
            items.add(inner.get("type") or "any")
        bounds |= {key: option[key] for key in BOUNDS if key in option}
    if "number" in types:
        types.discard("integer")
    found = {"values": [] if free else sorted(values), "items": sorted(items), "bounds": bounds}
    return {"types": sorted(types) or ["any"], **{key: value for key, value in found.items() if value}}


def _options(field: dict[str, Json], definitions: dict[str, Json]) -> list[dict[str, Json]]:
    """The alternatives of a field, references followed."""
    if "$ref" in field:
        return _options(definitions[field["$ref"].rpartition("/")[2]], definitions)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in field:
            return [option for entry in field[key] for option in _options(entry, definitions)]
    return [field]
