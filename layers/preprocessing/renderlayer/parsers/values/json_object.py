"""A call's arguments that are written as JSON: handed out as they come, so that what was handed out can be closed."""

from __future__ import annotations

import json
import re
from typing import ClassVar, Literal

from renderlayer.parsers.core.resumable import HOLD_LIMIT, Idle, Resumable

Status = Literal["more", "done", "broken"]

_DEEPEST = 256
_SPACE = re.compile(r"[ \t\r\n]*+")
_CLEAN = re.compile(r'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+')
_PARTIAL_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_WORD = re.compile(r"[^\s,:{}\[\]\"]*+")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_CONSTANTS = {
    **{word: word for word in ("true", "false", "null")},
    "True": "true",
    "False": "false",
    "None": "null",
    **dict.fromkeys(("NaN", "Infinity", "-Infinity"), "null"),
}

BEFORE, KEY, COLON, VALUE, AFTER = "before", "key", "colon", "value", "after"


class JsonReader(Idle):
    """Reads an object or array and writes the same, valid: raw line breaks are escaped, trailing commas dropped.

    A member is written when its value has begun, and the whole with its first member or its end: whatever was written
    becomes valid by closing what is open (`closing`). Nothing is written of what is of another kind.

    Memory: the open brackets, what comes next, what is read and waits for a value, whether inside a string, whether
    that is a key, whether anything was written, and the key that a string would get.
    """

    memory: ClassVar[tuple[str, ...]] = ("stack", "next", "pending", "quoted", "written", "wrapper")

    kinds: ClassVar[str] = "{["
    """The brackets that it may begin with."""

    def __init__(self) -> None:
        self.reset()

    @property
    def idle(self) -> bool:
        return self.next == BEFORE and not self.wrapper

    def reset(self, wrapper: str = "") -> None:
        """Forget the object; with a wrapper, a string in place of the next one becomes its only member, by that key."""
        self.wrapper = wrapper
        self.stack = ""
        self.next = BEFORE
        self.pending = ""
        self.quoted = False
        self.written = False

    def read(self, text: str, start: int, stop: int, final: bool, out: list[str]) -> tuple[int, Status]:
        """Read text[start:stop] as the continuation of the object and append what it says to `out`.

        Args:
            final: nothing follows `stop` that could belong to the object; otherwise an incomplete word waits.

        Returns:
            The position up to which text is used, and whether the object goes on, is complete, or cannot go on there.
        """
        position = start
        while position < stop:
            if self.quoted:
                used = self._string(text, position, stop, final, out)
                if used < 0:
                    return ~used, "more"
                position = used
                if not self.stack:
                    return position, "done"
                if len(self.pending) > HOLD_LIMIT:
                    return position, "broken"
                continue
            space = _SPACE.match(text, position, stop)
            end = space.end() if space else position
            if self.stack:
                self.pending += text[position : min(end, position + HOLD_LIMIT // 2 - len(self.pending))]
            position = end
            if position == stop:
                break
            stepped = self._step(text, position, stop, final, out)
            if stepped is None or len(self.pending) > HOLD_LIMIT:
                return position, "broken"
            if stepped < 0:
                return position, "more"
            position = stepped
            if not self.stack:
                return position, "done"
        return position, "more"

    def begins(self, text: str, start: int, stop: int) -> bool:
        """Whether text[start:stop] begins as what this reads, which it forgets again."""
        self.reset()
        written: list[str] = []
        status = self.read(text, start, stop, False, written)[1]
        self.reset()
        return status != "broken" and bool(written)

    def closing(self) -> str:
        """What makes valid JSON of all that was written; nothing is more to come."""
        if not self.written:
            return "{}"
        quote = '"' if self.quoted and self.next != KEY else ""
        return quote + "".join("}" if bracket == "{" else "]" for bracket in reversed(self.stack))

    @property
    def in_string(self) -> bool:
        """Whether what comes next is the inside of a string."""
        return self.quoted

    def _write(self, text: str, out: list[str]) -> None:
        out.append(self.pending + text)
        self.pending = ""
        self.written = True

    def _step(self, text: str, position: int, stop: int, final: bool, out: list[str]) -> int | None:
        """Take what stands outside strings. The next position; -1 where more is needed; None where it cannot stand."""
        character = text[position]
        if self.next == BEFORE:
            if character == '"' and self.wrapper:
                self.stack, self.next, self.quoted = "{", VALUE, True
                self._write(f'{{"{self.wrapper}": "', out)
                return position + 1
            self.wrapper = ""
            if character not in self.kinds:
                return None
            self.stack = self.pending = character
            self.next = KEY if character == "{" else VALUE
            return position + 1
        if character in "}]":
            return self._close(character, position, out)
        if self.next == AFTER:
            if character != ",":
                return None
            self.pending += ","
            self.next = KEY if self.stack[-1] == "{" else VALUE
            return position + 1
        if self.next == KEY:
            if character != '"':
                return None
            self.pending += '"'
            self.quoted = True
            return position + 1
        if self.next == COLON:
            if character != ":":
                return None
            self.pending += ":"
            self.next = VALUE
            return position + 1
        return self._value(character, text, position, stop, final, out)

    def _value(self, character: str, text: str, position: int, stop: int, final: bool, out: list[str]) -> int | None:
        if character == '"':
            self._write('"', out)
            self.quoted = True
            return position + 1
        if character in "{[":
            if len(self.stack) == _DEEPEST:
                return None
            self._write(character, out)
            self.stack += character
            self.next = KEY if character == "{" else VALUE
            return position + 1
        match = _WORD.match(text, position, min(stop, position + HOLD_LIMIT))
        end = match.end() if match else position
        if end == stop and not final:
            return -1
        word = text[position:end]
        written = _CONSTANTS.get(word) or (word if _NUMBER.fullmatch(word) else None)
        if written is None:
            return None
        self._write(written, out)
        self._ended_value()
        return end

    def _ended_value(self) -> None:
        self.next = AFTER

    def _close(self, character: str, position: int, out: list[str]) -> int | None:
        """Close a bracket: after a value, at once, or after a comma too many."""
        fits = character == ("}" if self.stack[-1] == "{" else "]")
        stands = self.next == AFTER or self.next == (KEY if character == "}" else VALUE)
        if not fits or not stands:
            return None
        if "," in self.pending:
            self.pending = ""
        self._write(character, out)
        self.stack = self.stack[:-1]
        self._ended_value()
        return position + 1

    def _string(self, text: str, position: int, stop: int, final: bool, out: list[str]) -> int:
        """Take the inside of a string. The next position, or the complement of it where more is needed."""
        match = _CLEAN.match(text, position, stop)
        end = match.end() if match else position
        self._say(text[position:end], out)
        if end == stop:
            return ~end
        character = text[end]
        if character == '"':
            self._say('"', out)
            self.quoted = False
            if self.next == KEY:
                self.next = COLON
            else:
                self._ended_value()
            if self.wrapper:
                self._say("}", out)
                self.stack = ""
            return end + 1
        if character == "\\" and not final and _PARTIAL_ESCAPE.match(text, end, stop):
            return ~end
        self._say(json.dumps(character)[1:-1], out)
        return end + 1

    def _say(self, text: str, out: list[str]) -> None:
        if self.next == KEY:
            self.pending += text
        else:
            out.append(text)


class JsonObject(JsonReader):
    """Reads an object."""

    kinds: ClassVar[str] = "{"


class Proof(Resumable):
    """Lets text through as far as it is one object, and closes what is open in it.

    Memory: the reader, and text that waits for more.
    """

    memory: ClassVar[tuple[str, ...]] = ("reader", "rest", "over")

    def __init__(self) -> None:
        self.reader = JsonObject()
        self.rest = ""
        self.over = False

    def reset(self) -> None:
        """Forget the object."""
        self.reader.reset()
        self.rest, self.over = "", False

    def add(self, text: str) -> str:
        """What more of the text is valid."""
        if self.over:
            return ""
        text = self.rest + text
        written: list[str] = []
        position, status = self.reader.read(text, 0, len(text), False, written)
        self.rest, self.over = text[position:], status != "more"
        return "".join(written)

    def close(self) -> str:
        """What is left to write."""
        written: list[str] = []
        if not self.over:
            self.reader.read(self.rest, 0, len(self.rest), True, written)
        self.rest, self.over = "", True
        return "".join(written) + self.reader.closing()
