"""What all bodies share: parsing, and validation errors in the reference's text (wire.md 1.6)."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from renderlayer.errors import BadRequest, ValidationFailed

SHOWN_ERRORS = 10
SHOWN_INPUT = 200
SHOWN_ENTRY = 1000
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
CACHE_SALT_LENGTH = 128
_SALT_FORBIDDEN = frozenset("@/\\\0")

T = TypeVar("T")
_COMPILING = threading.RLock()
K = TypeVar("K")

ListOf = Annotated[list[T], Field(fail_fast=True)]
"""A list of which the first fault is told. To tell one takes a thousand times the memory of a short entry: a list of
faults, of the size that a body may have, would end the process."""
DictOf = Annotated[dict[K, T], Field(fail_fast=True)]
"""The same for an object."""


def _not_null(value: Any) -> Any:
    if value is None:
        raise ValueError("Input should not be null")
    return value


Given = Annotated[T | None, BeforeValidator(_not_null)]
"""A field that may be absent, which is None, but not null."""

# Elements that pydantic puts into a location to name a union member or a validator, not a field of the body.
_INTERNAL = re.compile(r"[\[\](){}]|^(str|int|float|bool|dict|list|none|constrained-.*|function-.*|is-instance.*)$")


class Body(BaseModel):
    """A request body: unknown keys are ignored, values are converted as leniently as the reference does.

    Its validator is compiled with the first body of its kind: a function starts with the one that it needs, and what
    is inside of another needs none of its own.
    """

    model_config = ConfigDict(extra="ignore", protected_namespaces=(), arbitrary_types_allowed=False, defer_build=True)

    @classmethod
    def model_rebuild(cls, **arguments: Any) -> bool | None:
        """Compile the validator, in one thread: while one replaces it, others would find the base class's."""
        with _COMPILING:
            return super().model_rebuild(**arguments)


B = TypeVar("B", bound=BaseModel)


def parse(model: type[B], data: Any) -> B:
    """Validate a decoded JSON body.

    Raises:
        ValidationFailed: the body does not fit; text and param follow wire.md 1.6.
        BadRequest: a cross-field check of the model refused it.
    """
    if data is None:
        raise malformed(None, "null")
    if not isinstance(data, dict):
        raise _failed(
            [
                {
                    "type": "model_attributes_type",
                    "loc": (),
                    "msg": "Input should be a valid dictionary or object to extract fields from",
                    "input": data,
                }
            ]
        )
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise _failed(error.errors(include_url=False)) from None


def parse_at(model: type[B], data: Any, *prefix: str | int) -> B:
    """Like `parse`, for a body that sits below `prefix` in the location (the members of the derender unions)."""
    if data is None and not prefix:
        raise malformed(None, "null")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        entries = [{**entry, "loc": (*prefix, *entry["loc"])} for entry in error.errors(include_url=False)]
        raise _failed(entries) from None


def malformed(position: int | None, reason: str) -> ValidationFailed:
    """The error for a body that is not JSON (position: characters before the fault), or is empty or null (None)."""
    if position is None:
        return _failed([{"type": "missing", "loc": (), "msg": "Field required", "input": None}])
    entry = {"type": "json_invalid", "loc": (position,), "msg": "JSON decode error", "input": {}}
    return _failed([{**entry, "ctx": {"error": reason}}])


def refused(loc: Sequence[str | int], kind: str, message: str, value: Any) -> ValidationFailed:
    """A validation error made by hand, for bodies that are checked without a schema (chat messages)."""
    return _failed([{"type": kind, "loc": tuple(loc), "msg": message, "input": value}])


def check_cache_salt(data: dict[str, Any]) -> None:
    """Refuse salts that are empty, longer than 128 characters, or could be mistaken for a path (wire.md 2.1)."""
    salt = data.get("cache_salt")
    if salt is None:
        return
    if not isinstance(salt, str) or not salt:
        raise BadRequest("Parameter 'cache_salt' must be a non-empty string if provided.", "cache_salt")
    if len(salt) > CACHE_SALT_LENGTH or _SALT_FORBIDDEN & set(salt):
        raise BadRequest(
            f"Parameter 'cache_salt' must be at most {CACHE_SALT_LENGTH} characters and must not contain "
            "'@', '/', '\\\\', or NUL.",
            "cache_salt",
        )


def _failed(entries: Sequence[Mapping[str, Any]]) -> ValidationFailed:
    count = len(entries)
    lines = [f"{count} validation error{'s' if count > 1 else ''}:"]
    for entry in entries[:SHOWN_ERRORS]:
        shown = {"type": entry["type"], "loc": _location(entry["loc"]), "msg": entry["msg"]}
        shown["input"] = _summary(entry.get("input"))
        if entry.get("ctx"):
            shown["ctx"] = entry["ctx"]
        lines.append("  " + repr(shown)[:SHOWN_ENTRY])
    if count > SHOWN_ERRORS:
        lines.append(f"  ...and {count - SHOWN_ERRORS} more errors")
    return ValidationFailed("\n".join(lines), param=_location(entries[0]["loc"]))


def _location(loc: Sequence[str | int]) -> str:
    kept = [str(part) for part in loc if isinstance(part, int) or not _INTERNAL.search(part)]
    return ".".join(["body", *kept])


def _summary(value: Any) -> str:
    if isinstance(value, dict):
        return f"<dict of {len(value)} items>"
    if isinstance(value, (list, tuple)):
        return f"<list of {len(value)} items>"
    try:
        return str(value)[:SHOWN_INPUT]
    except ValueError:  # an integer of more digits than Python prints
        return "<number>"
