"""Calls written as trees of elements, as MiniMax M3 does: <f><list><item>1</item></list></f> is {"list": [1]}."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from renderlayer.parsers.core.emitter import Emitter
from renderlayer.parsers.core.markers import Markers, SpecialTokenMap
from renderlayer.parsers.core.resumable import HOLD_LIMIT, bad_state
from renderlayer.parsers.core.tool_machine import ToolMachine, ToolTypes
from renderlayer.parsers.tool_calls.region import RegionFormat, RegionMachine
from renderlayer.parsers.values.headers import Failed, Header, ParseContext
from renderlayer.parsers.values.json_scan import quoted
from renderlayer.parsers.values.schema import to_json

_ITEM = "item"
_NAME = re.compile(r"""[\s"']*+([^\s"']+)[\s"']*+""")
_SAID = re.compile(r"\w")
_NESTED_TYPES = "nifb"
_DEEPEST = 256
_NEW, _TEXT, _DONE = "?", '"', " "
_OPENED = {"{": "}", "[": "]"}


@dataclass(frozen=True, kw_only=True)
class ElementCalls(RegionFormat):
    """Calls as trees of elements.

    Attributes:
        prefix: what stands before every tag.
    """

    prefix: str
    needs_types: bool = True

    marker_fields: ClassVar[tuple[str, ...]] = (*RegionFormat.marker_fields, "prefix")

    @cached_property
    def tags(self) -> Markers:
        """What begins a tag."""
        return Markers([self.prefix])

    def machine(self, out: Emitter, alphabet: SpecialTokenMap, types: ToolTypes | None) -> ToolMachine:
        return ElementCallsMachine(self, out, alphabet, types or {})


class ElementCallsMachine(RegionMachine):
    """Phases of a call: element → element → … → between.

    Memory, besides the region's: the call's name, its parameter at hand, what is open ("{" or "[" for an element with
    elements inside, "?" for one whose content has not come, '"' for one with text, " " for one whose value is written),
    whether a comma is due before the next element, and what was said between elements, which is told after the call.
    """

    memory: ClassVar[tuple[str, ...]] = (*RegionMachine.memory, "name", "parameter", "open", "comma", "aside")
    phases: ClassVar[tuple[str, ...]] = (*RegionMachine.phases, "element")

    def __init__(self, form: ElementCalls, out: Emitter, alphabet: SpecialTokenMap, types: ToolTypes) -> None:
        super().__init__(form, out, alphabet)
        self.spec = form
        self.types = types
        self.name = self.parameter = self.open = self.aside = ""
        self.comma = False

    def load(self, value: object) -> None:
        super().load(value)
        if self.phase == "element" and not self.open:
            raise bad_state()

    def read(self, position: int, stop: int) -> ParseContext:
        end = self.text.find(">", position, stop)
        closed = self.spec.ends.pattern.search(self.text, position, stop if end < 0 else end)
        if closed:
            return Failed(closed.start())
        if end < 0:
            return None
        name = _NAME.fullmatch(self.text, position, end)
        return Header(name[1], end + 1) if name else Failed(end)

    def begin_call(self, header: Header) -> None:
        self.name = header.name
        self.open = "{"
        self.comma = False
        self.out.arguments("{")
        self.phase = "element"

    def element(self) -> bool:
        """Phase: in an element: text, or a tag."""
        found = self.spec.tags.find(self.text, self.position)
        if not self._content(found.start() if found else self.safe_end(self.spec.tags), ended=bool(found)):
            return False
        if not found or self.phase != "element":
            return self.phase != "element"
        stop = min(len(self.text), found.end() + HOLD_LIMIT)
        end = self.text.find(">", found.end(), stop)
        if end < 0:
            if stop - found.end() < HOLD_LIMIT:
                return False
            end = stop - 1
        tag = self.readable(self.text[found.end() : end]).strip(" <")
        written = self.text[self.position : end + 1]
        self.position = end + 1
        if tag.startswith("/"):
            self._close()
        elif self.open[-1] in (_TEXT, _DONE) or len(self.open) >= _DEEPEST:
            self._say_inside(written)
        else:
            self._open(tag.strip())
        return True

    def _say_inside(self, text: str) -> None:
        """Keep what is no element: in the string that is open, or for after the call, which too much of it ends."""
        if self.open[-1] == _TEXT:
            self.out.arguments(quoted(self.alphabet.plain(text)))
            return
        self.aside += text if self.aside else text.lstrip()
        if len(self.aside) > HOLD_LIMIT:
            self._end()
            self.phase = "loose"

    def _content(self, end: int, ended: bool) -> bool:
        """Take the text before the next tag. False: it has to wait, because its type shows only at its end."""
        kind = self.open[-1]
        text = self.text[self.position : end]
        if kind in _OPENED or kind == _DONE:
            self.position = end
            self._say_inside(text)
            return True
        if kind == _NEW:
            letters = self._letters()
            if letters and len(text) <= HOLD_LIMIT:
                if ended and text.strip():
                    self._value(to_json(self.alphabet.plain(text), letters))
                    self.position = end
                return ended
            if not text:
                return True
            self._value('"')
            self.open = self.open[:-1] + _TEXT
        self.out.arguments(quoted(self.alphabet.plain(text)))
        self.position = end
        return True

    def _letters(self) -> str:
        return self.types.get(self.name, {}).get(self.parameter, "") if len(self.open) == 2 else _NESTED_TYPES

    def _value(self, json_text: str) -> None:
        """Write the value of the new element, which is done with it unless it is a string that goes on."""
        self.out.arguments(json_text)
        self.open = self.open[:-1] + _DONE

    def _open(self, tag: str) -> None:
        kind = self.open[-1]
        if kind == _NEW:
            kind = "[" if tag == _ITEM else "{"
            self.out.arguments(kind)
            self.open = self.open[:-1] + kind
            self.comma = False
        if kind not in _OPENED:
            return
        if self.comma:
            self.out.arguments(", ")
        if kind == "{":
            self.out.arguments(json.dumps(tag, ensure_ascii=False) + ": ")
        if len(self.open) == 1:
            self.parameter = tag
        self.open += _NEW

    def _empty(self) -> str:
        """The value of an element without content."""
        letters = self._letters() if len(self.open) == 2 else ""
        return "[]" if "a" in letters else "{}" if "o" in letters else '""'

    def _close(self) -> None:
        kind = self.open[-1]
        self.out.arguments({_NEW: self._empty(), _TEXT: '"'}.get(kind, _OPENED.get(kind, "")))
        self.open = self.open[:-1]
        self.comma = True
        if not self.open:
            self.name = ""
            self.phase = "between"
            aside, self.aside = self.aside, ""
            if _SAID.search(aside):
                self.spoken = True
                self.out.content(self.readable(aside))

    def _end(self) -> None:
        """End the call, with all that is still open in it."""
        while self.open:
            self._close()

    def finish(self) -> None:
        """Close what the end cuts off."""
        super().finish()
        if self.phase != "element":
            return
        if self.open[-1] == _NEW and self.held.strip():
            self._value(to_json(self.alphabet.plain(self.held), self._letters()))
        self.held = ""
        self._end()
