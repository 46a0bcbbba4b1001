"""Formats whose arguments are a JSON value: calls written as JSON objects, or as a header and the arguments."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from renderlayer.parsers.core.emitter import Emitter
from renderlayer.parsers.core.markers import Markers, SpecialTokenMap
from renderlayer.parsers.core.tool_machine import ToolMachine, ToolTypes
from renderlayer.parsers.tool_calls.region import RegionFormat, RegionMachine
from renderlayer.parsers.values.headers import Failed, Header, ParseContext, arguments_at, read_keyed, read_object
from renderlayer.parsers.values.json_object import JsonObject
from renderlayer.parsers.values.json_scan import JsonScan, after_space
from renderlayer.parsers.values.schema import INPUT


@dataclass(frozen=True, kw_only=True)
class JsonCalls(RegionFormat):
    """Calls with JSON arguments.

    Attributes:
        names, arguments: keys of a call written as an object.
        keyed: a call is written as {"NAME": arguments} instead.
        bare_call: an object without arguments is a call.
        head: regular expression of a header, with groups `name` and perhaps `id`; "" for calls written as objects.
        arguments_openers: what ends a header; one that begins with "{" is part of the arguments.
    """

    names: tuple[str, ...] = ("name",)
    arguments: tuple[str, ...] = ("arguments",)
    keyed: bool = False
    bare_call: bool = True
    head: str = ""
    arguments_openers: tuple[str, ...] = ()
    needs_inputs: bool = True

    marker_fields: ClassVar[tuple[str, ...]] = (*RegionFormat.marker_fields, "arguments_openers")

    @cached_property
    def header(self) -> re.Pattern[str]:
        """The compiled `head`."""
        return re.compile(self.head, re.DOTALL)

    @cached_property
    def header_ends(self) -> Markers:
        """What ends a header."""
        return Markers(self.arguments_openers)

    @cached_property
    def stops(self) -> Markers:
        """What ends the arguments of a call with a header, finished or not."""
        return Markers([*self.closers, *self.call_closers, self.call_opener, *self.openers])

    def machine(self, out: Emitter, alphabet: SpecialTokenMap, types: ToolTypes | None) -> ToolMachine:
        return JsonCallsMachine(self, out, alphabet, types)


class JsonCallsMachine(RegionMachine):
    """Phases of a call: arguments → (tail, in the object that holds them →) between.

    Memory, besides the region's: the reader of the arguments, whether an object is around them, and the scan of that.
    """

    memory: ClassVar[tuple[str, ...]] = (*RegionMachine.memory, "given", "wrapped", "scan")
    phases: ClassVar[tuple[str, ...]] = (*RegionMachine.phases, "arguments", "tail")
    bare_start: ClassVar[re.Pattern[str]] = re.compile(r"\{|\[\s*+\{")
    call_start: ClassVar[re.Pattern[str]] = re.compile(r"\{")

    def __init__(
        self, form: JsonCalls, out: Emitter, alphabet: SpecialTokenMap, types: ToolTypes | None = None
    ) -> None:
        super().__init__(form, out, alphabet)
        self.spec = form
        self.given = JsonObject()
        self.types = types or {}
        self.inputs: ToolTypes = {} if form.needs_types else self.types
        self.wrapped = False
        self.scan = JsonScan()

    def accepts(self, header: Header) -> bool:
        """An object is a call without an opener when it has arguments, and the name of a function that was given."""
        named = not self.types or header.name in self.types
        return self.sure or not self.region.bare or (named and not (header.closed and not header.arguments))

    def read(self, position: int, stop: int) -> ParseContext:
        spec = self.spec
        self.wrapped = not spec.head or self.text[position] == "{"
        if not self.wrapped:
            return self._read_head(position, stop)
        if spec.keyed:
            return read_keyed(self.text, position, stop)
        return read_object(self.text, position, stop, spec.names, spec.arguments, spec.bare_call, self.inputs)

    def _read_head(self, position: int, stop: int) -> ParseContext:
        spec, text = self.spec, self.text
        found = spec.header_ends.pattern.search(text, position, stop)
        closed = self.spec.stops.pattern.search(text, position, found.start() if found else stop)
        if closed:
            return Failed(closed.start())
        if not found:
            return None
        head = spec.header.fullmatch(text, position, found.start())
        if not head:
            return Failed(found.end())
        end = found.start() if found.group().startswith("{") else found.end()
        header = Header(head["name"], end, head.groupdict().get("id"))
        begin = after_space(text, end, stop)
        if spec.stops.at(text, begin):
            return header._replace(end=begin, arguments="")
        return None if spec.stops.may_begin(text, begin) else arguments_at(text, begin, stop, header, self.inputs)

    def begin_call(self, header: Header) -> None:
        self.phase = "arguments"
        self.given.reset(INPUT if header.name in self.inputs else "")
        if header.arguments is not None:
            self.out.arguments(self.alphabet.plain(header.arguments))
            self._after_arguments()
        if header.closed:
            self.phase = "between"

    def arguments(self) -> bool:
        """Phase: in a call's arguments, which are given out as they come. In their strings no marker counts."""
        written: list[str] = []
        status, stopped, search = "more", None, self.position
        while status == "more":
            stopped, stop = None, len(self.text)
            if not self.wrapped:
                stopped = self.spec.stops.find(self.text, search)
                stop = stopped.start() if stopped else self.safe_end(self.spec.stops)
            self.position, status = self._read_on(stop, bool(stopped), written)
            if status != "more" or not stopped or not self.given.in_string:
                break
            search = stopped.end()
            self.position, status = self._read_on(search, True, written)
        self.out.arguments(self.alphabet.plain("".join(written)))
        if status == "more" and not stopped:
            return False
        if status == "done":
            self._after_arguments()
        else:
            self._break_off()
        return True

    def _read_on(self, stop: int, final: bool, written: list[str]) -> tuple[int, str]:
        return self.given.read(self.text, self.position, stop, final or self.final, written)

    def _break_off(self) -> None:
        """Close arguments that do not go on as JSON. What was read of them and not given out is text."""
        self.out.arguments(self.given.closing())
        if self.given.pending.strip():
            self.out.content(self.readable(self.given.pending))
        self.given.reset()
        self.phase = "loose" if self.wrapped else "between"

    def _after_arguments(self) -> None:
        self.end_call()
        self.phase = "tail" if self.wrapped else "between"
        self.scan.reset(depth=1)

    def tail(self) -> bool:
        """Phase: after the arguments, in the object that holds them. Outside strings, what ends a region ends it."""
        edge = self.region.edges.find(self.text, self.position)
        stop = edge.start() if edge else self.safe_end(self.region.edges)
        end = self.scan.end(self.text, self.position, stop)
        self.position = end if end >= 0 else stop
        if edge and end < 0 and self.scan.quoted:
            end = self.scan.end(self.text, stop, edge.end())
            self.position = end if end >= 0 else edge.end()
            self.phase = "between" if end >= 0 else "tail"
            return True
        if end >= 0 or edge:
            self.phase = "between"
            return True
        return False

    def finish(self) -> None:
        super().finish()
        if self.phase == "arguments":
            self.out.arguments(self.given.closing())
