"""The machine that separates reasoning from the rest of an answer."""

from __future__ import annotations

from typing import ClassVar

from renderlayer.parsers.core.emitter import Emitter
from renderlayer.parsers.core.markers import SpecialTokenMap
from renderlayer.parsers.core.resumable import HOLD_LIMIT, PhaseMachine
from renderlayer.parsers.core.tool_machine import ContentBuffer, ToolMachine
from renderlayer.parsers.reasoning.reasoning_format import ReasoningFormat
from renderlayer.parsers.values.json_scan import after_space

_FEW = 48
_BEFORE_WORD = " \t\"'`(*“‘«「"
"""What stands before a marker that is spoken of."""


class Reasoner(PhaseMachine):
    """Gives reasoning to the emitter and hands everything else to the tool machine.

    Phases: start (an opening marker may come) → led (its lead may come) → inside → closed, spaced (what follows the
    closing marker) → content (looks for markers, except inside calls) or done (looks no more).

    Memory, besides the frame's: whether an opening marker at `position` would be one and not a word of the text, and
    whether a closing one would: until the first has come, and directly behind it.
    """

    memory: ClassVar[tuple[str, ...]] = (*PhaseMachine.memory, "fresh", "closing", "closed_once")
    phases: ClassVar[tuple[str, ...]] = ("start", "led", "inside", "closed", "spaced", "content", "done", "prefixed")

    def __init__(self, form: ReasoningFormat, out: Emitter, alphabet: SpecialTokenMap, tools: ToolMachine) -> None:
        super().__init__()
        self.form = form
        self.out = out
        self.fresh = self.closing = True
        self.closed_once = False
        self._tools = tools
        self._rest = ContentBuffer(tools)
        self._readable = alphabet.declared if form.token_based else alphabet.plain
        self._stops = form.spelled_stops

    def feed(self, text: str, final: bool = False) -> None:
        super().feed(text, final)
        self._rest.flush(final)

    def start(self) -> bool:
        """Phase: at the beginning, where an opening marker may stand."""
        position = after_space(self.text, self.position)
        opener = self.form.starters.at(self.text, position)
        if opener:
            self.position = position + len(opener)
            self.phase = "led"
            return True
        waits = position == len(self.text) or self.form.starters.may_begin(self.text, position)
        if waits and not self.final and len(self.text) - self.position < HOLD_LIMIT:
            return False
        self.phase = "inside"
        return True

    def led(self) -> bool:
        """Phase: behind an opening marker."""
        lead = self.form.lead
        rest = self.text[self.position : self.position + len(lead)]
        if rest == lead:
            self.position += len(lead)
        elif lead.startswith(rest):
            if not self.final:
                return False
            self.position += len(rest)
        self.phase = "inside"
        return True

    def inside(self) -> bool:
        """Phase: in the reasoning."""
        search = self.position
        while stop := self._stops.find(self.text, search):
            if stop.group() in self.form.closes:
                self._reason(stop.start(), ended=True)
                self.position = stop.end()
                self.phase = self.form.behind
                self.fresh = self.closing = self.closed_once = True
                return True
            called = self._called_at(stop.start())
            if called:
                self._reason(stop.start(), ended=True)
                self.phase = self.form.behind
                self.fresh = True
                return True
            if called is None:
                self._reason(stop.start(), ended=False)
                return False
            search = stop.end()
        end = max(search, self.safe_end(self._stops))
        self._reason(end, ended=self.final)
        return False

    def _called_at(self, start: int) -> bool | None:
        """Whether a call begins at `start`; None: more text will tell. What would close the reasoning comes first."""
        for room in (_FEW, HOLD_LIMIT):
            limit = start + room
            closed = self.form.closers.pattern.search(self.text, start, limit)
            stop = closed.start() if closed else min(len(self.text), limit)
            whole = closed is not None or (room == HOLD_LIMIT and (self.final or stop == limit))
            called = self._tools.called_in(self._rest.legible(self.text[start:stop]), whole)
            if called is not None:
                return called
        return None

    def _reason(self, end: int, ended: bool) -> None:
        """Give reasoning up to `end` out, except white space that may turn out to be its end."""
        kept = end
        if self.form.trim:
            window = self.text[max(self.position, end - HOLD_LIMIT) : end]
            kept -= len(window) - len(window.rstrip())
        self._rest.flush()
        self.out.reasoning(self._readable(self.text[self.position : kept]))
        self.position = end if ended else kept

    def closed(self) -> bool:
        """Phase: behind a closing marker, where the format's tail may follow."""
        tail = self.form.tail
        position = after_space(self.text, self.position)
        rest = self.text[position : position + len(tail)]
        if tail or self.form.eats_space:
            waits = position == len(self.text) or (rest != tail and tail.startswith(rest))
            if waits and not self.final and len(self.text) - self.position < HOLD_LIMIT:
                return False
        if tail and rest == tail:
            self.position = position + len(tail)
        self.phase = "spaced" if self.form.eats_space else self.form.outside
        return True

    def spaced(self) -> bool:
        """Phase: behind a closing marker and its tail, where white space is dropped."""
        self.position = after_space(self.text, self.position)
        if self.position == len(self.text):
            return False
        self.phase = self.form.outside
        return True

    def content(self) -> bool:
        """Phase: outside, where markers may stand, but not inside a call."""
        found = self.form.watched.find(self.text, self.position)
        if not found:
            self._pass(self.safe_end(self.form.watched))
            return False
        self._pass(found.start())
        self._rest.flush()
        if self._tools.in_call or not self._stands(found.group()):
            self._pass(found.end())
            return True
        self.position = found.end()
        self.closed_once = self.closed_once or found.group() in self.form.closes
        if found.group() in self.form.opens:
            self.phase = "led" if self.form.lead else "inside"
        return True

    def _stands(self, marker: str) -> bool:
        """Whether a marker is one at `position`, and not a word of the content."""
        if marker in self.form.opens:
            return self.fresh
        return self.closing if marker in self.form.closes else True

    def prefixed(self) -> bool:
        """Phase: before the first text, which gets the format's prefix."""
        self._rest.add(self.form.prefix)
        self.phase = "done"
        return True

    def done(self) -> bool:
        """Phase: outside for good."""
        self._pass(len(self.text))
        return False

    def _pass(self, end: int) -> None:
        passed = self.text[self.position : end]
        self._rest.add(passed)
        self.position = end
        if passed:
            self.fresh = passed[-1] not in _BEFORE_WORD
            self.closing = self.closing and (passed.isspace() or not self.closed_once)
