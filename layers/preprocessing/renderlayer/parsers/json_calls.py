"""Formats whose arguments are a JSON value: calls written as JSON objects, or as a header and the arguments."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from renderlayer.parsers.emitter import Emitter
from renderlayer.parsers.headers import Failed, Header, Reading, read_keyed, read_object
from renderlayer.parsers.json_scan import BEFORE, JsonScan, after_space
from renderlayer.parsers.markers import markers
from renderlayer.parsers.resumable import HOLD_LIMIT
from renderlayer.parsers.tokens import Alphabet
from renderlayer.parsers.tool_machine import ToolFormat, ToolMachine, ToolTypes

_BETWEEN = re.compile(r"[\s,;\]}`]*+")
_BARE_START = re.compile(r"\{|\[\s*+\{")
_BARE_PARTIAL = re.compile(r"(?:\[\s*+)?\Z")


@dataclass(frozen=True, kw_only=True)
class JsonCalls(ToolFormat):
    """Calls with JSON arguments.

    Attributes:
        closers: what ends a region of calls; without any, everything after the last call is outside.
        bare: calls are found only at the beginning of the text, with or without an opener.
        names, arguments: keys of a call written as an object.
        keyed: a call is written as {"NAME": arguments} instead.
        eager: see `headers.read_object`.
        bare_call: an object without arguments is a call.
        call_opener: what begins each call that has a header.
        head: regular expression of a header, with groups `name` and perhaps `id`; "" for calls written as objects.
        arguments_openers: what ends a header; one that begins with "{" is part of the arguments.
        call_closers: what ends a call's arguments, wherever it stands.
    """

    closers: tuple[str, ...] = ()
    bare: bool = False
    names: tuple[str, ...] = ("name",)
    arguments: tuple[str, ...] = ("arguments",)
    keyed: bool = False
    eager: bool = True
    bare_call: bool = True
    call_opener: str = ""
    head: str = ""
    arguments_openers: tuple[str, ...] = ()
    call_closers: tuple[str, ...] = ()

    marker_fields: ClassVar[tuple[str, ...]] = (
        "openers",
        "closers",
        "call_opener",
        "arguments_openers",
        "call_closers",
    )

    def machine(self, out: Emitter, alphabet: Alphabet, types: ToolTypes | None) -> ToolMachine:
        return JsonCallsMachine(self, out, alphabet)


class JsonCallsMachine(ToolMachine):
    """Phases: (first →) content → opening → arguments → (tail →) between → opening | skipping | content."""

    memory: ClassVar[tuple[str, ...]] = (*ToolMachine.memory, "scan", "inside")
    phases: ClassVar[tuple[str, ...]] = (
        "content",
        "first",
        "opening",
        "arguments",
        "tail",
        "between",
        "skipping",
        "plain",
    )

    def __init__(self, form: JsonCalls, out: Emitter, alphabet: Alphabet) -> None:
        super().__init__(form, out, alphabet)
        self.spec = form
        self.scan = JsonScan()
        self.inside = False
        self.phase = "first" if form.bare else "content"
        self._outside = "plain" if form.bare else "content"
        self._starts = self._openers = markers(*form.openers, form.call_opener)
        self._ends = markers(*form.closers, *form.call_closers)
        self._stops = markers(
            *form.closers, *form.call_closers, *((form.call_opener, *form.openers) if form.head else ())
        )

    def first(self) -> bool:
        """Phase: before anything but white space."""
        text, start = self.text, after_space(self.text, 0)
        if _BARE_START.match(text, start) or self._starts.at(text, start):
            self.phase = "opening"
            return True
        if _BARE_PARTIAL.match(text, start) or self._starts.may_begin(text, start):
            return self.wait(0, "plain")
        self.phase = "plain"
        return True

    def plain(self) -> bool:
        """Phase: no calls will come."""
        self.say(len(self.text))
        return False

    def opening(self) -> bool:
        """Phase: at an opener, or after a call at what looks like another one."""
        text, start = self.text, self.position
        position = self._after_openers(start)
        stop = min(len(text), start + HOLD_LIMIT)
        outside = "skipping" if self.inside and self.spec.closers else self._outside
        if position >= stop or self._starts.may_begin(text, position):
            return self.wait(start, outside)
        reading = self._read(position, stop)
        if reading is None:
            return self.wait(start, outside)
        if isinstance(reading, Failed):
            return self.fail(max(reading.position, start + 1), outside)
        self._begin_call(reading)
        return True

    def _after_openers(self, position: int) -> int:
        """Behind the openers and brackets at `position`: what opens twice opens once."""
        while True:
            position = after_space(self.text, position)
            opener = self._starts.at(self.text, position)
            if opener:
                position += len(opener)
            elif self.text.startswith("[", position) and not self._starts.may_begin(self.text, position):
                position += 1
            else:
                return position

    def _begin_call(self, header: Header) -> None:
        self.begin(header.name, header.call_id)
        self.inside = True
        self.position = header.end
        self.phase = "arguments"
        self.scan.reset()
        if header.arguments is not None:
            self.out.arguments(self.alphabet.plain(header.arguments))
            self._after_arguments()
        if header.closed:
            self.phase = "between"

    def _read(self, position: int, stop: int) -> Reading:
        spec = self.spec
        if spec.head and self.text[position] != "{":
            return self._read_head(position, stop)
        if spec.keyed:
            return read_keyed(self.text, position, stop, spec.eager)
        return read_object(self.text, position, stop, spec.names, spec.arguments, spec.eager, spec.bare_call)

    def _read_head(self, position: int, stop: int) -> Reading:
        spec, text = self.spec, self.text
        found = markers(*spec.arguments_openers).pattern.search(text, position, stop)
        closed = self._stops.pattern.search(text, position, found.start() if found else stop)
        if closed:
            return Failed(closed.start())
        if not found:
            return None
        head = re.compile(spec.head, re.DOTALL).fullmatch(text, position, found.start())
        if not head:
            return Failed(found.end())
        call_id = head.groupdict().get("id")
        end = found.start() if found.group().startswith("{") else found.end()
        return Header(head["name"], end, call_id)

    def arguments(self) -> bool:
        """Phase: in a call's arguments, which are given out as they are written."""
        if self.scan.kind == BEFORE:
            self.position = after_space(self.text, self.position)
        stopped, stop = None, len(self.text)
        if self.spec.head:
            stopped = self._stops.find(self.text, self.position)
            stop = stopped.start() if stopped else self.safe_end(self._stops)
        end = self.scan.end(self.text, self.position, stop)
        upto = end if end >= 0 else stop
        self.out.arguments(self.alphabet.plain(self.text[self.position : upto]))
        self.position = upto
        if end < 0 and not stopped:
            return False
        self._after_arguments()
        return True

    def _after_arguments(self) -> None:
        self.end_call()
        self.phase = "between" if self.spec.head else "tail"
        self.scan.reset(depth=1)

    def tail(self) -> bool:
        """Phase: after the arguments, in the object that holds them."""
        end = self.scan.end(self.text, self.position, len(self.text))
        self.position = end if end >= 0 else len(self.text)
        if end < 0:
            return False
        self.phase = "between"
        return True

    def between(self) -> bool:
        """Phase: after a call."""
        match = _BETWEEN.match(self.text, self.position)
        position = match.end() if match else self.position
        ended = self._ends.at(self.text, position)
        if ended:
            self.position = position + len(ended)
            if ended in self.spec.closers:
                self.phase, self.inside = "content", False
            return True
        if (
            position == len(self.text)
            or self._ends.may_begin(self.text, position)
            or self._starts.may_begin(self.text, position)
        ):
            self.position = len(self.text) if self.final else position
            return False
        self.position = position
        if self._starts.at(self.text, position) or (self.text[position] == "{" and not self.spec.head):
            self.phase = "opening"
        else:
            self.phase = "skipping" if self.spec.closers else "content"
        return True

    def skipping(self) -> bool:
        """Phase: inside a region, at something that is no call; go on at the next opener or closer."""
        wanted = markers(*self.spec.closers, *self.spec.openers, self.spec.call_opener)
        found = wanted.find(self.text, self.position)
        if not found:
            self.position = self.safe_end(wanted)
            return False
        self.position = found.start()
        self.phase = "between"
        return True
