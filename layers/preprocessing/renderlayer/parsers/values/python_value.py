"""Python literals → JSON as they come: what calls in Python's notation need of a Python parser."""

from __future__ import annotations

import json
import math
import re
from typing import ClassVar

from renderlayer.parsers.core.resumable import HOLD_LIMIT, Resumable
from renderlayer.parsers.values.brackets import DEEPEST
from renderlayer.parsers.values.json_object import Status
from renderlayer.parsers.values.python_strings import prefix_of, spelled, string_end

_SPACE = re.compile(r"(?:\s|\\\n)*+")
_COMMENT = re.compile(r"[^\n]*+")
_TOKEN = re.compile(r"[\w.]*+(?:(?<=[\deE_.][eE])[+-]?\w*+)?+")
_INTEGER = re.compile(r"0[xX](?:_?[\da-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|0(?:_?0)*|[1-9](?:_?\d)*", re.ASCII)
_FLOAT = re.compile(r"(?:\d(?:_?\d)*\.?(?:\d(?:_?\d)*)?|\.\d(?:_?\d)*)(?:[eE][+-]?\d(?:_?\d)*)?", re.ASCII)
_CONSTANTS = {"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}
_CLOSERS = {"[": "]", "(": ")", "t": ")", "g": ")", "{": "}", "d": "}", "s": "}"}
_PARENTHESIS, _TUPLE, _GROUP, _BRACES, _DICT, _SET = "(tg{ds"
_MARKS = {_PARENTHESIS: "\x01", _BRACES: "\x02"}

VALUE, KEY, COLON, AFTER = "value", "key", "colon", "after"


class PythonValue(Resumable):
    """Converts one literal at a time: strings with their prefixes, triple quotes and concatenation, numbers with signs,
    constants, lists, tuples, sets and dicts, with comments between. Sets and tuples become arrays.

    Whether a parenthesis is a tuple and whether braces are a set shows behind their first element, which waits until
    then. A member of a dict is written when its value has begun.

    Memory: the open brackets ("(" and "{" while it is open what they are, then "t" for a tuple, "g" for a mere group,
    "d" for a dict and "s" for a set), what comes next, the quote of the open string, whether that is raw, whether a
    string is over that another may continue, a sign before a number, whether a comma is due, the key that waits for its
    value, what waits for a bracket to show, whether inside a comment, and whether anything was written.
    """

    memory: ClassVar[tuple[str, ...]] = (
        *("stack", "next", "quote", "raw", "joined", "sign", "comma", "key", "pending"),
        *("comment", "written"),
    )

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin another value."""
        self.stack = self.quote = self.sign = self.key = self.pending = ""
        self.next = VALUE
        self.raw = self.joined = self.comma = self.comment = self.written = False

    def convert(self, text: str, start: int, final: bool) -> tuple[str, int, Status]:
        """Convert text[start:] as the continuation of the value.

        Returns:
            The JSON text, the position up to which text is used, and whether the value goes on, is complete before what
            stands there, or cannot go on there.
        """
        out: list[str] = []
        position = start
        while position < len(text):
            step = self._string if self.quote else self._skip if self.comment else self._step
            used = step(text, position, final, out)
            if used is None or len(self.key) > HOLD_LIMIT:
                return self._told(out), position, "broken"
            if used < 0:
                return self._told(out), ~used, "more"
            if len(self.pending) > HOLD_LIMIT:
                self._settle_all(out)
            if used == position and not self.quote and not self.stack:
                return self._told(out), position, "done"
            position = used
        return self._told(out), position, "more"

    def closing(self) -> str:
        """What makes JSON of what was written; nothing is more to come."""
        out: list[str] = []
        self._settle_all(out)
        if self.next not in (KEY, COLON) and (self.quote or self.joined):
            out.append('"')
        out += [{_DICT: "}", _GROUP: ""}.get(bracket, "]") for bracket in reversed(self.stack)]
        return "".join(out)

    def _told(self, out: list[str]) -> str:
        text = "".join(out)
        self.written = self.written or bool(text)
        return text

    def _write(self, text: str, out: list[str]) -> None:
        if self.next == KEY:
            self.key += text
        elif self.pending:
            self.pending += text
        else:
            out.append(text)

    def _begin(self, out: list[str]) -> None:
        """A value begins: write what comes before it."""
        before, self.key = self.key, ""
        if self.comma and self.next != KEY:
            before = ", " + before
            self.comma = False
        self._write(before, out)

    def _ended(self) -> None:
        self.next = COLON if self.next == KEY else AFTER

    def _skip(self, text: str, position: int, final: bool, out: list[str]) -> int:
        """Take the rest of a comment."""
        match = _COMMENT.match(text, position)
        end = match.end() if match else position
        self.comment = end == len(text)
        return end

    def _step(self, text: str, position: int, final: bool, out: list[str]) -> int | None:
        """Take what stands at `position` outside strings. Returns the next position: the same at the end of the value;
        its complement when more text is needed; None where that cannot stand."""
        space = _SPACE.match(text, position)
        if space and space.end() > position:
            return space.end()
        character = text[position]
        if character == "\\":
            return ~position if position + 1 == len(text) and not final else None
        if character == "#":
            self.comment = True
            return position + 1
        prefix = prefix_of(text, position, final)
        if prefix is None:
            return ~position
        if prefix:
            return self._open_string(prefix, position, out)
        self._close_string(out)
        if self.next == AFTER:
            return self._behind(character, position, out)
        if self.next == COLON:
            if character != ":":
                return None
            self.key += ": "
            self.next = VALUE
            return position + 1
        return self._before(character, text, position, final, out)

    def _before(self, character: str, text: str, position: int, final: bool, out: list[str]) -> int | None:
        """Take what begins a value or key, or closes a bracket behind a comma."""
        if character in ")]}" and self.stack and _CLOSERS[self.stack[-1]] == character and not self.sign + self.key:
            return self._close(position, out)
        if character in "+-" and self.next == VALUE:
            self.sign = "-" if (self.sign == "-") != (character == "-") else "+"
            return position + 1
        if character in "([{":
            if self.sign or self.next == KEY or len(self.stack) == DEEPEST:
                return None
            return self._open(character, position, out)
        return self._word(text, position, final, out)

    def _behind(self, character: str, position: int, out: list[str]) -> int | None:
        """Take what stands behind a value."""
        bracket = self.stack[-1:]
        if not bracket:
            return position if character in ",)" else None
        if character == ":" and bracket == _BRACES:
            return self._settle_dict(position, out)
        if character == ",":
            if bracket == _GROUP:
                return None
            if bracket in _MARKS:
                self._settle(_TUPLE if bracket == _PARENTHESIS else _SET, "[", out)
            self.comma = True
            self.next = KEY if self.stack[-1] == _DICT else VALUE
            return position + 1
        return self._close(position, out) if character == _CLOSERS[bracket] else None

    def _open(self, character: str, position: int, out: list[str]) -> int:
        self._begin(out)
        if character in _MARKS:
            self.pending += _MARKS[character]
        else:
            self._write("[", out)
        self.stack += character
        self.next = VALUE
        return position + 1

    def _close(self, position: int, out: list[str]) -> int:
        bracket, empty = self.stack[-1], self.next == VALUE and not self.comma
        if bracket == _PARENTHESIS:
            self._settle(_TUPLE if empty else _GROUP, "[" if empty else "", out)
        elif bracket == _BRACES:
            self._settle(_DICT if empty else _SET, "{" if empty else "[", out)
        self.comma = False
        bracket = self.stack[-1]
        self.stack = self.stack[:-1]
        self.next = AFTER
        self._write({_GROUP: "", _DICT: "}"}.get(bracket, "]"), out)
        return position + 1

    def _settle(self, bracket: str, written: str, out: list[str]) -> None:
        """The innermost bracket turns out to be this one."""
        before, _, behind = self.pending.rpartition(_MARKS[self.stack[-1]])
        self.stack = self.stack[:-1] + bracket
        self.pending = before + written + behind
        if not any(mark in self.pending for mark in _MARKS.values()):
            out.append(self.pending)
            self.pending = ""

    def _settle_dict(self, position: int, out: list[str]) -> int | None:
        """What stands in braces turns out to be a key."""
        before, _, key = self.pending.rpartition(_MARKS[_BRACES])
        if key[:1] in "[{\x01":
            return None
        self.pending = before + _MARKS[_BRACES]
        self._settle(_DICT, "{", out)
        self.key = (key if key.startswith('"') else f'"{key}"') + ": "
        self.next = VALUE
        return position + 1

    def _settle_all(self, out: list[str]) -> None:
        """Nothing can wait any longer: parentheses around a string are no tuple, those around brackets are one."""
        if not self.pending:
            return
        parts = re.split("([\x01\x02])", self.pending)
        for n in range(1, len(parts), 2):
            grouped = parts[n] == "\x01" and parts[n + 1][:1] not in ("[", "{")
            parts[n] = "" if grouped else "["
        kinds = iter([_GROUP if not part else _TUPLE for part in parts[1::2]])
        self.stack = "".join(
            (next(kinds) if bracket == _PARENTHESIS else next(kinds) and _SET) if bracket in _MARKS else bracket
            for bracket in self.stack
        )
        out.append("".join(parts))
        self.pending = ""

    def _word(self, text: str, position: int, final: bool, out: list[str]) -> int | None:
        stop = min(len(text), position + HOLD_LIMIT)
        match = _TOKEN.match(text, position, stop)
        end = match.end() if match else position
        if end == len(text) and not final:
            return ~position if end - position < HOLD_LIMIT else None
        written = number(text[position:end], self.sign) or (None if self.sign else _CONSTANTS.get(text[position:end]))
        if written is None:
            return None
        self.sign = ""
        self._begin(out)
        self._write(f'"{written}"' if self.next == KEY else written, out)
        self._ended()
        return end

    def _open_string(self, prefix: str, position: int, out: list[str]) -> int | None:
        kind = prefix.rstrip("'\"").lower()
        if self.sign or "f" in kind or (self.next in (AFTER, COLON) and not self.joined):
            return None
        if self.joined:
            self.next = KEY if self.next == COLON else VALUE
        else:
            self._begin(out)
            self._write('"', out)
        self.joined = False
        self.quote, self.raw = prefix[len(kind) :], "r" in kind
        return position + len(prefix)

    def _close_string(self, out: list[str]) -> None:
        """The string is over: what stands here does not continue it."""
        if self.joined:
            self.joined = False
            was, self.next = self.next, KEY if self.next == COLON else VALUE
            self._write('"', out)
            self.next = was

    def _string(self, text: str, position: int, final: bool, out: list[str]) -> int:
        end, closed = string_end(text, position, self.quote, self.raw, final)
        self._write(spelled(text[position:end], self.raw), out)
        if not closed:
            return end if end > position and end < len(text) else ~end
        self.joined = True
        end += len(self.quote)
        self.quote = ""
        self._ended()
        return end


def number(word: str, sign: str = "") -> str | None:
    """The JSON text of a number of Python's; None for any other word."""
    negative = "-" if sign == "-" else ""
    if _INTEGER.fullmatch(word):
        value = str(int(word, 0))
        return negative + value if value != "0" else value
    if not _FLOAT.fullmatch(word) or not ("." in word or "e" in word.lower()):
        return None
    found = float(word)
    return negative + json.dumps(found) if math.isfinite(found) else "null"
