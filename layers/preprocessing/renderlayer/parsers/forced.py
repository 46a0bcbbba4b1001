"""Forced choices of parsers without a structural tag of their own: the answer is bare JSON (wire.md 7.2)."""

from __future__ import annotations

from typing import ClassVar

from renderlayer.parsers.emitter import Emitter
from renderlayer.parsers.json_calls import JsonCalls, JsonCallsMachine
from renderlayer.parsers.resumable import HOLD_LIMIT
from renderlayer.parsers.tokens import Alphabet
from renderlayer.parsers.tool_machine import ToolFormat, ToolMachine

_REQUIRED = JsonCalls(bare=True, arguments=("parameters",), bare_call=False)


class NamedMachine(ToolMachine):
    """Everything is the arguments of the function that the request names; white space alone is no call."""

    memory: ClassVar[tuple[str, ...]] = (*ToolMachine.memory, "name")
    phases: ClassVar[tuple[str, ...]] = ("content", "arguments")

    def __init__(self, out: Emitter, alphabet: Alphabet, name: str) -> None:
        super().__init__(ToolFormat(), out, alphabet)
        self.name = name

    def content(self) -> bool:
        """Phase: before anything but white space, of which so much is kept as a machine may hold."""
        text = self.text[self.position :]
        if not text or text.isspace():
            self.position = max(self.position, len(self.text) - HOLD_LIMIT)
            return False
        self.begin(self.name)
        self.phase = "arguments"
        return True

    def arguments(self) -> bool:
        """Phase: in the arguments, which are taken as they stand."""
        self.out.arguments(self.readable(self.text[self.position :]))
        self.position = len(self.text)
        return False


class RequiredMachine(JsonCallsMachine):
    """A JSON array of {name, parameters}; what is neither name nor parameters is dropped."""

    def __init__(self, out: Emitter, alphabet: Alphabet) -> None:
        super().__init__(_REQUIRED, out, alphabet)

    def say(self, end: int) -> None:
        """No text is content."""
        self.position = end
