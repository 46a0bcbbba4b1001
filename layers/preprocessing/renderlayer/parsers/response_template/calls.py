"""How a template's `tool_calls` are written: the field's `content`, `content_args` and `transform`.

A transform says where a call's name and arguments come from: `{content}` is the field's content, `{content.KEY}` a
member of it, any other word a capture of the opener; with `transform_each` the content is a list of calls, whose
members the words are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from renderlayer.parsers.response_template.delimiters import Watch
from renderlayer.parsers.response_template.nodes import Capture, Choice, End, Node, Series
from renderlayer.parsers.response_template.patterns import PatternError, literal, read_pattern
from renderlayer.parsers.values.schema import ANY_JSON

Quotes = tuple[tuple[str, str], ...]

_WORD = re.compile(r"\{(\w+(?:\.\w+)*)\}")
_KINDS = ("json", "xml-inline", "kv-lines", "python-call-list")


@dataclass(frozen=True, eq=False)
class CallFormat:
    """How the text of a `tool_calls` field is read.

    Attributes:
        kind: "json": JSON; "tags": arguments between delimiters; "python": a list of calls as Python writes them.
        capture: the opener's capture that is the call's name; "" when the name stands in the content.
        name, arguments: keys of the name and the arguments in a JSON object, where the content has both.
        listed: the calls stand in a list.
        notation: the arguments are not quite JSON.
        quotes: markers around strings besides the quotation mark, as pairs.
        opens, closes: delimiters of an argument's value; the opener captures `key`.
        strips: white space around a value does not belong to it.
        letters: types of any value, before those that its schema names (`schema.py`).
    """

    kind: Literal["json", "tags", "python"]
    capture: str = ""
    name: str = "name"
    arguments: str = "arguments"
    listed: bool = False
    notation: bool = False
    quotes: Quotes = ()
    opens: Node | None = None
    closes: Node | None = None
    strips: bool = False
    letters: str = ""

    @cached_property
    def word(self) -> re.Pattern[str]:
        """A key, number or word without quotes, in a JSON value."""
        return re.compile(rf"[^\s,:{{}}\[\]\"{re.escape(''.join(before[0] for before, _ in self.quotes))}]*+")

    @cached_property
    def keys(self) -> Watch:
        """What begins an argument."""
        return Watch([self.opens] if self.opens else [])

    @cached_property
    def ends(self) -> Watch:
        """What ends an argument's value."""
        return Watch([self.closes] if self.closes else [])


def read_calls(field: Mapping[str, Any]) -> CallFormat:
    """The format of a `tool_calls` field.

    Raises:
        PatternError: it cannot be served; the text says what cannot.
    """
    kind, each = field.get("content", "text"), field.get("transform_each", False)
    if kind not in _KINDS:
        raise PatternError(f"field 'tool_calls': content must be one of {', '.join(_KINDS)}")
    args = field.get("content_args", {})
    if not isinstance(args, Mapping):
        raise PatternError("field 'tool_calls': content_args must be an object")
    name, arguments = _sources(field.get("transform"), each is True)
    inside = name.startswith("content.") and arguments.startswith("content.")
    if kind == "python-call-list":
        if (name, arguments) == ("content.name", "content.arguments"):
            return CallFormat("python")
    elif kind == "json" and inside:
        if not args.get("unquoted_keys") and not args.get("string_delims"):
            keys = name.partition(".")[2], arguments.partition(".")[2]
            return CallFormat("json", name=keys[0], arguments=keys[1], listed=each is True)
    elif arguments == "content" and not name.startswith("content"):
        if kind == "json":
            quotes = _quotes(args.get("string_delims", []))
            return CallFormat("json", name, notation=bool(quotes or args.get("unquoted_keys")), quotes=quotes)
        return _lines(name, args) if kind == "kv-lines" else _tags(name, args)
    raise PatternError(f"field 'tool_calls': this transform of {kind} cannot be streamed")


def _sources(transform: Any, each: bool) -> tuple[str, str]:
    """Where the name and the arguments come from, as words of the transform."""
    function = transform.get("function") if isinstance(transform, Mapping) else None
    if isinstance(function, Mapping):
        words = [_WORD.fullmatch(str(function.get(key))) for key in ("name", "arguments")]
        if words[0] and words[1]:
            before = "content." if each else ""
            return before + words[0][1], before + words[1][1]
    elif function == "{content}" and not each:
        return "content.name", "content.arguments"
    raise PatternError("field 'tool_calls': transform must give function.name and function.arguments")


def _quotes(given: Any) -> Quotes:
    pairs = given if isinstance(given, list) else [given]
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(mark, str) and mark for mark in pair):
            raise PatternError("field 'tool_calls': string_delims must be pairs of texts")
    return tuple((before, after) for before, after in pairs)


def _tags(name: str, args: Mapping[str, Any]) -> CallFormat:
    """Arguments by `tag_pattern`, which is cut at its group `value`."""
    if args.get("merge_duplicates"):
        raise PatternError("field 'tool_calls': merge_duplicates cannot be streamed")
    pattern = read_pattern(args.get("tag_pattern", ""))
    parts = pattern.parts if isinstance(pattern, Series) else ()
    places = [at for at, part in enumerate(parts) if isinstance(part, Capture) and part.name == "value"]
    if len(places) != 1:
        raise PatternError("field 'tool_calls': tag_pattern must have a group 'value' between its delimiters")
    opens, closes = Series(parts[: places[0]]), Series(parts[places[0] + 1 :])
    if not opens.least or not closes.least or not captures(opens, "key"):
        raise PatternError("field 'tool_calls': tag_pattern must have a group 'key' before the value, and an end")
    strips, letters = _value_parser(args.get("value_parser"))
    return CallFormat("tags", name, opens=opens, closes=closes, strips=strips, letters=letters)


def _lines(name: str, args: Mapping[str, Any]) -> CallFormat:
    """Arguments line by line, `key<kv_sep>value`."""
    line, between = args.get("line_sep", "\n"), args.get("kv_sep", ":")
    if not all(isinstance(text, str) and text for text in (line, between)):
        raise PatternError("field 'tool_calls': line_sep and kv_sep must be texts")
    others = "".join(f"\\x{ord(text[0]):02x}" if ord(text[0]) < 256 else text[0] for text in (line, between))
    key = read_pattern(rf"(?P<key>[^{others}\s][^{others}]*?)\s*")
    _, letters = _value_parser(args.get("value_parser"))
    opens, closes = Series([key, literal(between)]), Choice([literal(line), End()])
    return CallFormat("tags", name, opens=opens, closes=closes, strips=True, letters=letters)


def _value_parser(given: Any) -> tuple[bool, str]:
    """Whether values are stripped, and what they are besides text."""
    if given is None:
        return False, ""
    if not isinstance(given, Mapping) or given.get("name", "text") not in ("text", "json"):
        raise PatternError("field 'tool_calls': value_parser must be text or json")
    if given.get("name") == "json":
        return True, ANY_JSON
    args = given.get("args", {})
    return not isinstance(args, Mapping) or args.get("strip", True) is not False, ""


def captures(node: Node, name: str) -> bool:
    """Whether the pattern has a group of that name."""
    return (isinstance(node, Capture) and node.name == name) or any(captures(part, name) for part in node.inner)
