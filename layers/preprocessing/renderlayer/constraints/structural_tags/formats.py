"""The vocabulary of structural tags: every format with its fields, in the order in which the reference writes them.

The constructors return plain dicts with all fields present. `completed` does the same to a tag that a client wrote.
Source: the published schema of xgrammar 0.2.8, which release 0.33 of the reference uses.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from renderlayer.errors import SHOWN_VALUE, BadRequest

Format = dict[str, Any]

_REQUIRED = object()
_FORMATS = "formats"
_FORMAT = "format"
_TAGS = "tags"
_RULES = "rules"

# type -> fields with their defaults.
_FIELDS: dict[str, dict[str, Any]] = {
    "const_string": {"value": _REQUIRED},
    "json_schema": {
        "json_schema": _REQUIRED,
        "style": "json",
        "any_order": False,
        "max_whitespace_cnt": None,
        "excludes": [],
    },
    "any_text": {"excludes": [], "max_tokens": None, "max_chars": None},
    "token": {"token": _REQUIRED},
    "exclude_token": {"exclude_tokens": []},
    "any_tokens": {"exclude_tokens": [], "max_tokens": None},
    "grammar": {"grammar": _REQUIRED},
    "regex": {"pattern": _REQUIRED},
    "sequence": {"elements": _REQUIRED},
    "or": {"elements": _REQUIRED},
    "tag": {"begin": _REQUIRED, "content": _REQUIRED, "end": _REQUIRED},
    "triggered_tags": {
        "triggers": _REQUIRED,
        "tags": _REQUIRED,
        "at_least_one": False,
        "stop_after_first": False,
        "excludes": [],
    },
    "token_triggered_tags": {
        "trigger_tokens": _REQUIRED,
        "tags": _REQUIRED,
        "exclude_tokens": [],
        "at_least_one": False,
        "stop_after_first": False,
    },
    "tags_with_separator": {
        "tags": _REQUIRED,
        "separator": _REQUIRED,
        "at_least_one": False,
        "stop_after_first": False,
    },
    "optional": {"content": _REQUIRED},
    "plus": {"content": _REQUIRED},
    "star": {"content": _REQUIRED},
    "repeat": {"min": _REQUIRED, "max": _REQUIRED, "content": _REQUIRED},
    "dispatch": {"rules": _REQUIRED, "loop": True, "excludes": []},
    "token_dispatch": {"rules": _REQUIRED, "loop": True, "exclude_tokens": []},
    "qwen_xml_parameter": {"json_schema": _REQUIRED},
}
# Fields that hold other formats, and how.
_CHILDREN = {"content": _FORMAT, "elements": _FORMATS, "tags": _TAGS, "rules": _RULES}
# What a field without formats in it must be.
_TYPES: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("value", "grammar", "pattern", "separator", "style"), str),
    **dict.fromkeys(("triggers", "trigger_tokens", "excludes", "exclude_tokens", "elements", "tags", "rules"), list),
    **dict.fromkeys(("any_order", "at_least_one", "stop_after_first", "loop"), bool),
    **dict.fromkeys(("begin", "token"), (str, int, dict)),
    "end": (str, list, dict),
    "json_schema": (bool, dict),
}
# A client's tag nested deeper than this is refused.
_MAX_DEPTH = 64


def _make(kind: str, **given: Any) -> Format:
    return {"type": kind, **_FIELDS[kind], **given}


def const(value: str) -> Format:
    """Exactly this text."""
    return _make("const_string", value=value)


def regex(pattern: str) -> Format:
    """Text that matches the pattern."""
    return _make("regex", pattern=pattern)


def grammar(text: str) -> Format:
    """Text of an EBNF grammar."""
    return _make("grammar", grammar=text)


def any_text(excludes: Sequence[str] = ()) -> Format:
    """Any text without the excluded strings."""
    return _make("any_text", excludes=list(excludes))


def json_schema(schema: dict[str, Any] | bool, style: str = "json", excludes: Sequence[str] = ()) -> Format:
    """A value of the schema (True: any), written as JSON or in a family's XML, without the excluded strings."""
    return _make("json_schema", json_schema=schema, style=style, excludes=list(excludes))


def sequence(*elements: Format) -> Format:
    """The elements, one after the other."""
    return _make("sequence", elements=list(elements))


def either(elements: Iterable[Format]) -> Format:
    """One of the elements."""
    return _make("or", elements=list(elements))


def one_of(elements: Sequence[Format]) -> Format:
    """One of the elements, or the only one without a choice round it."""
    return elements[0] if len(elements) == 1 else either(elements)


def optional(content: Format) -> Format:
    """The content or nothing."""
    return _make("optional", content=content)


def star(content: Format) -> Format:
    """The content any number of times."""
    return _make("star", content=content)


def plus(content: Format) -> Format:
    """The content at least once."""
    return _make("plus", content=content)


def repeat(content: Format, least: int, most: int) -> Format:
    """The content so many times; -1 is no limit."""
    return _make("repeat", min=least, max=most, content=content)


def tag(begin: str, content: Format, end: str | list[str]) -> Format:
    """The content between two strings."""
    return _make("tag", begin=begin, content=content, end=end)


def triggered(
    trigger: str, tags: Sequence[Format], *, at_least_one: bool, single: bool, excludes: Sequence[str]
) -> Format:
    """Free text in which the trigger opens one of the tags."""
    return _make(
        "triggered_tags",
        triggers=[trigger],
        tags=list(tags),
        at_least_one=at_least_one,
        stop_after_first=single,
        excludes=list(excludes),
    )


def separated(tags: Sequence[Format], separator: str, *, single: bool) -> Format:
    """One tag or more of the list and nothing between them but the separator."""
    return _make(
        "tags_with_separator", tags=list(tags), separator=separator, at_least_one=True, stop_after_first=single
    )


def written(content: Format) -> str:
    """The structural tag as the JSON string that travels in structured_outputs.structural_tag."""
    return json.dumps({"type": "structural_tag", "format": content})


def read(text: str) -> Format:
    """The format of a structural tag that a client wrote, all fields present.

    The older shape, `structures` and `triggers`, is understood as free text with triggered tags.

    Raises:
        BadRequest: the text is no structural tag.
    """
    try:
        document = json.loads(text)
        if "structures" in document:
            return _legacy(document)
        return completed(document["format"])
    except (ValueError, RecursionError):
        raise _not_a_tag("it is not JSON") from None
    except (KeyError, TypeError, AttributeError):
        raise _not_a_tag("a field is missing or of another type") from None


def _legacy(document: dict[str, Any]) -> Format:
    tags = [tag(entry["begin"], json_schema(entry["schema"]), entry["end"]) for entry in document["structures"]]
    return _make("triggered_tags", triggers=document["triggers"], tags=tags)


def completed(content: Any, depth: int = 0) -> Format:
    """The format with every field present and in order; fields that do not exist are dropped.

    Raises:
        BadRequest: unknown type, a missing field, or too deeply nested.
    """
    kind = content.get("type") if isinstance(content, dict) else None
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise _not_a_tag(f"unknown format {str(kind)[:SHOWN_VALUE]!r}")
    if depth > _MAX_DEPTH:
        raise _not_a_tag(f"more than {_MAX_DEPTH} formats inside each other")
    out: Format = {"type": kind}
    for name, default in _FIELDS[kind].items():
        value = content.get(name, default)
        if value is _REQUIRED:
            raise _not_a_tag(f"{kind} without {name}")
        if not isinstance(value, _TYPES.get(name, object)):
            raise _not_a_tag(f"{name} of {kind} has the wrong type")
        out[name] = _child(_CHILDREN.get(name), value, depth + 1)
    return out


def _child(kind: str | None, value: Any, depth: int) -> Any:
    if kind == _FORMAT:
        return completed(value, depth)
    if kind == _FORMATS:
        return [completed(entry, depth) for entry in value]
    if kind == _TAGS:
        return [completed({"type": "tag", **entry}, depth) for entry in value]
    if kind == _RULES:
        return [[trigger, completed(entry, depth)] for trigger, entry in value]
    return value


def _not_a_tag(reason: str) -> BadRequest:
    return BadRequest(f"Invalid structural tag: {reason}")
