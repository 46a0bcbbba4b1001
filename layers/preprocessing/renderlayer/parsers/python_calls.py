"""Formats that write calls as Python does: name(key=value, …), in a list or line by line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from renderlayer.parsers.arguments import ArgumentsWriter
from renderlayer.parsers.emitter import Emitter
from renderlayer.parsers.headers import Failed, Header, Reading
from renderlayer.parsers.json_scan import after_space
from renderlayer.parsers.python_value import PythonValue
from renderlayer.parsers.region import RegionFormat, RegionMachine
from renderlayer.parsers.resumable import HOLD_LIMIT
from renderlayer.parsers.tokens import Alphabet
from renderlayer.parsers.tool_machine import ToolMachine, ToolTypes

_NAME = re.compile(r"[^\W\d][\w.]*+")
_KEY = re.compile(r"[^\W\d]\w*+")
_BEFORE_KEY = re.compile(r"[\s,]*+")


@dataclass(frozen=True, kw_only=True)
class PythonCalls(RegionFormat):
    """Calls in Python notation."""

    def machine(self, out: Emitter, alphabet: Alphabet, types: ToolTypes | None) -> ToolMachine:
        return PythonCallsMachine(self, out, alphabet)


class PythonCallsMachine(RegionMachine):
    """Phases of a call: key → value → key → … → between; what is no argument ends the call (skipping).

    Memory, besides the region's: the arguments so far, the value at hand, and whether it has begun.
    """

    memory: ClassVar[tuple[str, ...]] = (*RegionMachine.memory, "writer", "python", "begun")
    phases: ClassVar[tuple[str, ...]] = (*RegionMachine.phases, "key", "value")
    bare_start: ClassVar[re.Pattern[str]] = re.compile(r"\[")
    call_start: ClassVar[re.Pattern[str]] = _NAME

    def __init__(self, form: RegionFormat, out: Emitter, alphabet: Alphabet) -> None:
        super().__init__(form, out, alphabet)
        self.writer = ArgumentsWriter(out)
        self.python = PythonValue()
        self.begun = False

    def read(self, position: int, stop: int) -> Reading:
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
        return Header(name.group(), position)

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
        if start is None and stop < self.position + HOLD_LIMIT:
            return False
        if start is None or isinstance(start, Failed):
            self.position = start.position if start else stop
            self.phase = "skipping"
            return True
        key = _KEY.match(text, self.position)
        self.writer.key = key.group() if key else ""
        self.position = start
        self.python.reset()
        self.begun = False
        self.phase = "value"
        return True

    def value(self) -> bool:
        """Phase: in an argument's value."""
        json_text, self.position, complete = self.python.convert(self.text, self.position, self.final)
        json_text = self.alphabet.plain(json_text)
        if json_text and not self.begun:
            self.begun = True
            self.writer.member(json_text)
        else:
            self.out.arguments(json_text)
        if complete:
            self.phase = "key"
        return complete


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
