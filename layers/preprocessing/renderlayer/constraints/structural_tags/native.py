"""Arguments in notations of models' own, held to a JSON schema where engines have no style for them (wire.md 7.4).

Every member stands once. What no text can be held to (`uniqueItems`, `multipleOf`, …) is left to the model, as engines
do. A schema that leads back to itself is followed once, and its second turn left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from renderlayer.constraints.structural_tags import formats
from renderlayer.constraints.structural_tags.formats import Format
from renderlayer.constraints.structural_tags.schemas import TYPES, Impossible, Schemas
from renderlayer.constraints.structural_tags.tools import Tool
from renderlayer.errors import BadRequest

_COMPOSITE = ("object", "array")
_CLASS = re.compile(r"([\]\\^-])")
_BOUND = re.compile(r'"(minLength|maxLength|pattern)":')
_ANY_KEY = "[A-Za-z_][A-Za-z0-9_]*"
_NAME = "{name}"
_UNTYPED_DEPTH = 1
_MAX_LENGTH = 4096
_MAX_FORMATS = 50_000


@dataclass(frozen=True)
class Notation:
    """How arguments are written.

    Attributes:
        before, between, after: a member is before + name + between + value + after; `after` may hold `{name}`.
        opening, closing: round the members.
        separator: between members and items.
        quotes: before and behind a string; empty where strings stand bare.
        nested: objects and lists are written like the arguments; else as JSON.
        excludes: what a string may not contain, beside what ends it.
    """

    before: str = ""
    between: str = ""
    after: str = ""
    opening: str = ""
    closing: str = ""
    separator: str = ""
    quotes: tuple[str, str] = ("", "")
    nested: bool = False
    excludes: tuple[str, ...] = ()

    def arguments(self, tool: Tool) -> Format:
        """The format of a call's arguments.

        Raises:
            BadRequest: the schema is too large, or nothing fits it.
        """
        schema = tool.schema if isinstance(tool.schema, dict) else {"type": "object"}
        try:
            found = next(_Writer(self, Schemas(schema)).objects(schema), None)
        except Impossible:
            found = None
        if found is None:
            raise BadRequest(f"No arguments can be written that fit the schema of {tool.name[:64]!r}.", "tools")
        return found


class _Writer:
    def __init__(self, notation: Notation, schemas: Schemas) -> None:
        self._form = notation
        self._schemas = schemas
        self._ends = (notation.quotes[1] or notation.after, *notation.excludes)
        self._count = self._depth = 0

    def objects(self, schema: Any) -> Iterator[Format]:
        """One format for all objects that fit a schema, if any do."""
        found = [
            self._object(way.schema)
            for way in self._schemas.ways(schema)
            if "object" in (_types(way.schema) or TYPES) and not way.schema.keys() & {"enum", "const"}
        ]
        if found:
            yield formats.one_of(found)

    def _value(self, schema: Any) -> Format:
        """A value that fits."""
        self._count += 1
        if self._count > _MAX_FORMATS:
            raise BadRequest("The tools are too many or too large to constrain the calls.", "tools")
        found: list[Format] = []
        self._depth += 1
        for way in self._schemas.ways(schema):
            try:
                with self._schemas.inside(way):
                    found += self._fitting(way.schema)
            except Impossible:
                continue
        self._depth -= 1
        if not found:
            raise Impossible
        return formats.one_of(found)

    def _fitting(self, schema: dict[str, Any]) -> Iterator[Format]:
        if "const" in schema or isinstance(schema.get("enum"), list):
            yield from self._choices([schema["const"]] if "const" in schema else schema["enum"])
            return
        types = _types(schema)
        if not types and not self._form.nested:
            yield formats.any_text(self._ends)
            return
        for kind in types or self._untyped():
            try:
                yield self._of(kind, schema)
            except Impossible:
                continue

    def _untyped(self) -> Sequence[str]:
        return TYPES if self._depth <= _UNTYPED_DEPTH else TYPES[2:]

    def _of(self, kind: str, schema: dict[str, Any]) -> Format:
        if kind == "string":
            return self._string(schema)
        if kind == "object" and self._form.nested:
            return self._object(schema)
        if kind == "array" and self._form.nested:
            return self._array(schema)
        whole = self._schemas.whole({**schema, "type": kind})
        return formats.json_schema(whole, excludes=excluded(whole, self._ends) if kind in _COMPOSITE else ())

    def _choices(self, values: Sequence[Any]) -> Iterator[Format]:
        for value in values:
            text = self._spelled(value)
            if text is not None:
                yield formats.const(text)

    def _spelled(self, value: Any) -> str | None:
        """A value as it is written; None where it cannot be."""
        form = self._form
        if isinstance(value, str):
            return None if any(end in value for end in self._ends) else value.join(form.quotes)
        if not form.nested or not isinstance(value, dict | list):
            return json.dumps(value, ensure_ascii=False)
        if isinstance(value, list):
            parts, brackets = [self._spelled(entry) for entry in value], "[]"
        else:
            parts, brackets = [self._spelled_member(*entry) for entry in value.items()], "{}"
        known = [part for part in parts if part is not None]
        return f"{brackets[0]}{form.separator.join(known)}{brackets[1]}" if len(known) == len(parts) else None

    def _spelled_member(self, name: str, value: Any) -> str | None:
        text = self._spelled(value)
        after = self._form.after.replace(_NAME, name)
        return None if text is None else f"{self._form.before}{name}{self._form.between}{text}{after}"

    def _string(self, schema: Mapping[str, Any]) -> Format:
        """A string, held to its pattern or its length."""
        before, after = self._form.quotes
        pattern = schema.get("pattern")
        shortest, longest = (_length(schema.get(name)) for name in ("minLength", "maxLength"))
        if isinstance(pattern, str):
            content = formats.regex(pattern.removeprefix("^").removesuffix("$"))
        elif (shortest or longest is not None) and max(shortest or 0, longest or 0) <= _MAX_LENGTH:
            firsts = "".join(sorted({_CLASS.sub(r"\\\1", end[0]).replace("\n", r"\n") for end in self._ends}))
            content = formats.regex(f"[^{firsts}]{{{shortest or 0},{'' if longest is None else longest}}}")
        else:
            content = formats.any_text(self._ends)
        return formats.tag(before, content, after) if before else content

    def _object(self, schema: Mapping[str, Any]) -> Format:
        form = self._form
        brackets = [[formats.const(text)] if text else [] for text in (form.opening, form.closing)]
        parts = [*brackets[0], *self._members(schema), *brackets[1]]
        return formats.sequence(*parts) if parts else formats.const("")

    def _members(self, schema: Mapping[str, Any]) -> list[Format]:
        properties = schema.get("properties")
        free = "properties" not in schema or "additionalProperties" in schema
        properties = dict(properties) if isinstance(properties, dict) else {}
        required = [name for name in schema.get("required") or () if isinstance(name, str)]
        others = schema.get("additionalProperties", True)
        for name in required:
            properties.setdefault(name, others)
        if not properties:
            return self._free_members(others) if free else []
        needed = [self._member(name, properties[name]) for name in properties if name in required]
        able = [found for name in properties if name not in required for found in self._able(name, properties[name])]
        if not self._form.separator:
            return [*needed, *map(formats.optional, able)]
        return self._separated(needed, able)

    def _separated(self, needed: list[Format], able: list[Format]) -> list[Format]:
        mark = formats.const(self._form.separator)
        behind = [formats.optional(formats.sequence(mark, member)) for member in able]
        if needed:
            return [needed[0], *(part for member in needed[1:] for part in (mark, member)), *behind]
        self._count += len(able) ** 2
        starts = [formats.sequence(member, *behind[at + 1 :]) for at, member in enumerate(able)]
        return [formats.optional(formats.one_of(starts))] if starts else []

    def _able(self, name: str, schema: Any) -> Iterator[Format]:
        try:
            yield self._member(name, schema)
        except Impossible:
            return

    def _member(self, name: str, schema: Any) -> Format:
        form = self._form
        value = self._value(schema)
        if form.after:
            return formats.tag(f"{form.before}{name}{form.between}", value, form.after.replace(_NAME, name))
        return formats.sequence(formats.const(f"{form.before}{name}{form.between}"), value)

    def _free_members(self, schema: Any) -> list[Format]:
        """Members of any name."""
        form = self._form
        try:
            value = self._value(schema)
        except Impossible:
            return []
        key = formats.regex(_ANY_KEY)
        before, between = ([formats.const(text)] if text else [] for text in (form.before, form.between))
        end, named, behind = form.after.partition(_NAME)
        after = [formats.const(end)] if end else []
        if named:  # no grammar repeats a name that is free; readers do not compare it
            after += [key, formats.const(behind)]
        member = formats.sequence(*before, key, *between, value, *after)
        if not form.separator:
            return [formats.star(member)]
        more = formats.star(formats.sequence(formats.const(form.separator), member))
        return [formats.optional(formats.sequence(member, more))]

    def _array(self, schema: Mapping[str, Any]) -> Format:
        least, most = (_length(schema.get(name)) for name in ("minItems", "maxItems"))
        least = least or 0
        given, rest = schema.get("prefixItems"), schema.get("items", True)
        first = given if isinstance(given, list) else []
        try:
            members = [self._value(entry) for entry in first[:most]]
            item = self._value(rest) if most is None or most > len(members) else None
        except Impossible:
            if least:
                raise
            members, item = [], None
        return formats.sequence(formats.const("["), *self._items(members, item, least, most), formats.const("]"))

    def _items(self, first: list[Format], item: Format | None, least: int, most: int | None) -> list[Format]:
        mark = formats.const(self._form.separator)
        fixed = first or ([] if item is None else [item])
        if not fixed:
            return []
        parts = [fixed[0], *(part for member in fixed[1:] for part in (mark, member))]
        if item is not None:
            left = max(0, least - len(fixed))
            more = -1 if most is None else most - len(fixed)
            parts.append(formats.repeat(formats.sequence(mark, item), left, more))
        return parts if least or first else [formats.optional(formats.sequence(*parts))]


def excluded(schema: Any, texts: Sequence[str]) -> Sequence[str]:
    """The texts to be kept out of a value's strings; none where these have bounds, which engines would drop for it."""
    return () if _BOUND.search(json.dumps(schema)) else texts


def _types(schema: Mapping[str, Any]) -> Sequence[str]:
    """The types that a schema names, or that its keywords speak of."""
    named = schema.get("type")
    if isinstance(named, str):
        return (named,)
    return () if "properties" not in schema else ("object",)


def _length(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
