"""Forced choices of parsers without a structural tag of their own: the answer is bare JSON (wire.md 7.2)."""

from __future__ import annotations

from typing import ClassVar

from renderlayer.parsers.core.emitter import Emitter
from renderlayer.parsers.core.markers import SpecialTokenMap
from renderlayer.parsers.core.resumable import HOLD_LIMIT
from renderlayer.parsers.core.tool_machine import ToolFormat, ToolMachine
from renderlayer.parsers.tool_calls.json_calls import JsonCalls, JsonCallsMachine
from renderlayer.parsers.values.json_object import JsonObject

_REQUIRED = JsonCalls(bare=True, arguments=("parameters",), bare_call=False, after="drop")


class NamedMachine(ToolMachine):
    """An object is the arguments of the function that the request names; what is none, and what follows, is content.

    Memory, besides the frame's: the function's name while the call has not begun, and the reader of the arguments.
    """

    memory: ClassVar[tuple[str, ...]] = (*ToolMachine.memory, "name", "given")
    phases: ClassVar[tuple[str, ...]] = ("content", "arguments", "rest")

    def __init__(self, out: Emitter, alphabet: SpecialTokenMap, name: str) -> None:
        super().__init__(ToolFormat(after="drop"), out, alphabet)
        self.name = name
        self.given = JsonObject()

    def content(self) -> bool:
        """Phase: before anything but white space, of which so much is kept as a machine may hold."""
        text = self.text[self.position :]
        if not text or text.isspace():
            self.position = max(self.position, len(self.text) - HOLD_LIMIT)
            return False
        self.phase = "arguments"
        return True

    def arguments(self) -> bool:
        """Phase: in the arguments. The call begins with their first member, or with their end."""
        written: list[str] = []
        start = self.position
        self.position, status = self.given.read(self.text, start, len(self.text), self.final, written)
        if written and self.name:
            self.begin(self.name)
            self.name = ""
        self.out.arguments(self.readable("".join(written)))
        if status == "more" and not self.final:
            return False
        if status != "done":
            self._break_off()
        self.phase = "rest"
        return True

    def _break_off(self) -> None:
        """Close what is open, if the call has begun; otherwise what was read is content."""
        if self.name:
            self.out.content(self.readable(self.given.pending))
        else:
            self.out.arguments(self.given.closing())

    def rest(self) -> bool:
        """Phase: behind the arguments."""
        self.queue(len(self.text))
        return False


class RequiredMachine(JsonCallsMachine):
    """A JSON array of {name, parameters}; what is no call in it is content."""

    def __init__(self, out: Emitter, alphabet: SpecialTokenMap) -> None:
        super().__init__(_REQUIRED, out, alphabet)
