"""Objects whose memory is a small JSON list, which is what goes from chunk to chunk, and the frame of all machines."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

from renderlayer.errors import BadRequest
from renderlayer.parsers.core.markers import Markers

HOLD_LIMIT = 1024
"""Most characters that any machine waits for before it decides: a header, a value that is not a string, white space."""

_LONGEST = 8 * HOLD_LIMIT
_GREATEST = 1 << 31
_PLAIN = frozenset({str, int, bool})
_SURROGATE = re.compile("([\ud800-\udfff])")


def bad_state() -> BadRequest:
    """The error for a state that this parser cannot have made."""
    return BadRequest("invalid stream_state: it does not belong to this parser.")


def other_version(found: int, read: int) -> BadRequest:
    """The error for a state of another release."""
    return BadRequest(
        f"invalid stream_state: it has version {found}, and this release reads version {read}. Begin the stream anew."
    )


class Resumable:
    """Base of everything that outlives a chunk.

    `memory` names the attributes that make up the memory. Each is set by the constructor to a str, an int, a bool or
    another Resumable; a loaded value must be of the same kind, or the state is refused.
    """

    memory: ClassVar[tuple[str, ...]] = ()

    def dump(self) -> list[Any]:
        """The memory as a JSON list; a text with token characters (`markers.py`) is a list of texts and code points."""
        return [_dumped(getattr(self, name)) for name in self.memory]

    def load(self, value: Any) -> None:
        """Take the memory from a dumped list.

        Raises:
            BadRequest: the list does not have this object's shape.
        """
        if type(value) is not list or len(value) != len(self.memory):
            raise bad_state()
        for name, item in zip(self.memory, value, strict=True):
            current = getattr(self, name)
            kind = type(current)
            if kind in _PLAIN:
                setattr(self, name, item if kind is bool is type(item) else _loaded(kind, item))
            else:
                current.load(item)


def _dumped(value: Any) -> Any:
    kind = type(value)
    if kind not in _PLAIN:
        return value.dump()
    if kind is str and not value.isascii() and _SURROGATE.search(value):
        return [ord(part) if _SURROGATE.fullmatch(part) else part for part in _SURROGATE.split(value) if part]
    return value


def _loaded(kind: type[Any], item: Any) -> Any:
    if kind is str and type(item) is list:
        item = "".join(_part(part) for part in item[:_LONGEST])
    fits = type(item) is kind
    if fits and kind is str:
        fits = len(item) <= _LONGEST
    elif fits and kind is int:
        fits = 0 <= item < _GREATEST
    if not fits:
        raise bad_state()
    return item


def _part(part: Any) -> str:
    if type(part) is int and 0xD800 <= part <= 0xDFFF:
        return chr(part)
    if type(part) is str:
        return part
    raise bad_state()


class Idle(Resumable):
    """Base of what is idle most of the time: then its memory is empty."""

    @property
    def idle(self) -> bool:
        """Whether there is nothing to remember."""
        raise NotImplementedError

    def reset(self) -> None:
        """Be idle."""
        raise NotImplementedError

    def dump(self) -> list[Any]:
        return [] if self.idle else super().dump()

    def load(self, value: Any) -> None:
        if value == []:
            self.reset()
        else:
            super().load(value)


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
