"""The frame of all machines: phases that consume text, and text that is held until more comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from renderlayer.parsers.core.markers import Markers
from renderlayer.parsers.core.resumable import Resumable, bad_state


class PhaseMachine(Resumable):
    """A machine is in a phase; the method of that name consumes text at `position` and tells whether it got anywhere.

    What is not consumed is held until more text comes. `final` is set when none will.

    Memory: the phase and the held text.
    """

    memory: ClassVar[tuple[str, ...]] = ("phase", "held")
    phases: ClassVar[tuple[str, ...]]

    def __init__(self) -> None:
        self.phase = self.phases[0]
        self.held = ""
        self.text = ""
        self.position = 0
        self.final = False

    def load(self, value: Any) -> None:
        super().load(value)
        if self.phase not in self.phases:
            raise bad_state()

    def feed(self, text: str, final: bool = False) -> None:
        """Go on with more text; with `final`, come to an end."""
        self.text = self.held + text if self.held else text
        self.position = 0
        self.final = final
        step: Callable[[], bool] = getattr(self, self.phase)
        while step():
            step = getattr(self, self.phase)
        self.held = self.text[self.position :]

    def safe_end(self, wanted: Markers) -> int:
        """The end of the text, or where one of the markers may have begun."""
        return len(self.text) if self.final else wanted.safe_end(self.text, self.position)
