"""Formats that write each argument between tags; values become JSON by the tool's schema (wire.md 7.3)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from renderlayer.parsers.core.emitter import Emitter
from renderlayer.parsers.core.markers import SpecialTokenMap
from renderlayer.parsers.core.resumable import HOLD_LIMIT
from renderlayer.parsers.core.tool_machine import ToolMachine, ToolTypes
from renderlayer.parsers.tool_calls.tag_values import ValueMachine
from renderlayer.parsers.tool_calls.tags import Tags
from renderlayer.parsers.values.json_scan import after_space
from renderlayer.parsers.values.schema import ANY_JSON

_WORD = re.compile(r"\s*+[^\s<]*+\s*+")
_SAID = re.compile(r"\w")
_NAME = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_DECLARED = re.compile(r"""\b(?:string\s*=\s*["']?(true|false)|type\s*=\s*["']?(\w+))""")


@dataclass(frozen=True, kw_only=True)
class Tagged(Tags):
    """Calls with tagged arguments."""

    def machine(self, out: Emitter, alphabet: SpecialTokenMap, types: ToolTypes | None) -> ToolMachine:
        return TaggedMachine(self, out, alphabet, types or {})


class TaggedMachine(ValueMachine):
    """Phases: content → opening → members → key → lead → value | body | nested → members → … → between | content.

    Memory, besides that of values: whether a region is open, and what was said between arguments.
    """

    memory: ClassVar[tuple[str, ...]] = (*ValueMachine.memory, "inside", "aside")
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
        "behind",
        "written",
    )

    def __init__(self, form: Tagged, out: Emitter, alphabet: SpecialTokenMap, types: ToolTypes) -> None:
        super().__init__(form, out, alphabet, types)
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
            if self._said(position, edge.start() if edge else min(stop, spec.landmarks.safe_end(text, position))):
                return self.fail(position, outside)
            if not edge:
                return self.wait(start, outside)
            if edge.group() in spec.closers:
                return self.fail(edge.start(), outside)
            if edge.group() != spec.call_opener:
                self.flush()
                self.position = edge.start()  # a region that opens twice opens once
                return True
            position = edge.end()
        ended = spec.name_ends.pattern.search(text, position, stop)
        if spec.bare_name and not self._may_be_name(position, ended.start() if ended else stop):
            return self.fail(position, outside)
        if not ended:
            return self.wait(start, outside)
        belongs = ended.group() == spec.key_opener or ended.group() in spec.call_closers
        member = spec.member_ends.pattern.search(text, ended.start() if belongs else ended.end(), stop)
        if not member:
            return self.wait(start, outside)
        if member.group() in spec.starts.literals:
            return self.fail(member.start(), outside)
        return self._begin_call(_attribute(text[position : ended.start()]), ended, opened != spec.call_opener)

    def _said(self, start: int, end: int) -> bool:
        """Whether words stand there, and not only what stands around calls."""
        gap = self.text[start:end]
        for filler in sorted(self.spec.fillers, key=len, reverse=True):
            gap = gap.replace(filler, "")
        return _SAID.search(gap) is not None

    def _may_be_name(self, start: int, stop: int) -> bool:
        """Whether nothing but one word stands there, or the beginning of it and of what ends it."""
        word = _WORD.match(self.text, start, stop)
        end = word.end() if word else start
        return end == stop or self.spec.name_ends.may_begin(self.text, end)

    def _begin_call(self, name: str, ended: re.Match[str], region: bool) -> bool:
        """Begin the call of that name, which `ended` ends, if it may be called; otherwise it is text.

        Args:
            region: what opened it opens a region, too.
        """
        spec = self.spec
        known = not self.types or name in self.types
        if not name or (not known and spec.unknown == "text"):
            return self.fail(ended.end() if name else ended.start(), "between" if self.inside else "content")
        self.inside = self.inside or region
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
        self.phase = "between" if self.inside else "behind"
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
        self.writer.key = self.alphabet.plain(_attribute(tag))
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

    def between(self) -> bool:
        """Phase: in a region, after a call; what is no tag is text."""
        self.flush()
        if not self.spoken:
            self.position = after_space(self.text, self.position)
        found = self.spec.landmarks.find(self.text, self.position)
        end = found.start() if found else self.spec.landmarks.safe_end(self.text, self.position)
        self.queue(end)
        self.flush()
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

    def behind(self) -> bool:
        """Phase: behind a call that stood in no region, to which the closer of one belongs."""
        text, wanted = self.text, self.spec.region_ends
        position = after_space(text, self.position)
        closer = wanted.at(text, position)
        waits = wanted.literals and (position == len(text) or wanted.may_begin(text, position))
        if not closer and waits and not self.final and len(text) - self.position < HOLD_LIMIT:
            return False
        self.position = position + len(closer) if closer else self.position
        self.phase = "content"
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


def _attribute(tag: str) -> str:
    """The first word of a tag's inside, or what its quotes hold."""
    if tag.isidentifier():
        return tag
    match = _NAME.match(tag)
    return next((group for group in match.groups() if group is not None), "").strip() if match else ""
