"""Formats that write each argument between tags; values become JSON by the tool's schema (wire.md 7.3)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from renderlayer.parsers.arguments import ArgumentsWriter
from renderlayer.parsers.emitter import Emitter
from renderlayer.parsers.markers import Markers
from renderlayer.parsers.resumable import HOLD_LIMIT
from renderlayer.parsers.schema import ANY_JSON, to_json
from renderlayer.parsers.tokens import Alphabet
from renderlayer.parsers.tool_machine import ToolFormat, ToolMachine, ToolTypes

_NAME = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_IS_STRING = re.compile(r"""\bstring\s*=\s*["']?(true|false)|\btype\s*=\s*["']?(\w+)""")


@dataclass(frozen=True, kw_only=True)
class Tagged(ToolFormat):
    """Calls with tagged arguments.

    Attributes:
        closers: what ends a region; without openers a call stands by itself.
        call_opener, call_closers: around a call; the name follows the opener.
        name_closers: what ends the name; a key's opener or a call's closer among them is not consumed.
        key_opener, key_closer: around a key.
        value_opener: what a value begins with, if anything stands between it and its key.
        value_closers: what ends a value; the next key or the call's end does as well.
        trims_newline: one line break on each side of a value does not belong to it.
        untyped: type letters of values of which the schema says nothing (`schema.py`).
        unknown: what becomes of calls to functions that were not given.
        cut: how the arguments of a call end that the answer's end cuts off: closed; left open (the empty object if
            they had not begun); or left open without more.
    """

    closers: tuple[str, ...] = ()
    call_opener: str
    call_closers: tuple[str, ...]
    name_closers: tuple[str, ...] = (">",)
    key_opener: str
    key_closer: str = ">"
    value_opener: str = ""
    value_closers: tuple[str, ...]
    trims_newline: bool = False
    untyped: str = ""
    unknown: Literal["keep", "drop", "text"] = "keep"
    cut: Literal["close", "open", "bare"] = "open"
    needs_types: bool = True

    marker_fields: ClassVar[tuple[str, ...]] = (
        "openers",
        "closers",
        "call_opener",
        "call_closers",
        "name_closers",
        "key_opener",
        "key_closer",
        "value_opener",
        "value_closers",
    )

    @cached_property
    def starts(self) -> Markers:
        return Markers([*self.openers, self.call_opener])

    @cached_property
    def edges(self) -> Markers:
        """What begins or ends a region, or begins a call."""
        return Markers([*self.openers, self.call_opener, *self.closers])

    @cached_property
    def name_ends(self) -> Markers:
        """What ends a call's name."""
        return Markers(self.name_closers)

    @cached_property
    def key_ends(self) -> Markers:
        """What ends a key."""
        return Markers([self.key_closer])

    @cached_property
    def value_starts(self) -> Markers:
        """What is looked for between a key and its value."""
        return Markers([self.value_opener, self.key_opener, *self._call_ends])

    @cached_property
    def member_ends(self) -> Markers:
        """What is looked for between arguments."""
        return Markers([self.key_opener, *self._call_ends])

    @cached_property
    def value_ends(self) -> Markers:
        """What ends a value."""
        return Markers([self.key_opener, *self.value_closers, *self._call_ends])

    @property
    def _call_ends(self) -> tuple[str, ...]:
        return (*self.call_closers, *self.closers, self.call_opener, *self.openers)

    def machine(self, out: Emitter, alphabet: Alphabet, types: ToolTypes | None) -> ToolMachine:
        return TaggedMachine(self, out, alphabet, types or {})


class TaggedMachine(ToolMachine):
    """Phases: content → opening → members → key → value | text | nested → members → … → between | content.

    Memory, besides the frame's: the open call's name, its arguments so far, the types of the value at hand, and
    whether a region is open, a call is being skipped, and a value has begun.
    """

    memory: ClassVar[tuple[str, ...]] = (*ToolMachine.memory, "name", "writer", "letters", "inside", "skipped")
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
        self.name = ""
        self.letters = ""
        self.inside = False
        self.skipped = False

    def opening(self) -> bool:
        """Phase: at what opens a region or a call; the name decides whether it is one."""
        spec, text, start = self.spec, self.text, self.position
        stop = min(len(text), start + HOLD_LIMIT)
        opener = spec.starts.at(text, start) or ""
        position = start + len(opener)
        if opener != spec.call_opener:
            call = self.spec.edges.pattern.search(text, position, stop)
            if not call:
                return self.wait(start, "content")
            if call.group() != spec.call_opener:
                return (
                    self.fail(call.start(), "content") if call.group() in spec.closers else self._reopen(call.start())
                )
            position = call.end()
        ended = spec.name_ends.pattern.search(text, position, stop)
        if not ended:
            return self.wait(start, "content")
        name = _attribute(text[position : ended.start()])
        self.inside = self.inside or opener != spec.call_opener
        if not name:
            return self.fail(ended.start(), "content")
        known = not self.types or name in self.types
        if not known and spec.unknown == "text":
            return self.fail(ended.end(), "content")
        consumed = ended.group() not in (spec.key_opener, *spec.call_closers)
        self.position = ended.end() if consumed else ended.start()
        self.skipped = not known and spec.unknown == "drop"
        self.name = name
        self.phase = "members"
        self.writer.reset()
        if not self.skipped:
            self.begin(name)
        return True

    def _reopen(self, position: int) -> bool:
        """A region that opens twice opens once."""
        self.position = position
        return True

    def members(self) -> bool:
        """Phase: in a call, between its arguments; what is no tag is dropped."""
        found = self.spec.member_ends.find(self.text, self.position)
        if not found:
            self.position = self.safe_end(self.spec.member_ends)
            return False
        self.position = found.start()
        if found.group() == self.spec.key_opener:
            self.position = found.end()
            self.phase = "key"
            return True
        self._end_call()
        if found.group() in self.spec.call_closers:
            self.position = found.end()
        return True

    def _end_call(self) -> None:
        if not self.skipped:
            self.writer.end()
        self.name = ""
        self.skipped = False
        self.phase = "between" if self.inside else "content"

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
        declared = _IS_STRING.search(tag)
        if declared:
            self.letters = "" if "true" in declared.groups() or "string" in declared.groups() else ANY_JSON
        else:
            self.letters = self.types.get(self.name, {}).get(self.writer.key, self.spec.untyped)
        self.phase = "lead"
        return True

    def lead(self) -> bool:
        """Phase: before a value, where its opener and one line break may stand; what precedes the opener is dropped."""
        opener = self.spec.value_opener
        if opener:
            wanted = self.spec.value_starts
            found = wanted.find(self.text, self.position)
            if not found:
                self.position = self.safe_end(wanted)
                return False
            self.position = found.start()
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

    def value(self) -> bool:
        """Phase: in a value of a type that shows only when all of it is there."""
        start = self.position
        found = self.spec.value_ends.find(self.text, start)
        end = found.start() if found else self.safe_end(self.spec.value_ends)
        if end - start > HOLD_LIMIT:
            first = self.text[start:end].lstrip()[:1]
            nested = (first == "{" and "o" in self.letters) or (first == "[" and "a" in self.letters)
            self.phase = "nested" if nested or (first in "{[" and ANY_JSON in self.letters) else "body"
            if self.phase == "nested" and not self.skipped:
                self.writer.member("")
            return True
        if not found:
            return False
        text = self.readable(self._trimmed(start, end))
        if not self.skipped:
            self.writer.member(to_json(text, self.letters))
        self._end_value(found)
        return True

    def body(self) -> bool:
        """Phase: in a string, which is given out as it grows."""
        found = self.spec.value_ends.find(self.text, self.position)
        end = found.start() if found else self.safe_end(self.spec.value_ends)
        if not found and not self.final and self.spec.trims_newline and self.text[self.position : end].endswith("\n"):
            end -= 1
        text = self._trimmed(self.position, end) if found else self.text[self.position : end]
        if not self.skipped and text:
            self.writer.text(self.readable(text))
        self.position = end
        if not found:
            return False
        if not self.skipped:
            self.writer.end_text()
        self._end_value(found)
        return True

    def nested(self) -> bool:
        """Phase: in an object or array that is too long to wait for: it is given out as it stands."""
        found = self.spec.value_ends.find(self.text, self.position)
        end = found.start() if found else self.safe_end(self.spec.value_ends)
        if not self.skipped:
            self.out.arguments(self.readable(self.text[self.position : end]))
        self.position = end
        if not found:
            return False
        self._end_value(found)
        return True

    def _trimmed(self, start: int, end: int) -> str:
        if self.spec.trims_newline and end > start and self.text[end - 1] == "\n":
            end -= 1
        return self.text[start:end]

    def _end_value(self, found: re.Match[str]) -> None:
        self.position = found.end() if found.group() in self.spec.value_closers else found.start()
        self.phase = "members"

    def between(self) -> bool:
        """Phase: in a region, after a call; what is no tag is dropped."""
        found = self.spec.edges.find(self.text, self.position)
        if not found:
            self.position = self.safe_end(self.spec.edges)
            return False
        self.position = found.start()
        if found.group() in self.spec.closers:
            self.position = found.end()
            self.inside = False
            self.phase = "content"
        else:
            self.phase = "opening"
        return True

    def finish(self) -> None:
        super().finish()
        if self.name and not self.skipped:
            if self.spec.cut == "close":
                self.writer.end()
            elif self.spec.cut == "open":
                self.end_call()


def _attribute(tag: str) -> str:
    """The first word of a tag's inside, or what its quotes hold."""
    match = _NAME.match(tag)
    return next((group for group in match.groups() if group is not None), "").strip() if match else ""
