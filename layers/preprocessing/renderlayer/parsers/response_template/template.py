"""Response templates: how a tokenizer describes the answers of its model (wire.md 7.1, 7.4).

A template is a JSON object, `response_template` in tokenizer_config.json:

    start_anchor | start_anchor_pattern    ends the prompt's part before the answer's message
    fields: {NAME: {open | open_pattern, close | close_pattern, content, content_args, transform, …}}

An `open` or `close` is a text or several, a pattern is a regular expression. Text that stands in no field's delimiters
belongs to the field without an opener. The form is that of transformers 5.24; served are the fields `thinking`,
`content` and `tool_calls`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from renderlayer.parsers.response_template.calls import CallFormat, read_calls
from renderlayer.parsers.response_template.delimiters import Watch
from renderlayer.parsers.response_template.nodes import Choice, Node
from renderlayer.parsers.response_template.patterns import PatternError, literal, read_pattern

Kind = Literal["thinking", "content", "tool_calls"]

_KINDS = ("thinking", "content", "tool_calls")
_TEMPLATE_KEYS = {"version", "defaults", "fields", "start_anchor", "start_anchor_pattern"}
_FIELD_KEYS = {
    "open",
    "open_pattern",
    "close",
    "close_pattern",
    "content",
    "content_args",
    "repeats",
    "join",
    "optional",
    "transform",
    "transform_each",
}


@dataclass(frozen=True, eq=False)
class Field:
    """A part of an answer.

    Attributes:
        opens, closes: its delimiters; None: it is what no other field holds, or it goes on to the end.
        repeats: it may come several times.
    """

    kind: str
    opens: Node | None
    closes: Node | None
    repeats: bool

    @cached_property
    def ends(self) -> Watch:
        """What ends the field."""
        return Watch([self.closes] if self.closes else [])


@dataclass(frozen=True, eq=False)
class Template:
    """A template, read."""

    fields: tuple[Field, ...]
    anchor: Node
    calls: CallFormat | None

    @cached_property
    def rest(self) -> Field | None:
        """The field of all that no other field holds."""
        return next((field for field in self.fields if field.opens is None), None)

    @cached_property
    def openings(self) -> tuple[Field, ...]:
        """The fields that have openers, in the order in which `edges` watches for them."""
        return tuple(field for field in self.fields if field.opens)

    @cached_property
    def edges(self) -> Watch:
        """What may come outside of delimited fields: openers, and last what ends the rest."""
        closes = [self.rest.closes] if self.rest and self.rest.closes else []
        return Watch([*(field.opens for field in self.openings if field.opens), *closes])

    def field(self, kind: Kind) -> Field | None:
        """The field of that name, if the template has it."""
        return next((field for field in self.fields if field.kind == kind), None)


class Beginning(NamedTuple):
    """An answer's template, and what the prompt has written of the answer.

    Attributes:
        fresh: nothing yet, so that the thinking is still to come.
        field: the delimited field that is open at the prompt's end; "" for none.
    """

    template: Template
    fresh: bool
    field: str = ""


def read_template(given: Any) -> Template:
    """Read a template.

    Raises:
        PatternError: it is none, or describes what cannot be served; the text says what.
    """
    template = _mapping(given, "response_template")
    _check_keys(template, _TEMPLATE_KEYS, "response_template")
    if template.get("version", 1) != 1:
        raise PatternError(f"unsupported version {template['version']!r}")
    given_fields = _mapping(template.get("fields"), "fields")
    unknown = sorted({*given_fields, *_mapping(template.get("defaults", {}), "defaults")} - {*_KINDS, "role"})
    if unknown or not given_fields or "role" in given_fields:
        raise PatternError(f"the fields must be among {', '.join(_KINDS)}, not {', '.join(unknown) or 'none'}")
    anchor = _delimiter(template, "start_anchor", "response_template")
    if anchor is None:
        raise PatternError("start_anchor or start_anchor_pattern is missing")
    fields = [_read_field(name, _mapping(field, f"field {name!r}")) for name, field in given_fields.items()]
    if "content" not in given_fields and all(field.opens for field in fields):
        fields.append(Field("content", None, None, repeats=True))
    if sum(field.opens is None for field in fields) > 1:
        raise PatternError("only one field may lack an opener")
    calls = read_calls(given_fields["tool_calls"]) if "tool_calls" in given_fields else None
    return Template(tuple(fields), anchor, calls)


def _read_field(name: str, given: Mapping[str, Any]) -> Field:
    scope = f"field {name!r}"
    _check_keys(given, _FIELD_KEYS, scope)
    if name != "tool_calls" and (
        given.get("content", "text") != "text" or given.get("transform") is not None or given.get("join")
    ):
        raise PatternError(f"{scope}: only plain text can be streamed")
    opens, closes = _delimiter(given, "open", scope), _delimiter(given, "close", scope)
    if name == "tool_calls" and opens is None:
        raise PatternError(f"{scope} needs an opener")
    if (opens and not opens.least) or (closes and not opens and re.match(closes.full(), "\0")):
        raise PatternError(f"{scope}: a delimiter may match nothing")
    return Field(name, opens, closes, given.get("repeats") is True)


def _delimiter(given: Mapping[str, Any], key: str, scope: str) -> Node | None:
    """What `key` or `key_pattern` describes."""
    texts, pattern = given.get(key), given.get(f"{key}_pattern")
    if pattern is not None:
        if texts is not None:
            raise PatternError(f"{scope}: both {key} and {key}_pattern")
        return read_pattern(pattern)
    if texts is None:
        return None
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise PatternError(f"{scope}: {key} must be a text or a list of texts")
    if max(map(len, texts)) > 256:
        raise PatternError(f"{scope}: {key} is longer than 256 characters")
    ways = [literal(text) for text in dict.fromkeys(texts)]
    return ways[0] if len(ways) == 1 else Choice(sorted(ways, key=lambda way: -way.least))


def _mapping(given: Any, scope: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise PatternError(f"{scope} must be an object")
    return given


def _check_keys(given: Mapping[str, Any], known: set[str], scope: str) -> None:
    if unknown := sorted(set(given) - known):
        raise PatternError(f"{scope}: unknown keys {', '.join(unknown)}")
