"""Formats that write each argument between tags; values become JSON by the tool's schema (wire.md 7.3)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from renderlayer.parsers.arguments import ArgumentsWriter
from renderlayer.parsers.emitter import Emitter
from renderlayer.parsers.resumable import HOLD_LIMIT
from renderlayer.parsers.schema import ANY_JSON, WRAPPERS, may_nest, to_json
from renderlayer.parsers.tags import Tags
from renderlayer.parsers.tokens import Alphabet
from renderlayer.parsers.tool_machine import ToolMachine, ToolTypes

_NAME = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_DECLARED = re.compile(r"""\b(?:string\s*=\s*["']?(true|false)|type\s*=\s*["']?(\w+))""")


@dataclass(frozen=True, kw_only=True)
class Tagged(Tags):
    """Calls with tagged arguments."""

    def machine(self, out: Emitter, alphabet: Alphabet, types: ToolTypes | None) -> ToolMachine:
        return TaggedMachine(self, out, alphabet, types or {})


class TaggedMachine(ToolMachine):
    """Phases: content → opening → members → key → lead → value | body | nested → members → … → between | content.

    Memory, besides the frame's: the open call's name, its arguments so far, the types of the value at hand, and
    whether a region is open and a call is being skipped.
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
        opened = spec.starts.at(text, start) or ""
        position = start + len(opened)
        if opened != spec.call_opener:
            edge = spec.edges.pattern.search(text, position, stop)
            if not edge:
                return self.wait(start, "content")
            if edge.group() in spec.closers:
                return self.fail(edge.start(), "content")
            if edge.group() != spec.call_opener:
                self.speak()
                self.position = edge.start()  # a region that opens twice opens once
                return True
            position = edge.end()
        ended = spec.name_ends.pattern.search(text, position, stop)
        if not ended:
            return self.wait(start, "content")
        self.inside = self.inside or opened != spec.call_opener
        return self._begin_call(_attribute(text[position : ended.start()]), ended)

    def _begin_call(self, name: str, ended: re.Match[str]) -> bool:
        """Begin the call of that name, which `ended` ends, if it may be called."""
        spec = self.spec
        known = not self.types or name in self.types
        if not name or (not known and spec.unknown == "text"):
            return self.fail(ended.end() if name else ended.start(), "content")
        self.skipped = not known and spec.unknown == "drop"
        if self.skipped:
            self.speak()
        else:
            self.begin(name)
        belongs = ended.group() == spec.key_opener or ended.group() in spec.call_closers
        self.position = ended.start() if belongs else ended.end()
        self.name = name
        self.phase = "members"
        self.writer.reset()
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
            self.phase = "nested" if may_nest(self.text[start:end], self.letters) else "body"
            if self.phase == "nested" and not self.skipped:
                self.writer.member("")
            return True
        if not found:
            return False
        json_text = to_json(self.readable(self._trimmed(start, end)), self.letters)
        if not self.skipped:
            write = self.writer.merge if self._wraps() and json_text.startswith("{") else self.writer.member
            write(json_text)
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
    if tag.isidentifier():
        return tag
    match = _NAME.match(tag)
    return next((group for group in match.groups() if group is not None), "").strip() if match else ""
