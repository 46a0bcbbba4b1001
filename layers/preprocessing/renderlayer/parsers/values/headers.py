"""Reading what stands before a call's arguments: the name, in a JSON object or between markers."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Sequence
from typing import NamedTuple

from renderlayer.parsers.values.json_object import JsonObject
from renderlayer.parsers.values.json_scan import STRING, JsonScan, after_space

_FEW = 32
_KEY_LINE = re.compile(r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+(.?)', re.DOTALL)


class Header(NamedTuple):
    """A call whose name is known.

    Attributes:
        end: where the text goes on: at the arguments, or behind them when they are given here.
        arguments: arguments that came before the name, or "" when the object has closed without any.
        closed: whether `end` is behind the whole call.
    """

    name: str
    end: int
    call_id: str | None = None
    arguments: str | None = None
    closed: bool = False


class Failed(NamedTuple):
    """This is no call; the text up to `position` shows it."""

    position: int


ParseContext = Header | Failed | None
"""None: more text is needed to tell."""


def read_object(
    text: str,
    start: int,
    stop: int,
    names: Sequence[str],
    arguments: Sequence[str],
    bare_call: bool,
    inputs: Container[str] = (),
) -> ParseContext:
    """Read {"name": …, "arguments": …} up to its arguments, whatever the order of its members.

    The arguments are an object that has begun (`arguments_at`), or null; anything else is no call.

    Args:
        text, start, stop: the object begins at `start`; nothing is read beyond `stop`.
        names, arguments: the keys that hold the name and the arguments.
        bare_call: an object with a name and no arguments is a call as well.
        inputs: functions whose arguments may be a string.
    """
    position = after_space(text, start, stop)
    if position == stop:
        return None
    if text[position] != "{":
        return Failed(position)
    position += 1
    name: str | None = None
    early: str | None = None
    while True:
        key, position = _next_key(text, position, stop)
        if key is None:
            return None if position == stop else Failed(position)
        if key == "":
            if name is None or (early is None and not bare_call):
                return Failed(position)
            return Header(name, position, arguments=early or "", closed=True)
        if key in arguments and name is not None and not text.startswith("n", position):
            return arguments_at(text, position, stop, Header(name, position), inputs)
        end = JsonScan().end(text, position, stop)
        if end < 0:
            return None
        value = text[after_space(text, position, stop) : end]
        position = end
        if key in names:
            name = _unquoted(value)
            if not name:
                return Failed(position)
            if early:
                return Header(name, position, arguments=early)
        elif key in arguments:
            early = "" if value == "null" else whole_object(value)
            if early is None:
                return Failed(position)


def arguments_at(text: str, position: int, stop: int, header: Header, inputs: Container[str] = ()) -> ParseContext:
    """The header, if an object stands at `position` whose first member has begun, or that is empty."""
    if header.name in inputs and text.startswith('"', position):
        return header
    reader, written = JsonObject(), list[str]()
    for upto in (min(stop, position + _FEW), stop):
        position, status = reader.read(text, position, upto, False, written)
        if written:
            return header
        if status == "broken":
            return Failed(position)
    return None


def whole_object(text: str) -> str | None:
    """The text of a whole object as valid JSON; None for anything else."""
    written: list[str] = []
    position, status = JsonObject().read(text, 0, len(text), True, written)
    return "".join(written) if status == "done" and not text[position:].strip() else None


def read_keyed(text: str, start: int, stop: int) -> ParseContext:
    """Read {"NAME": arguments} up to its arguments."""
    position = after_space(text, start, stop)
    if position == stop:
        return None
    if text[position] != "{":
        return Failed(position)
    name, position = _next_key(text, position + 1, stop)
    if name is None:
        return None if position == stop else Failed(position)
    if not name:
        return Failed(position)
    return arguments_at(text, position, stop, Header(name, position))


def _next_key(text: str, position: int, stop: int) -> tuple[str | None, int]:
    """The next member's key and where its value may begin; "" at the object's end; None where neither stands."""
    position = after_space(text, position, stop)
    if position < stop and text[position] == ",":
        position = after_space(text, position + 1, stop)
    if position == stop:
        return None, stop
    if text[position] == "}":
        return "", position + 1
    line = _KEY_LINE.match(text, position, stop)
    if not line:
        return None, position
    if line.group(1) != '"':
        unfinished = line.end() == stop and line.group(1) in ("", "\\")
        return None, stop if unfinished else position + 1
    colon = after_space(text, line.end(), stop)
    if colon == stop:
        return None, stop
    if text[colon] != ":":
        return None, colon
    return _unquoted(line.group()) or "\0", after_space(text, colon + 1, stop)


def _unquoted(literal: str) -> str | None:
    """The string that a JSON literal spells; an invalid escape leaves it as it stands; None for what is no string."""
    if not STRING.fullmatch(literal):
        return None
    if "\\" not in literal:
        return literal[1:-1]
    try:
        return str(json.loads(literal))
    except ValueError:
        return literal[1:-1]
