"""Values between tags: where they end, and what JSON they are (wire.md 7.3)."""

from __future__ import annotations

import re
from typing import ClassVar

from renderlayer.parsers.core.emitter import Emitter
from renderlayer.parsers.core.markers import Markers, SpecialTokenMap
from renderlayer.parsers.core.resumable import HOLD_LIMIT
from renderlayer.parsers.core.tool_machine import ToolMachine, ToolTypes
from renderlayer.parsers.tool_calls.tags import Tags
from renderlayer.parsers.values.arguments import ArgumentsWriter
from renderlayer.parsers.values.json_object import JsonReader
from renderlayer.parsers.values.json_scan import after_space
from renderlayer.parsers.values.schema import ANY_JSON, WRAPPERS, may_nest, to_json

_LONGEST_TAG = 256
_BEGUN = re.compile(
    r"""-|-?\d+\.|-?\d+(?:\.\d+)?[eE][-+]?|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|"(?:[^"\\]|\\[^u]|\\u[0-9a-fA-F]{4})*+"""
)
"""A number, constant or string of JSON that goes on."""
_NO_TAG = re.compile("[\n<]")


class ValueMachine(ToolMachine):
    """The phases inside a value: value (of a type that shows at its end), body (a string), nested (a long object).

    Memory, besides the frame's: the open call's name, its arguments so far, the types of the value at hand, and its
    reader where it is a long object or array.
    """

    memory: ClassVar[tuple[str, ...]] = (*ToolMachine.memory, "name", "writer", "letters", "given")

    def __init__(self, form: Tags, out: Emitter, alphabet: SpecialTokenMap, types: ToolTypes) -> None:
        super().__init__(form, out, alphabet)
        self.spec = form
        self.types = types
        self.writer = ArgumentsWriter(out)
        self.given = JsonReader()
        self.name = ""
        self.letters = ""

    def _wraps(self) -> bool:
        """Whether the parameter at hand may be a wrapper of the arguments."""
        key = self.writer.key
        return self.spec.unwraps and key in WRAPPERS and key not in self.types.get(self.name, {})

    def _value_end(self) -> tuple[re.Match[str] | None, int]:
        """What ends the value at `position`, and how far it is known to go. Only its own closer always does."""
        search = self.position
        while found := self.spec.value_ends.find(self.text, search):
            ends = found.group() in self.spec.value_closers or self._recovers(found)
            if ends:
                return found, found.start()
            if ends is None:
                return None, found.start()
            search = found.end()
        return None, max(search, self.safe_end(self.spec.value_ends))

    def _recovers(self, found: re.Match[str]) -> bool | None:
        """Whether a marker ends a value whose closer is missing, by what stands around it; None: more may tell."""
        spec, text = self.spec, self.text
        if found.group() in spec.call_closers:
            return self._call_over(found.end())
        line = found.start() == self.position and not self.writer.quoting
        if not spec.value_opener and not line and text[found.start() - 1 : found.start()] != "\n":
            return False
        if found.group() != spec.key_opener:
            return self._call_begins(found.start())
        ended, certain = self._tag(spec.key_ends, found.end())
        if ended is None or not spec.value_opener:
            return certain
        return self._stands(spec.value_begins, after_space(text, ended.end()))

    def _call_over(self, position: int) -> bool | None:
        """Whether the answer ends behind the end of a call, or the next call begins, in this region or another."""
        spec, text = self.spec, self.text
        for markers in (spec.region_ends, spec.region_starts):
            position = after_space(text, position)
            if position == len(text):
                return True if self.final else None
            if markers.may_begin(text, position) and not self.final:
                return None
            position += len(markers.at(text, position) or "")
        return self._call_begins(after_space(text, position))

    def _call_begins(self, position: int) -> bool | None:
        """Whether a call's opener, a name, and its first key or its end stand there."""
        spec = self.spec
        begins = self._stands(spec.call_starts, position)
        if not begins:
            return begins
        ended, certain = self._tag(spec.name_ends, position + len(spec.call_opener))
        if ended is None:
            return certain
        belongs = ended.group() == spec.key_opener or ended.group() in spec.call_closers
        return self._stands(spec.member_begins, after_space(self.text, ended.start() if belongs else ended.end()))

    def _tag(self, ends: Markers, start: int) -> tuple[re.Match[str] | None, bool | None]:
        """What ends a name or a key that begins there, and whether one stands there at all; None: more may tell."""
        stop = min(len(self.text), start + _LONGEST_TAG)
        ended = ends.pattern.search(self.text, start, stop)
        inside = self.alphabet.plain(
            self.text[start : ended.start() if ended else min(stop, ends.safe_end(self.text, start))]
        )
        if _NO_TAG.search(inside) or (ended and not inside.strip()) or (not ended and stop == start + _LONGEST_TAG):
            return None, False
        return ended, True if ended else self._later()

    def _stands(self, wanted: Markers, position: int) -> bool | None:
        """Whether one of the markers stands at `position`; None: more may tell."""
        if position == len(self.text):
            return self._later()
        if wanted.at(self.text, position):
            return True
        return self._later() if wanted.may_begin(self.text, position) else False

    def _later(self) -> bool | None:
        return False if self.final else None

    def value(self) -> bool:
        """Phase: in a value of a type that shows only when all of it is there."""
        start = self.position
        found, end = self._value_end()
        if end - start > HOLD_LIMIT:
            self.phase = "nested" if self._nests(start, end) else "body"
            return True
        if not found:
            return False
        json_text = to_json(self._plain(self._trimmed(start, end)), self.letters)
        (self.writer.merge if self._wraps() and json_text.startswith("{") else self.writer.member)(json_text)
        self._end_value(found)
        return True

    def _nests(self, start: int, end: int) -> bool:
        """Whether a value that is too long to wait for is an object or an array; then it is given out as it comes."""
        if not may_nest(self.text[start:end], self.letters) or not self.given.begins(self.text, start, end):
            return False
        self.writer.member("")
        return True

    def body(self) -> bool:
        """Phase: in a string, which is given out as it grows."""
        found, end = self._value_end()
        if not found and not self.final and self.text[self.position : end].endswith("\n"):
            end -= 1
        text = self._trimmed(self.position, end) if found else self.text[self.position : end]
        if text:
            self.writer.text(self._plain(text))
        self.position = end
        if not found:
            return False
        self.writer.end_text()
        self._end_value(found)
        return True

    def nested(self) -> bool:
        """Phase: in a long object or array; where it does not go on as JSON it is closed, and the rest is set aside."""
        found, end = self._value_end()
        written: list[str] = []
        self.position, status = self.given.read(self.text, self.position, end, bool(found) or self.final, written)
        if status == "broken" or (found and status == "more"):
            written.append(self.given.closing())
        self.out.arguments(self._plain("".join(written)))
        if status != "more" or found:
            self.phase = "members"
            self.given.reset()
            if found and not self.text[self.position : found.start()].strip():
                self._end_value(found)
            return True
        return False

    def _plain(self, text: str) -> str:
        """The text of a value: in it, tokens are what they spell."""
        return self.alphabet.plain(text)

    def _trimmed(self, start: int, end: int) -> str:
        if self.spec.trims_newline and end > start and self.text[end - 1] == "\n":
            end -= 1
        return self.text[start:end]

    def _end_value(self, found: re.Match[str]) -> None:
        self.position = found.end() if found.group() in self.spec.value_closers else found.start()
        self.phase = "members"

    def _cut_value(self) -> None:
        """Write a value that the end cuts off, if what there is of it is of its type."""
        text, letters = self._plain(self.held).strip(), self.letters
        self.held = ""
        if may_nest(text, letters) and self.given.begins(text, 0, len(text)):
            written: list[str] = []
            self.given.read(text, 0, len(text), True, written)
            self.writer.member("".join(written) + self.given.closing())
            return
        if ANY_JSON in letters and _BEGUN.fullmatch(text):
            text += '"' if text.startswith('"') else ""
            if not text.endswith('"'):
                return
        json_text = to_json(text, letters)
        if text and (not json_text.startswith('"') or "s" in letters or ANY_JSON in letters):
            self.writer.member(json_text)
