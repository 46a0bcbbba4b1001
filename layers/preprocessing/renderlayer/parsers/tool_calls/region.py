"""What formats share whose calls stand in a region, or at the very beginning of an answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from renderlayer.parsers.core.emitter import Emitter
from renderlayer.parsers.core.markers import Markers, SpecialTokenMap
from renderlayer.parsers.core.resumable import HOLD_LIMIT
from renderlayer.parsers.core.tool_machine import ToolFormat, ToolMachine
from renderlayer.parsers.values.headers import Failed, Header, ParseContext
from renderlayer.parsers.values.json_scan import after_space

_NOTHING = re.compile(r"(?!)")
_BETWEEN = re.compile(r"[\s,;\]}`]*+")


@dataclass(frozen=True, kw_only=True)
class RegionFormat(ToolFormat):
    """Calls in regions.

    Attributes:
        closers: what ends a region; without any, everything after the last call is outside.
        bare: at the beginning of the text, calls are found without an opener, too.
        restarts: text behind which a call without an opener may stand, as at the beginning.
        lone: openers that are no text where no call follows.
        guessed: openers that say no more than that a call may follow, as none does.
        call_opener: what begins each call in a region.
        call_closers: what ends a call, wherever it stands.
    """

    closers: tuple[str, ...] = ()
    bare: bool = False
    restarts: tuple[str, ...] = ()
    lone: tuple[str, ...] = ()
    guessed: tuple[str, ...] = ()
    call_opener: str = ""
    call_closers: tuple[str, ...] = ()

    marker_fields: ClassVar[tuple[str, ...]] = (
        "openers",
        "closers",
        "restarts",
        "lone",
        "guessed",
        "call_opener",
        "call_closers",
    )

    @cached_property
    def starts(self) -> Markers:
        return Markers([*self.openers, self.call_opener])

    @cached_property
    def notices(self) -> Markers:
        """What ends ordinary text."""
        return Markers([*self.openers, self.call_opener, *self.restarts])

    @cached_property
    def ends(self) -> Markers:
        """What ends a call or a region."""
        return Markers([*self.closers, *self.call_closers])

    @cached_property
    def borders(self) -> Markers:
        """What begins or ends a region or a call."""
        return Markers([*self.starts.literals, *self.ends.literals])

    @cached_property
    def edges(self) -> Markers:
        """What begins or ends a region, or begins a call."""
        return Markers([*self.closers, *self.openers, self.call_opener])


class RegionMachine(ToolMachine):
    """Phases: (first →) content → opening → the calls' own phases → between → opening | loose | content.

    Memory, besides the frame's: whether a region with a call is open, and whether an opener has said so for sure.
    """

    memory: ClassVar[tuple[str, ...]] = (*ToolMachine.memory, "inside", "sure")
    phases: ClassVar[tuple[str, ...]] = ("content", "first", "opening", "between", "loose", "written")
    bare_start: ClassVar[re.Pattern[str]] = _NOTHING
    """What a region without an opener begins with."""
    call_start: ClassVar[re.Pattern[str]] = _NOTHING
    """What another call in a region begins with, besides an opener."""

    def __init__(self, form: RegionFormat, out: Emitter, alphabet: SpecialTokenMap) -> None:
        super().__init__(form, out, alphabet)
        self.region = form
        self.inside = False
        self.sure = False
        self.phase = "first" if form.bare else "content"

    def read(self, position: int, stop: int) -> ParseContext:
        """Read a call's header at `position`, looking no further than `stop`."""
        raise NotImplementedError

    def begin_call(self, header: Header) -> None:
        """Begin the call and enter the phase that its header leads to; `position` is behind the header."""
        raise NotImplementedError

    def accepts(self, header: Header) -> bool:
        """Whether what reads as a call's header is one."""
        return True

    def content(self) -> bool:
        """Phase: text up to the next opener, or to where a call may stand without."""
        found = self.region.notices.find(self.text, self.position)
        waits = self.spelled_before(found.start() if found else len(self.text))
        if waits is not None:
            return not waits
        if not found:
            self.queue(self.calm_end(self.region.notices))
            return False
        again = found.group() in self.region.restarts
        self.queue(found.end() if again else found.start())
        self.phase = "first" if again else "opening"
        return True

    def first(self) -> bool:
        """Phase: where a call may stand without an opener, before anything but white space."""
        text, start = self.text, after_space(self.text, self.position)
        if self.bare_start.match(text, start) or self.region.starts.at(text, start):
            self.phase = "opening"
            return True
        bracket = after_space(text, start + 1) if text.startswith("[", start) else start
        if bracket == len(text) or self.region.starts.may_begin(text, start):
            return self.wait(self.position, "content")
        self.phase = "content"
        return True

    def opening(self) -> bool:
        """Phase: at an opener, or after a call at what looks like another one."""
        text = self.text
        position = self._after_openers()
        start = self.position
        stop = min(len(text), start + HOLD_LIMIT)
        outside = "loose" if self.inside and self.region.closers else "content"
        waits = position >= stop or self.region.starts.may_begin(text, position)
        reading = None if waits else self.read(position, stop)
        if reading is None and not self.final and len(text) - start < HOLD_LIMIT:
            return False
        if isinstance(reading, Header) and not self.accepts(reading):
            reading = Failed(reading.end)
        if reading is None or isinstance(reading, Failed):
            return self._no_call(reading.position if reading else stop, outside)
        self.inside = True
        self.begin(reading.name, reading.call_id)
        self.position = reading.end
        self.begin_call(reading)
        return True

    def _no_call(self, end: int, outside: str) -> bool:
        opener = self.region.starts.at(self.text, self.position)
        if not opener or opener not in self.region.lone:
            return self.fail(max(end, self.position + 1), outside)
        self.flush()
        self.position += len(opener)
        self.phase = outside
        return True

    def _after_openers(self) -> int:
        """The position behind the openers and brackets at hand. What opens twice opens once, if a call follows."""
        text, position = self.text, self.position
        stop = position + HOLD_LIMIT
        self.sure = self.inside and self.sure
        while position < stop:
            position = after_space(text, position, stop)
            opener = self.region.starts.at(text, position)
            if opener:
                if position - self.position >= HOLD_LIMIT // 2:
                    self.queue(position)
                    stop = position + HOLD_LIMIT
                position += len(opener)
                self.sure = self.sure or opener not in self.region.guessed
            elif text.startswith("[", position) and not self.region.starts.may_begin(text, position):
                position += 1
            else:
                break
        return position

    def between(self) -> bool:
        """Phase: after a call. White space waits for what follows it, to which it belongs if that is text."""
        text, position = self.text, self._gap_end()
        self.position += len(text[self.position : position].rstrip())
        self.position = max(self.position, position - HOLD_LIMIT)
        ended = self.region.ends.at(text, position)
        if ended:
            self.position = position + len(ended)
            if ended in self.region.closers:
                self.phase, self.inside = "content", False
            return True
        if position == len(text):
            return False
        if self.region.ends.may_begin(text, position) or self.region.starts.may_begin(text, position):
            self.position = len(text) if self.final else self.position
            return False
        again = self.region.starts.at(text, position) or self.call_start.match(text, position)
        self.phase = "opening" if again else "loose" if self.region.closers else "content"
        return True

    def _gap_end(self) -> int:
        """Where what separates calls ends, at the latest where a marker stands or may have begun."""
        match = _BETWEEN.match(self.text, self.position)
        end = match.end() if match else self.position
        edge = self.region.borders.pattern.search(self.text, self.position, end + self.region.borders.longest)
        return min(end, edge.start() if edge else self.safe_end(self.region.borders))

    def loose(self) -> bool:
        """Phase: inside a region, at something that is no call: it is text up to the next opener or closer."""
        found = self.region.edges.find(self.text, self.position)
        self.queue(found.start() if found else self.safe_end(self.region.edges))
        if not found:
            return False
        self.flush()
        self.phase = "between"
        return True
