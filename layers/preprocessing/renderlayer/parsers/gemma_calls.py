"""Gemma's notation of calls: call:NAME{key:<quote>text<quote>,other:1}, with objects and lists inside."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from renderlayer.parsers.emitter import Emitter
from renderlayer.parsers.headers import Failed, Header, Reading
from renderlayer.parsers.markers import Markers
from renderlayer.parsers.region import RegionFormat, RegionMachine
from renderlayer.parsers.resumable import HOLD_LIMIT
from renderlayer.parsers.schema import ANY_JSON, quoted, to_json
from renderlayer.parsers.tokens import Alphabet
from renderlayer.parsers.tool_machine import ToolMachine, ToolTypes

_DEEPEST = 256
_CALL = "call:"
_NAME = re.compile(r"\s*([^\s{]+)\s*\{")
_BEFORE = re.compile(r"[\s,]*+")
_NESTED_TYPES = "nifb"


@dataclass(frozen=True, kw_only=True)
class GemmaCalls(RegionFormat):
    """Calls in Gemma's notation.

    Attributes:
        quote: the marker on both sides of a string.
        json_words: what stands without quotes, and a whole string too, is JSON where it can be, whatever the schema;
            otherwise words outside strings are read by the schema, and strings are strings.
    """

    quote: str
    json_words: bool = False
    needs_types: bool = True

    marker_fields: ClassVar[tuple[str, ...]] = (*RegionFormat.marker_fields, "quote")

    @cached_property
    def quotes(self) -> Markers:
        """The quote, to be searched for."""
        return Markers([self.quote])

    def machine(self, out: Emitter, alphabet: Alphabet, types: ToolTypes | None) -> ToolMachine:
        return GemmaCallsMachine(self, out, alphabet, types or {})


class GemmaCallsMachine(RegionMachine):
    """Phases of a call: element → word | whole | string → element → … → between.

    Memory, besides the region's: the call's name, the open brackets, the key at hand, the JSON that waits for the value
    behind it, and whether that is a string that has begun.
    """

    memory: ClassVar[tuple[str, ...]] = (*RegionMachine.memory, "name", "stack", "last_key", "pending", "opened")
    phases: ClassVar[tuple[str, ...]] = (*RegionMachine.phases, "element", "word", "whole", "string")

    def __init__(self, form: GemmaCalls, out: Emitter, alphabet: Alphabet, types: ToolTypes) -> None:
        super().__init__(form, out, alphabet)
        self.spec = form
        self.types = types
        self.name = self.stack = self.last_key = self.pending = ""
        self.opened = False

    def read(self, position: int, stop: int) -> Reading:
        text = self.text[position:stop]
        if not text.startswith(_CALL):
            return None if _CALL.startswith(text) else Failed(position)
        name = _NAME.match(text, len(_CALL))
        if name:
            return Header(name.group(1), position + name.end())
        closed = self.spec.ends.pattern.search(text)
        return Failed(position + closed.start()) if closed else None

    def begin_call(self, header: Header) -> None:
        self.name = header.name
        self.stack = "{"
        self.pending = "{"
        self.phase = "element"

    def element(self) -> bool:
        """Phase: before a member, an item or the end of what is open."""
        text, match = self.text, _BEFORE.match(self.text, self.position)
        self.position = match.end() if match else self.position
        if self.position == len(text):
            return False
        if text[self.position] in "}]":
            return self._close()
        if self.spec.ends.at(text, self.position):
            self._end()
            return True
        if self.stack[-1] == "{" and not self.last_key:
            return self._key()
        return self._value()

    def _key(self) -> bool:
        stop = min(len(self.text), self.position + HOLD_LIMIT)
        colon = self.text.find(":", self.position, stop)
        if colon < 0:
            if stop - self.position < HOLD_LIMIT:
                return False
            colon = stop - 1
        key = self.readable(self.text[self.position : colon]).strip()
        self.last_key = (key.strip("\"'") if self.spec.json_words else key) or " "
        self.pending += json.dumps(self.last_key, ensure_ascii=False) + ": "
        self.position = colon + 1
        return True

    def _value(self) -> bool:
        text, position = self.text, self.position
        if text[position] in "{[" and len(self.stack) < _DEEPEST:
            self._write(text[position])
            self.stack += text[position]
            self.last_key = ""
            self.position += 1
            return True
        if self.spec.quotes.at(text, position):
            self.position += len(self.spec.quote)
            self.phase = "whole" if self.spec.json_words else "string"
            return True
        if self.spec.quotes.may_begin(text, position) and not self.final:
            return False
        self.phase = "word"
        return True

    def word(self) -> bool:
        """Phase: in a value without quotes."""
        start, stop = self.position, min(len(self.text), self.position + HOLD_LIMIT)
        end = next((at for at in range(start, stop) if self.text[at] in ",}]"), -1)
        ended = self.spec.ends.pattern.search(self.text, start, stop if end < 0 else end)
        if ended:
            end = ended.start()
        if end < 0:
            if stop - start < HOLD_LIMIT:
                return False
            end = stop
        word = self.readable(self.text[start:end]).strip()
        self._write(to_json(word, self._letters()))
        self.position = end
        self._ended_value()
        return True

    def _letters(self) -> str:
        if self.spec.json_words:
            return ANY_JSON
        return self.types.get(self.name, {}).get(self.last_key, "") if len(self.stack) == 1 else _NESTED_TYPES

    def whole(self) -> bool:
        """Phase: in a string that may be JSON, which shows when all of it is there."""
        found = self.spec.quotes.find(self.text, self.position)
        end = found.start() if found else self.safe_end(self.spec.quotes)
        if end - self.position > HOLD_LIMIT:
            self.phase = "string"
            return True
        if not found:
            return False
        self._write(to_json(self.readable(self.text[self.position : end]), ANY_JSON))
        self.position = found.end()
        self._ended_value()
        return True

    def string(self) -> bool:
        """Phase: in a string, which is given out as it grows."""
        found = self.spec.quotes.find(self.text, self.position)
        end = found.start() if found else self.safe_end(self.spec.quotes)
        if end > self.position or found:
            self._write(("" if self.opened else '"') + quoted(self.readable(self.text[self.position : end])))
            self.opened = True
        self.position = end
        if not found:
            return False
        self.position = found.end()
        self._write('"')
        self._ended_value()
        return True

    def _ended_value(self) -> None:
        self.opened = False
        self.last_key = ""
        self.pending = ", "
        self.phase = "element"

    def _write(self, json_text: str) -> None:
        self.out.arguments(self.pending + json_text)
        self.pending = ""

    def _close(self) -> bool:
        """Close what is open; a bracket of the other kind closes it as well."""
        self.position += 1
        self._write_end()
        if self.stack:
            self.pending = ", "
        else:
            self._end()
        return True

    def _write_end(self) -> None:
        self.pending = "{" if self.pending.startswith("{") else ""
        self._write("}" if self.stack[-1] == "{" else "]")
        self.stack = self.stack[:-1]
        self.last_key = ""

    def _end(self) -> None:
        """End the call, with all that is still open in it."""
        if self.opened:
            self._write('"')
            self.opened = False
        while self.stack:
            self._write_end()
        self.name = ""
        self.phase = "between"

    def finish(self) -> None:
        super().finish()
        if self.name:
            self._end()
