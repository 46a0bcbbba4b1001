"""JSON, as models write it → JSON as it comes: members of the outermost object by the schema, strings as they grow."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import ClassVar

from renderlayer.parsers.core.resumable import HOLD_LIMIT
from renderlayer.parsers.response_template.calls import CallFormat
from renderlayer.parsers.values.brackets import DEEPEST, Brackets
from renderlayer.parsers.values.json_scan import after_space, quoted
from renderlayer.parsers.values.schema import to_json

_PAIR = r"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_INSIDE = re.compile(rf'(?:[^"\\]++|\\(?:[^u]|u(?![dD][89abAB])[0-9a-fA-F]{{4}}|{_PAIR}))*+', re.DOTALL)
_UNFINISHED = re.compile(
    r"\\(?:u(?:[0-9a-fA-F]{0,3}|[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?)?)?\Z"
)
_ESCAPE = re.compile(rf'\\(?:({_PAIR})|u((?![dD][89abcdefABCDEF])[0-9a-fA-F]{{4}})|(["\\/bfnrt]))')
_SIMPLE = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_PLAIN_QUOTE = '"'


class JsonValue(Brackets):
    """Converts one value at a time. A value that is a string as a whole is given out without its quotes.

    Memory: the open brackets, what ends the open string, how it is given out, whether a comma is due before what comes
    next and whether that is a key, and the key of the outermost object's member at hand.
    """

    memory: ClassVar[tuple[str, ...]] = ("stack", "quote", "mode", "comma", "key_due", "key")

    def __init__(self, form: CallFormat) -> None:
        self._quotes = ((_PLAIN_QUOTE, _PLAIN_QUOTE), *form.quotes)
        self._word = form.word
        self.reset()

    def reset(self) -> None:
        """Begin another value."""
        self.stack = self.quote = self.key = ""
        self.mode = "text"
        self.comma = self.key_due = False

    def convert(self, text: str, start: int, final: bool, types: Mapping[str, str]) -> tuple[str, int, bool]:
        """Convert text[start:] as the continuation of the value.

        Args:
            types: the type letters of the outermost object's members that are not plain strings.

        Returns:
            The JSON text, the position up to which text is used, and whether the value is complete.
        """
        out: list[str] = []
        position = start
        while position < len(text):
            if self.quote:
                used = self._string(text, position, final, out, types)
            else:
                used = self._step(text, position, final, out, types)
            if used < 0:
                return "".join(out), ~used, False
            position = used
            if not self.stack and not self.quote and self.comma:
                return "".join(out), position, True
        return "".join(out), position, False

    def _step(self, text: str, position: int, final: bool, out: list[str], types: Mapping[str, str]) -> int:
        """Take what stands at `position` outside strings. Returns the next position, or its complement when more text
        is needed."""
        position = after_space(text, position)
        if position == len(text):
            return position
        character = text[position]
        if character in "{[":
            return self._open(character, position, out)
        if character in "}]":
            return self._close(position, out)
        if character in ",:":
            self.key_due = character == "," and self.stack.endswith("{")
            return position + 1
        for before, after in self._quotes:
            if text.startswith(before, position):
                self._begin_string(after, out, types)
                return position + len(before)
            if not final and len(text) - position < len(before) and before.startswith(text[position:]):
                return ~position
        return self._bare(text, position, final, out)

    def _open(self, character: str, position: int, out: list[str]) -> int:
        if len(self.stack) == DEEPEST:
            self.stack, self.comma = "", True
            return position
        self.push(character, out)
        self.key_due = character == "{"
        return position + 1

    def _close(self, position: int, out: list[str]) -> int:
        """Close what is open; a bracket of the other kind closes it as well."""
        self.comma, self.key_due = True, False
        if not self.stack:
            return position
        self.pop(out)
        return position + 1

    def _bare(self, text: str, position: int, final: bool, out: list[str]) -> int:
        """A key, number or word without quotes."""
        stop = min(len(text), position + HOLD_LIMIT)
        word = self._word.match(text, position, stop)
        end = max(word.end() if word else position, position + 1)
        if end == len(text) and not final and stop < position + HOLD_LIMIT:
            return ~position
        self.separate(out)
        if self.key_due:
            self._write_key(text[position:end], out)
        else:
            out.append(to_json(text[position:end], "nifb"))
            self.comma = True
        return end

    def _write_key(self, key: str, out: list[str]) -> None:
        if len(self.stack) == 1:
            self.key = key[:HOLD_LIMIT]
        self.key_due = False
        out.append(json.dumps(key, ensure_ascii=False) + ": ")

    def _begin_string(self, quote: str, out: list[str], types: Mapping[str, str]) -> None:
        self.separate(out)
        self.quote = quote
        if self.key_due:
            self.mode = "key"
        elif not self.stack:
            self.mode = "bare"
        else:
            self.mode = "typed" if self._letters(types) else "text"
        if self.mode == "text":
            out.append('"')

    def _letters(self, types: Mapping[str, str]) -> str:
        letters = types.get(self.key, "") if self.stack == "{" else ""
        return "" if letters == "s" else letters

    def _string(self, text: str, position: int, final: bool, out: list[str], types: Mapping[str, str]) -> int:
        end, closed = self._string_end(text, position, final)
        if self.mode in ("key", "typed"):
            if end - position >= HOLD_LIMIT:
                return self._too_long(text, position, out)
            if not closed:
                return ~position
            whole = self._decoded(text[position:end])
            if self.mode == "key":
                self._write_key(whole, out)
            else:
                out.append(to_json(whole, self._letters(types), whole=True))
        elif self.mode != "dropped":
            part = self._decoded(text[position:end])
            out.append(part if self.mode == "bare" else quoted(part))
        if not closed:
            return ~end
        if self.mode == "text":
            out.append('"')
        self.comma = self.mode not in ("key", "dropped")
        end += len(self.quote)
        self.quote = ""
        return end

    def _too_long(self, text: str, position: int, out: list[str]) -> int:
        """Go on with a string that is too long to be held: a value is a plain string, a key is cut."""
        if self.mode == "typed":
            self.mode = "text"
            out.append('"')
            return position
        end = position + HOLD_LIMIT
        self._write_key(text[position:end], out)
        self.mode = "dropped"
        return end

    def _string_end(self, text: str, position: int, final: bool) -> tuple[int, bool]:
        """How far the string's text goes, and whether its end stands there."""
        if self.quote != _PLAIN_QUOTE:
            end = text.find(self.quote, position)
            if end >= 0:
                return end, True
            longest = 0 if final else min(len(self.quote) - 1, len(text) - position)
            held = next((n for n in range(longest, 0, -1) if text.endswith(self.quote[:n])), 0)
            return len(text) - held, False
        inside = _INSIDE.match(text, position)
        end = inside.end() if inside else position
        while end < len(text) and text[end] == "\\" and (final or not _UNFINISHED.match(text, end)):
            inside = _INSIDE.match(text, end + 1)
            end = inside.end() if inside else end + 1
        return end, end < len(text) and text[end] == _PLAIN_QUOTE

    def _decoded(self, raw: str) -> str:
        """What the inside of a string spells; what is no escape stands for itself."""
        return _ESCAPE.sub(_spelled, raw) if self.quote == _PLAIN_QUOTE and "\\" in raw else raw


def _spelled(escape: re.Match[str]) -> str:
    pair, unit, simple = escape.groups()
    if simple:
        return _SIMPLE.get(simple, simple)
    if unit:
        return chr(int(unit, 16))
    return chr(0x10000 + (int(pair[1:5], 16) - 0xD800) * 0x400 + int(pair[7:11], 16) - 0xDC00)
