"""Formats that write calls as Python does: name(key=value, …), in a list or line by line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from renderlayer.parsers.core.emitter import Emitter
from renderlayer.parsers.core.markers import SpecialTokenMap
from renderlayer.parsers.core.resumable import HOLD_LIMIT
from renderlayer.parsers.core.tool_machine import ToolMachine, ToolTypes
from renderlayer.parsers.tool_calls.region import RegionFormat, RegionMachine
from renderlayer.parsers.values.arguments import ArgumentsWriter
from renderlayer.parsers.values.headers import Failed, Header, ParseContext
from renderlayer.parsers.values.json_scan import after_space
from renderlayer.parsers.values.python_value import PythonValue

_NAME = re.compile(r"[^\W\d][\w.-]*+")
_KEY = re.compile(r"[^\W\d][\w-]*+")
_BEFORE_KEY = re.compile(r"[\s,]*+")


@dataclass(frozen=True, kw_only=True)
class PythonCalls(RegionFormat):
    """Calls in Python notation."""

    def machine(self, out: Emitter, alphabet: SpecialTokenMap, types: ToolTypes | None) -> ToolMachine:
        return PythonCallsMachine(self, out, alphabet)


class PythonCallsMachine(RegionMachine):
    """Phases of a call: key → value → key → … → between; what is no argument ends the call (loose).

    Memory, besides the region's: the arguments so far, and the value at hand.
    """

    memory: ClassVar[tuple[str, ...]] = (*RegionMachine.memory, "writer", "python")
    phases: ClassVar[tuple[str, ...]] = (*RegionMachine.phases, "key", "value")
    bare_start: ClassVar[re.Pattern[str]] = re.compile(r"\[")
    call_start: ClassVar[re.Pattern[str]] = _NAME

    def __init__(self, form: RegionFormat, out: Emitter, alphabet: SpecialTokenMap) -> None:
        super().__init__(form, out, alphabet)
        self.writer = ArgumentsWriter(out)
        self.python = PythonValue()

    def read(self, position: int, stop: int) -> ParseContext:
        text = self.text
        name = _NAME.match(text, position, stop)
        if not name:
            return Failed(position)
        position = after_space(text, name.end(), stop)
        if position == stop:
            return None
        if text[position] != "(":
            return Failed(position)
        position = after_space(text, position + 1, stop)
        if position == stop:
            return None
        if text[position] == ")":
            return Header(name.group(), position + 1, closed=True)
        value = _value_start(text, position, stop)
        if value is None or isinstance(value, Failed):
            return value
        written, used, status = PythonValue().convert(text[value:stop], 0, False)
        if written:
            return Header(name.group(), position)
        return Failed(value + used) if status == "broken" else None

    def begin_call(self, header: Header) -> None:
        self.writer.reset()
        self.phase = "key"
        if header.closed:
            self.writer.end()
            self.phase = "between"

    def key(self) -> bool:
        """Phase: before an argument or the end of the call."""
        text, match = self.text, _BEFORE_KEY.match(self.text, self.position)
        self.position = match.end() if match else self.position
        if self.position == len(text):
            return False
        if text[self.position] == ")":
            self.position += 1
            self.writer.end()
            self.phase = "between"
            return True
        stop = min(len(text), self.position + HOLD_LIMIT)
        start = _value_start(text, self.position, stop)
        if start is None and stop < self.position + HOLD_LIMIT and not self.final:
            return False
        if start is None or isinstance(start, Failed):
            return self._break_off()
        key = _KEY.match(text, self.position)
        self.writer.key = key.group() if key else ""
        self.position = start
        self.python.reset()
        self.phase = "value"
        return True

    def value(self) -> bool:
        """Phase: in an argument's value."""
        begun = self.python.written
        start = self.position
        json_text, self.position, status = self.python.convert(self.text, start, self.final)
        json_text = self.alphabet.plain(json_text)
        if json_text and not begun:
            self.writer.member(json_text)
        else:
            self.out.arguments(json_text)
        if status == "more":
            return False
        if status == "broken":
            self._close_value()
            return self._break_off()
        self.phase = "key"
        return True

    def _close_value(self) -> None:
        """Close a value that does not go on."""
        closing = self.python.closing()
        if self.python.written:
            self.out.arguments(closing)
        elif closing.strip('[]{}"'):
            self.writer.member(closing)

    def _break_off(self) -> bool:
        """End a call that does not go on as Python's grammar has it; the rest is text."""
        self.writer.end()
        self.phase = "loose"
        return True

    def finish(self) -> None:
        super().finish()
        if self.phase == "value":
            self._close_value()
        if self.phase in ("key", "value"):
            self.writer.end()


def _value_start(text: str, position: int, stop: int) -> int | Failed | None:
    """Where the value of the argument at `position` begins."""
    key = _KEY.match(text, position, stop)
    if not key:
        return Failed(position)
    position = after_space(text, key.end(), stop)
    if position == stop:
        return None
    if text[position] != "=":
        return Failed(position)
    position = after_space(text, position + 1, stop)
    return None if position == stop else position
