"""Finding the end of a JSON value in text that comes in pieces, without building it."""

from __future__ import annotations

import json
import re
import sys
from typing import ClassVar

from renderlayer.parsers.core.resumable import Idle

STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
"""A whole JSON string, quotes included."""

_SPACE = re.compile(r"[ \t\n\r\f\v]*+")
_INSIDE = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_FLAT = re.compile(r'[^"{}\[\]]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"{}\[\]]*+)*+', re.DOTALL)
_OPENING = re.compile(r"[{\[]+")
_CLOSING = re.compile(r"[}\]]+")
_BARE = re.compile(r"[^\s,;{}\[\]\"]*+")

BEFORE, BARE, TEXT, NESTED = range(4)


def after_space(text: str, position: int, stop: int = sys.maxsize) -> int:
    """The position of the first character that is no white space, at `position` or after it."""
    if position < len(text) and text[position] > " ":
        return position
    match = _SPACE.match(text, position, stop)
    return match.end() if match else position


class JsonScan(Idle):
    """Scans one value. It looks at brackets and quotes only: what lies between them is the reader's business.

    Memory: what kind of value it is in, how deep, whether inside a string, and whether a backslash ended the last text.
    """

    memory: ClassVar[tuple[str, ...]] = ("kind", "depth", "quoted", "escaped")

    def __init__(self, depth: int = 0) -> None:
        self.reset(depth)

    @property
    def idle(self) -> bool:
        return self.kind == BEFORE

    def reset(self, depth: int = 0) -> None:
        """Forget the value; with a depth: go on inside that many open brackets."""
        self.kind = NESTED if depth else BEFORE
        self.depth = depth
        self.quoted = False
        self.escaped = False

    def end(self, text: str, start: int, stop: int) -> int:
        """Scan text[start:stop] as the continuation of the value.

        Returns:
            The position after the value's last character, or -1 when the value goes on beyond `stop`. The end of a
            number or word shows only by what follows it.
        """
        position = start
        if self.kind == BEFORE:
            position = after_space(text, position, stop)
            if position == stop:
                return -1
            position = self._begin(text, position)
        if self.kind == BARE:
            match = _BARE.match(text, position, stop)
            position = match.end() if match else position
            return position if position < stop else -1
        while position < stop:
            if self.quoted:
                position = self._through_string(text, position, stop)
                if not self.quoted and self.kind == TEXT:
                    return position
            else:
                position = self._through_brackets(text, position, stop)
                if not self.depth:
                    return position
        return -1

    def _begin(self, text: str, position: int) -> int:
        first = text[position]
        if first in "{[":
            self.kind, self.depth = NESTED, 1
            return position + 1
        if first == '"':
            self.kind, self.quoted = TEXT, True
            return position + 1
        self.kind = BARE
        return position

    def _through_string(self, text: str, position: int, stop: int) -> int:
        if self.escaped:
            self.escaped = False
            position += 1
        match = _INSIDE.match(text, position, stop)
        position = match.end() if match else stop
        if position < stop and text[position] == '"':
            self.quoted = False
            return position + 1
        self.escaped = position < stop
        return stop

    def _through_brackets(self, text: str, position: int, stop: int) -> int:
        match = _FLAT.match(text, position, stop)
        position = match.end() if match else position
        if position == stop:
            return stop
        if text[position] == '"':
            self.quoted = True
            return position + 1
        if run := _OPENING.match(text, position, stop):
            self.depth += run.end() - position
            return run.end()
        run = _CLOSING.match(text, position, stop)
        closed = min(self.depth, run.end() - position if run else 1)
        self.depth -= closed
        return position + closed


def quoted(text: str) -> str:
    """The inside of the JSON string that spells `text`; pieces may be joined."""
    return json.dumps(text, ensure_ascii=False)[1:-1]
