"""Python literals → JSON as they come: what calls in Python notation need of a Python parser."""

from __future__ import annotations

import json
import math
import re
from typing import ClassVar

from renderlayer.parsers.brackets import DEEPEST, Brackets
from renderlayer.parsers.resumable import HOLD_LIMIT
from renderlayer.parsers.schema import quoted

_SPACE = re.compile(r"\s*+")
_WORD = re.compile(r"""[^\s,:()\[\]{}'"]*+""")
_ESCAPE = (
    r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|[0-7]{1,2}(?=[^0-7])|[^xuU0-7])"  # no other is one
)
_INSIDE = {quote: re.compile(rf"[^\\{quote}]*+(?:{_ESCAPE}[^\\{quote}]*+)*+", re.DOTALL) for quote in ("'", '"')}
_PARTIAL_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-7]{1,2})?\Z")
_PART = re.compile(
    r"\\x([0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|\\([0-7]{1,3})|\\(.)|([^\\]+|\\)", re.DOTALL
)
_SAME_IN_JSON = re.compile(r'(?:[^"\\\x00-\x1f]++|\\["\\bfnrt]|\\u[0-9a-fA-F]{4})*+')
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v", "\n": ""}
_QUOTABLE = "\\'\""
_CONSTANTS = {"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}


class PythonValue(Brackets):
    """Converts one value at a time.

    Memory: the open brackets, the quote of the open string, whether a comma is due before what comes next, and whether
    that is a key.
    """

    memory: ClassVar[tuple[str, ...]] = ("stack", "quote", "comma", "key")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin another value."""
        self.stack = ""
        self.quote = ""
        self.comma = False
        self.key = False

    def convert(self, text: str, start: int, final: bool) -> tuple[str, int, bool]:
        """Convert text[start:] as the continuation of the value.

        Returns:
            The JSON text, the position up to which text is used, and whether the value is complete. A bare word is
            complete only when something follows it.
        """
        out: list[str] = []
        position = start
        while position < len(text):
            used = self._string(text, position, final, out) if self.quote else self._step(text, position, final, out)
            if used < 0:
                return "".join(out), ~used, False
            complete = not self.stack and not self.quote and (self.comma or used == position)
            position = used
            if complete:
                return "".join(out), position, True
        return "".join(out), position, False

    def _step(self, text: str, position: int, final: bool, out: list[str]) -> int:
        """Take what stands at `position` outside strings. Returns the next position: the same at the end of the value,
        or its complement when more text is needed."""
        character = text[position]
        if character in " \t\r\n":
            space = _SPACE.match(text, position)
            return space.end() if space else position
        if character in "'\"":
            self.separate(out)
            out.append('"')
            self.quote = character
            return position + 1
        if character in "([{":
            return self._open(character, position, out)
        if character in ")]}":
            return self._close(position, out)
        if character in ",:":
            return self._punctuate(character, position, out)
        return self._word(text, position, final, out)

    def _open(self, character: str, position: int, out: list[str]) -> int:
        if len(self.stack) == DEEPEST:
            self.stack = ""
            return position
        self.push(character, out)
        self.key = character == "{"
        return position + 1

    def _close(self, position: int, out: list[str]) -> int:
        if not self.stack:
            return position
        self.pop(out)
        return position + 1

    def _punctuate(self, character: str, position: int, out: list[str]) -> int:
        if not self.stack:
            return position
        if character == ":" and self.comma:
            out.append(": ")
            self.comma = self.key = False
        else:
            self.key = self.stack[-1] == "{"
        return position + 1

    def _word(self, text: str, position: int, final: bool, out: list[str]) -> int:
        stop = min(len(text), position + HOLD_LIMIT)
        match = _WORD.match(text, position, stop)
        end = match.end() if match else position + 1
        if end == len(text) and not final and stop < position + HOLD_LIMIT:
            return ~position
        self.separate(out)
        word = text[position:end]
        out.append(json.dumps(word, ensure_ascii=False) if self.key else bare_word(word))
        self.comma = True
        return max(end, position + 1)

    def _string(self, text: str, position: int, final: bool, out: list[str]) -> int:
        inside = _INSIDE[self.quote].match(text, position)
        end = inside.end() if inside else position
        if end < len(text) and text[end] == self.quote:
            out.append(_spelled(text[position:end]) + '"')
            self.quote = ""
            self.comma = True
            return end + 1
        out.append(_spelled(text[position:end]))
        if end == len(text) or (not final and _PARTIAL_ESCAPE.match(text, end)):
            return ~end
        out.append(quoted("\\"))
        return end + 1


def bare_word(word: str) -> str:
    """The JSON text of a constant or a number; a string for any other word."""
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    try:
        return str(int(word, 0))
    except ValueError:
        pass
    try:
        value = float(word)
    except ValueError:
        return json.dumps(word, ensure_ascii=False)
    return json.dumps(value) if math.isfinite(value) else json.dumps(word)


def _spelled(text: str) -> str:
    """The inside of a JSON string for the inside of a Python string."""
    if "\\" not in text:
        return quoted(text)
    if _SAME_IN_JSON.fullmatch(text):
        return text
    return "".join(_part(match) for match in _PART.finditer(text))


def _part(match: re.Match[str]) -> str:
    byte, unit, point, octal, simple, plain = match.groups()
    if plain is not None:
        return quoted(plain)
    if unit is not None:
        return f"\\u{unit}"
    if simple is not None:
        return quoted(_SIMPLE.get(simple, simple if simple in _QUOTABLE else f"\\{simple}"))
    code = int(byte, 16) if byte is not None else int(point, 16) if point is not None else int(octal, 8)
    return quoted(chr(code) if code < 0x110000 else "\N{REPLACEMENT CHARACTER}")
