"""JSON schemas taken apart: references followed, and the ways in which a value may fit (JSON Schema 2020-12)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

Schema = dict[str, Any]

TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
_TURNS = 2
"""How often a schema may lie inside itself."""
_MOST_WAYS = 64
_SAY_NOTHING = ("$ref", "title", "description", "default", "examples")


class Impossible(Exception):
    """No value fits."""


class Way(NamedTuple):
    """One of the ways in which a value may fit.

    Attributes:
        schema: without alternatives and references.
        places: the references that led to it.
    """

    schema: Schema
    places: tuple[str, ...] = ()


class Schemas:
    """A schema's parts, read with what it defines.

    Args:
        root: the schema that holds `$defs` or `definitions`.
    """

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._open: list[str] = []
        self._tables = {key: root[key] for key in ("$defs", "definitions") if isinstance(root.get(key), dict)}

    @contextmanager
    def inside(self, way: Way) -> Iterator[None]:
        """Read the parts of a value that fits in this way.

        Raises:
            Impossible: the schema lies in itself too often.
        """
        if any(self._open.count(place) >= _TURNS for place in way.places):
            raise Impossible
        self._open += way.places
        try:
            yield
        finally:
            del self._open[len(self._open) - len(way.places) :]

    def whole(self, schema: Schema) -> Schema:
        """A part that can stand alone: with the definitions that it may refer to."""
        return {**self._tables, **schema}

    def ways(self, schema: Any, places: tuple[str, ...] = ()) -> Iterator[Way]:
        """All ways; none for `false`, one that says nothing for `true`. Of `allOf`, all parts are joined."""
        while isinstance(schema, dict) and isinstance(schema.get("$ref"), str):
            place = schema["$ref"]
            if place in places:
                return
            beside = {name: value for name, value in schema.items() if name not in _SAY_NOTHING}
            schema, places = self._at(place), (*places, place)
            schema = _joined(schema, beside) if beside and isinstance(schema, dict) else schema
        if schema is False:
            return
        if not isinstance(schema, dict):
            yield Way({}, places)
            return
        for name in ("allOf", "anyOf", "oneOf"):
            if isinstance(schema.get(name), list):
                yield from self._branches(name, schema, places)
                return
        if isinstance(schema.get("type"), list):
            for kind in schema["type"]:
                yield Way({**schema, "type": kind}, places)
            return
        yield Way(schema, places)

    def _branches(self, name: str, schema: Schema, places: tuple[str, ...]) -> Iterator[Way]:
        base = {keyword: value for keyword, value in schema.items() if keyword != name}
        if name != "allOf":
            for entry in schema[name]:
                for way in self.ways(entry, places):
                    yield from self.ways(_joined(base, way.schema), way.places)
            return
        found = [Way(base, places)]
        for entry in schema[name]:
            found = [
                Way(_joined(way.schema, more.schema), more.places)
                for way in found
                for more in self.ways(entry, way.places)
            ][:_MOST_WAYS]
        for way in found:
            yield from self.ways(*way)

    def _at(self, place: str) -> Any:
        """The schema at a JSON pointer into the whole; one that leads nowhere says nothing."""
        found: Any = self._root
        for step in place.removeprefix("#").split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            found = found.get(step) if isinstance(found, dict) else None
        return found if isinstance(found, dict | bool) and place.startswith("#") else True


def _joined(one: Schema, other: Schema) -> Schema:
    """Both schemas in one: members and what is required of both, else what the second says."""
    out = {**one, **other}
    if isinstance(one.get("properties"), dict) and isinstance(other.get("properties"), dict):
        out["properties"] = {**one["properties"], **other["properties"]}
    if isinstance(one.get("required"), list) and isinstance(other.get("required"), list):
        out["required"] = [*one["required"], *(name for name in other["required"] if name not in one["required"])]
    return out
