"""Formats that write each argument between tags; values become JSON by the tool's schema (wire.md 7.3)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from renderlayer.parsers.arguments import ArgumentsWriter
from renderlayer.parsers.emitter import Emitter
from renderlayer.parsers.json_object import JsonReader
from renderlayer.parsers.json_scan import after_space
from renderlayer.parsers.markers import Markers
from renderlayer.parsers.resumable import HOLD_LIMIT
from renderlayer.parsers.schema import ANY_JSON, WRAPPERS, may_nest, to_json
from renderlayer.parsers.tags import Tags
from renderlayer.parsers.tokens import Alphabet
from renderlayer.parsers.tool_machine import ToolMachine, ToolTypes

_WORD = re.compile(r"\s*+[^\s<]*+\s*+")
_SAID = re.compile(r"\w")
_LONGEST_TAG = 256
_NAME = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_DECLARED = re.compile(r"""\b(?:string\s*=\s*["']?(true|false)|type\s*=\s*["']?(\w+))""")


@dataclass(frozen=True, kw_only=True)
class Tagged(Tags):
    """Calls with tagged arguments."""

    def machine(self, out: Emitter, alphabet: Alphabet, types: ToolTypes | None) -> ToolMachine:
        return TaggedMachine(self, out, alphabet, types or {})


class TaggedMachine(ToolMachine):
    """Phases: content → opening → members → key → lead → value | body | nested → members → … → between | content.

    Memory, besides the frame's: the open call's name, its arguments so far, the types of the value at hand and its
    reader where it is a long object or array, whether a region is open, and what was said between arguments.
    """

    memory: ClassVar[tuple[str, ...]] = (*ToolMachine.memory, "name", "writer", "letters", "given", "inside", "aside")
    phases: ClassVar[tuple[str, ...]] = (
        "content",
        "opening",
        "members",
        "key",
        "lead",
        "value",
        "body",
        "nested",
        "between",
    )

    def __init__(self, form: Tagged, out: Emitter, alphabet: Alphabet, types: ToolTypes) -> None:
        super().__init__(form, out, alphabet)
        self.spec = form
        self.types = types
        self.writer = ArgumentsWriter(out)
        self.given = JsonReader()
        self.name = ""
        self.letters = ""
        self.inside = False
        self.aside = ""

    def opening(self) -> bool:
        """Phase: at what opens a region or a call; the name decides whether it is one."""
        spec, text, start = self.spec, self.text, self.position
        stop = min(len(text), start + HOLD_LIMIT)
        outside = "between" if self.inside else "content"
        opened = spec.starts.at(text, start) or ""
        position = start + len(opened)
        if opened != spec.call_opener:
            edge = spec.edges.pattern.search(text, position, stop)
            if not edge:
                return self.wait(start, outside)
            if edge.group() in spec.closers:
                return self.fail(edge.start(), outside)
            if edge.group() != spec.call_opener:
                self.speak()
                self.position = edge.start()  # a region that opens twice opens once
                return True
            position = edge.end()
        ended = spec.name_ends.pattern.search(text, position, stop)
        if spec.bare_name and not self._may_be_name(position, ended.start() if ended else stop):
            return self.fail(position, outside)
        if not ended:
            return self.wait(start, outside)
        self.inside = self.inside or opened != spec.call_opener
        return self._begin_call(_attribute(text[position : ended.start()]), ended)

    def _may_be_name(self, start: int, stop: int) -> bool:
        """Whether nothing but one word stands there, or the beginning of it and of what ends it."""
        word = _WORD.match(self.text, start, stop)
        end = word.end() if word else start
        return end == stop or self.spec.name_ends.may_begin(self.text, end)

    def _begin_call(self, name: str, ended: re.Match[str]) -> bool:
        """Begin the call of that name, which `ended` ends, if it may be called; otherwise it is text."""
        spec = self.spec
        known = not self.types or name in self.types
        if not name or (not known and spec.unknown == "text"):
            return self.fail(ended.end() if name else ended.start(), "between" if self.inside else "content")
        self.begin(name)
        belongs = ended.group() == spec.key_opener or ended.group() in spec.call_closers
        self.position = ended.start() if belongs else ended.end()
        self.name = name
        self.phase = "members"
        self.writer.reset()
        return True

    def members(self) -> bool:
        """Phase: in a call, between its arguments; what is said there is told after the call."""
        found = self.spec.member_ends.find(self.text, self.position)
        end = found.start() if found else self.spec.member_ends.safe_end(self.text, self.position)
        if not self._set_aside(end):
            return True
        if not found:
            return False
        if not _SAID.search(self.aside):
            self.aside = ""
        if found.group() == self.spec.key_opener:
            self.position = found.end()
            self.phase = "key"
            return True
        self._end_call()
        if found.group() in self.spec.call_closers:
            self.position = found.end()
        return True

    def _set_aside(self, end: int) -> bool:
        """Keep what stands before `end` for after the call; False: it is too much, and the call ends with it."""
        text = self.text[self.position : end] if self.aside else self.text[self.position : end].lstrip()
        kept = text[: HOLD_LIMIT - len(self.aside)]
        self.aside += kept
        self.position = end - len(text) + len(kept)
        if kept != text:
            self._end_call()
        return kept == text

    def _end_call(self) -> None:
        self.writer.end()
        self.name = ""
        self.phase = "between" if self.inside else "content"
        if _SAID.search(self.aside):
            self.spoken = True
            self.out.content(self.readable(self.aside))
        self.aside = ""

    def key(self) -> bool:
        """Phase: behind a key's opener."""
        stop = min(len(self.text), self.position + HOLD_LIMIT)
        found = self.spec.key_ends.pattern.search(self.text, self.position, stop)
        if not found:
            if stop - self.position == HOLD_LIMIT:
                self.phase = "members"
                return True
            return False
        tag = self.text[self.position : found.start()]
        self.position = found.end()
        self.writer.key = _attribute(tag)
        self.letters = self._types_of(tag)
        self.phase = "lead"
        return True

    def _types_of(self, tag: str) -> str:
        """The type letters of the value behind a key's tag: what the tag says, or the schema; "" for a string."""
        declared = _DECLARED.search(tag) if "=" in tag else None
        if declared:
            return "" if declared.group(1) == "true" or declared.group(2) == "string" else ANY_JSON
        if self._wraps():
            return ANY_JSON
        letters = self.types.get(self.name, {}).get(self.writer.key, self.spec.untyped)
        return "" if letters == "s" else letters

    def _wraps(self) -> bool:
        """Whether the parameter at hand may be a wrapper of the arguments."""
        key = self.writer.key
        return self.spec.unwraps and key in WRAPPERS and key not in self.types.get(self.name, {})

    def lead(self) -> bool:
        """Phase: before a value, where its opener and one line break may stand."""
        opener = self.spec.value_opener
        if opener:
            wanted = self.spec.value_starts
            found = wanted.find(self.text, self.position)
            if not self._set_aside(found.start() if found else self.safe_end(wanted)):
                return True
            if not found:
                return False
            if found.group() != opener:
                self.phase = "members"
                return True
            self.position = found.end()
        elif self.spec.trims_newline:
            if self.position == len(self.text):
                return False
            if self.text[self.position] == "\n":
                self.position += 1
        self.phase = "value" if self.letters else "body"
        return True

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
        spec, text, position = self.spec, self.text, found.end()
        stop = min(len(text), position + HOLD_LIMIT)
        if found.group() in spec.call_closers:
            return self._stands(spec.call_behind, after_space(text, position, stop), at_end=True)
        line = found.start() == self.position and not self.writer.quoting
        if not spec.value_opener and not line and text[found.start() - 1 : found.start()] != "\n":
            return False
        is_key = found.group() == spec.key_opener
        ended = (spec.key_ends if is_key else spec.name_ends).pattern.search(text, position, stop)
        inside = text[position : ended.start() if ended else stop]
        if "\n" in inside or "<" in inside or len(inside) > _LONGEST_TAG or not (inside.strip() or not ended):
            return False
        if not ended:
            return self._later()
        if is_key and not spec.value_opener:
            return True
        behind = spec.value_begins if is_key else spec.member_begins
        begin = ended.start() if not is_key and ended.group() in (spec.key_opener, *spec.call_closers) else ended.end()
        return self._stands(behind, after_space(text, begin, stop))

    def _stands(self, wanted: Markers, position: int, at_end: bool = False) -> bool | None:
        """Whether one of the markers, or with `at_end` the end of the answer, stands at `position`."""
        if position == len(self.text):
            return at_end if self.final else None
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
        if not may_nest(self.text[start:end], self.letters):
            return False
        self.given.reset()
        written: list[str] = []
        status = self.given.read(self.text, start, end, False, written)[1]
        self.given.reset()
        if status == "broken" or not written:
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

    def between(self) -> bool:
        """Phase: in a region, after a call; what is no tag is text."""
        found = self.spec.landmarks.find(self.text, self.position)
        end = found.start() if found else self.spec.landmarks.safe_end(self.text, self.position)
        if self.text[self.position : end].strip():
            self.say(end)
            self.speak()
        self.position = end
        if not found or (self.spec.landmarks.may_begin(self.text, end) and not self.final):
            return False
        if found.group() not in self.spec.edges.literals:
            self.position = found.end()
        elif found.group() in self.spec.closers:
            self.position = found.end()
            self.inside = False
            self.phase = "content"
        else:
            self.phase = "opening"
        return True

    def finish(self) -> None:
        super().finish()
        if not self.name:
            return
        if self.phase == "value":
            self._cut_value()
        elif self.phase == "nested":
            self.out.arguments(self.given.closing())
        self._end_call()

    def _cut_value(self) -> None:
        """Write a value that the end cuts off, if what there is of it is of its type."""
        text = self._plain(self.held).strip()
        if text and ("s" in self.letters or not to_json(text, self.letters).startswith('"') or text.startswith('"')):
            self.writer.member(to_json(text, self.letters))
        self.held = ""


def _attribute(tag: str) -> str:
    """The first word of a tag's inside, or what its quotes hold."""
    if tag.isidentifier():
        return tag
    match = _NAME.match(tag)
    return next((group for group in match.groups() if group is not None), "").strip() if match else ""
