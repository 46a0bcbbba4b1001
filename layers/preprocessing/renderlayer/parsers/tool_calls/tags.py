"""What formats declare that write each argument between tags."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from renderlayer.parsers.core.markers import Markers
from renderlayer.parsers.core.tool_machine import ToolFormat


@dataclass(frozen=True, kw_only=True)
class Tags(ToolFormat):
    """The tags around calls and arguments, and what is special about them.

    Attributes:
        closers: what ends a region; without openers a call stands by itself.
        call_opener, call_closers: around a call; the name follows the opener.
        name_closers: what ends the name; a key's opener or a call's closer among them is not consumed.
        key_opener, key_closer: around a key.
        value_opener: what a value begins with, if anything stands between it and its key.
        value_closers: what ends a value. Where it is missing, the next key, the call's end or the next call does, if
            what stands around them shows that they are not words of the value.
        fillers: what stands around calls in a region and says nothing.
        unwraps: a parameter of the schema's that is called `arguments` or `input` and holds an object is all arguments.
        trims_newline: one line break on each side of a value does not belong to it.
        untyped: type letters of values of which the schema says nothing (`schema.py`).
        unknown: what becomes of calls to functions that were not given: calls, or text.
    """

    closers: tuple[str, ...] = ()
    call_opener: str
    call_closers: tuple[str, ...]
    name_closers: tuple[str, ...] = (">",)
    key_opener: str
    key_closer: str = ">"
    value_opener: str = ""
    value_closers: tuple[str, ...]
    fillers: tuple[str, ...] = ()
    unwraps: bool = False
    trims_newline: bool = False
    untyped: str = ""
    unknown: Literal["keep", "text"] = "keep"
    needs_types: bool = True

    marker_fields: ClassVar[tuple[str, ...]] = (
        "openers",
        "closers",
        "call_opener",
        "call_closers",
        "name_closers",
        "key_opener",
        "key_closer",
        "value_opener",
        "value_closers",
        "fillers",
    )

    @cached_property
    def starts(self) -> Markers:
        return Markers([*self.openers, self.call_opener])

    @cached_property
    def edges(self) -> Markers:
        """What begins or ends a region, or begins a call."""
        return Markers([*self.openers, self.call_opener, *self.closers])

    @cached_property
    def landmarks(self) -> Markers:
        """What is no text in a region."""
        return Markers([*self.edges.literals, *self.fillers])

    @cached_property
    def name_ends(self) -> Markers:
        """What ends a call's name."""
        return Markers(self.name_closers)

    @cached_property
    def key_ends(self) -> Markers:
        """What ends a key."""
        return Markers([self.key_closer])

    @cached_property
    def value_starts(self) -> Markers:
        """What is looked for between a key and its value."""
        return Markers([self.value_opener, self.key_opener, *self._call_ends])

    @cached_property
    def member_ends(self) -> Markers:
        """What is looked for between arguments."""
        return Markers([self.key_opener, *self._call_ends])

    @cached_property
    def value_ends(self) -> Markers:
        """What ends a value."""
        return Markers([self.key_opener, *self.value_closers, *self.call_closers, self.call_opener])

    @cached_property
    def region_ends(self) -> Markers:
        """What ends a region."""
        return Markers(self.closers)

    @cached_property
    def region_starts(self) -> Markers:
        """What begins a region."""
        return Markers(self.openers)

    @cached_property
    def call_starts(self) -> Markers:
        """What begins a call."""
        return Markers([self.call_opener])

    @cached_property
    def value_begins(self) -> Markers:
        """What stands behind a key."""
        return Markers([self.value_opener])

    @cached_property
    def member_begins(self) -> Markers:
        """What stands behind a call's name."""
        return Markers([self.key_opener, *self.call_closers])

    @property
    def bare_name(self) -> bool:
        """Whether nothing encloses a call's name: it is one word."""
        return self.key_opener in self.name_closers

    @property
    def _call_ends(self) -> tuple[str, ...]:
        return (*self.call_closers, *self.closers, self.call_opener, *self.openers)
