"""An answer by its template: text between delimiters goes to the field that they delimit (wire.md 7.4)."""

from __future__ import annotations

import re
from typing import ClassVar

from renderlayer.parsers.core.emitter import Emitter
from renderlayer.parsers.core.markers import SpecialTokenMap
from renderlayer.parsers.core.resumable import HOLD_LIMIT, PhaseMachine, bad_state
from renderlayer.parsers.core.tool_machine import ToolTypes
from renderlayer.parsers.response_template.bodies import open_body
from renderlayer.parsers.response_template.template import Field, Template


class TemplateMachine(PhaseMachine):
    """Phases: outside (of delimited fields) ⇄ inside (one of them).

    Memory, besides the frame's: the index of the field, whether text of the answer has come, how many of the held
    characters are the prompt's, and the machine that reads the calls.

    Args:
        reasons: the thinking is reasoning, not content.
        calls: calls are looked for; otherwise they are content as they are written.
    """

    memory: ClassVar[tuple[str, ...]] = (*PhaseMachine.memory, "which", "begun", "prompted", "body")
    phases: ClassVar[tuple[str, ...]] = ("outside", "inside")

    def __init__(
        self,
        template: Template,
        out: Emitter,
        alphabet: SpecialTokenMap,
        types: ToolTypes,
        *,
        reasons: bool,
        calls: bool,
    ) -> None:
        super().__init__()
        self.template = template
        self.out = out
        self.reasons = reasons
        self.calls = calls
        self.which = 0
        self.begun = False
        self.prompted = 0
        self.thought = False
        self._in_prompt = False
        self._alphabet = alphabet
        self._types = types
        self.body = self._fresh("")

    def _fresh(self, name: str) -> PhaseMachine:
        """A machine for the text behind an opener that names the call, or not."""
        form = self.template.calls
        return open_body(form, self.out, self._alphabet, self._types, name) if form else _NoCalls()

    def load(self, value: object) -> None:
        super().load(value)
        if self.which >= max(1, len(self.template.openings)) or self.prompted > len(self.held):
            raise bad_state()
        if self.phase == "inside" and not self.template.openings:
            raise bad_state()

    def read_prompt(self, text: str) -> None:
        """Begin where the prompt leaves its last message, of which nothing is given out."""
        self._in_prompt = True
        super().feed(text)
        self._in_prompt = False
        self.held = self.held[-HOLD_LIMIT:]
        self.prompted = len(self.held)

    def feed(self, text: str, final: bool = False) -> None:
        self.begun = self.begun or bool(text)
        if not self.begun:
            return
        super().feed(text, final)
        self.prompted = max(0, self.prompted - self.position)
        if final and self.phase == "inside":
            self._close()

    @property
    def field(self) -> Field | None:
        """The field at hand; None: no field takes the text."""
        return self.template.openings[self.which] if self.phase == "inside" else self.template.rest

    def outside(self) -> bool:
        """Phase: outside of delimited fields."""
        found = self.template.edges.find(self.text, self.position, self.final)
        if isinstance(found, int):
            self._give(found)
            return False
        self._give(found.match.start())
        if not found.match.group():  # the end of the answer, which ends the rest
            return False
        self.position = found.match.end()
        if found.which < len(self.template.openings):
            self.which = found.which
            self.phase = "inside"
            self._open(found.match)
        else:
            self.thought = self.thought or self.field is self.template.field("thinking")
        return True

    def _open(self, opener: re.Match[str]) -> None:
        form = self.template.calls
        if form and self.template.openings[self.which].kind == "tool_calls":
            if self.calls:
                self.body = self._fresh(opener[form.capture] or "" if form.capture else "")
            self._pass_on(opener)

    def inside(self) -> bool:
        """Phase: in a delimited field; an end that the answer's end cuts off ends it all the same."""
        field = self.template.openings[self.which]
        found = field.ends.find(self.text, self.position, self.final)
        if isinstance(found, int):
            if self.final and not self._is_passed(field):
                found = field.ends.cut(self.text, self.position)
            if not (self._in_prompt and field.kind == "tool_calls"):
                self._give(found)
            return False
        self._give(found.match.start())
        self.position = found.match.end()
        self._pass_on(found.match)
        self._close()
        return True

    def _give(self, end: int) -> None:
        """Give the text up to `end` to the field at hand."""
        field, start = self.field, self.position
        self.position = end
        if field is None or start == end or (self._in_prompt and field.kind != "tool_calls"):
            return
        if field.kind == "tool_calls" and self.calls:
            self.body.feed(self.text[start:end])
        else:
            text = self.text[max(start, self.prompted) : end]
            (self.out.reasoning if field.kind == "thinking" and self.reasons else self.out.content)(text)

    def _pass_on(self, delimiter: re.Match[str]) -> None:
        """Delimiters of calls that nobody looks for are content."""
        if self.field and self._is_passed(self.field):
            self.out.content(self.text[max(delimiter.start(), self.prompted) : delimiter.end()])

    def _is_passed(self, field: Field) -> bool:
        """Whether the field holds calls that are content as they are written."""
        return field.kind == "tool_calls" and not self.calls

    def _close(self) -> None:
        kind = self.template.openings[self.which].kind
        if kind == "tool_calls" and self.calls:
            self.body.feed("", final=True)
        self.thought = self.thought or kind == "thinking"
        self.phase = "outside"


class _NoCalls(PhaseMachine):
    """For templates without calls."""

    phases: ClassVar[tuple[str, ...]] = ("none",)

    def none(self) -> bool:
        """Phase: the only one."""
        self.position = len(self.text)
        return False
