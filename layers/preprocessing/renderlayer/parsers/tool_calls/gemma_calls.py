"""Gemma's notation of calls: call:NAME{key:<quote>text<quote>,other:1}, with objects and lists inside."""

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
from renderlayer.parsers.values.json_scan import after_space, quoted
from renderlayer.parsers.values.python_strings import spelled, string_end
from renderlayer.parsers.values.schema import ANY_JSON, to_json

_DEEPEST = 256
_CALL = "call:"
_NAME = re.compile(r"\s*([^\s{(]+)\s*([{(])")
_BEFORE = re.compile(r"[\s,]*+")
_UNTYPED = "nifb"
_BRACKETS = {"{": "}", "[": "]", "(": ")"}
_PLAIN_QUOTES = "\"'"
_ITEM = re.compile(r"""["'\[{\-\d]|(?:true|false|null|True|False|None)\b""")


@dataclass(frozen=True, kw_only=True)
class GemmaCalls(RegionFormat):
    """Calls in Gemma's notation.

    Attributes:
        quote: the marker on both sides of a string.
        json_words: what stands without quotes is JSON where it can be, whatever the schema, and so is a whole string
            that the schema does not call one; otherwise words outside strings are read by the schema, without one as
            what they look like, and strings are strings.
    """

    quote: str
    json_words: bool = False
    needs_types: bool = True
    needs_strings: bool = True

    marker_fields: ClassVar[tuple[str, ...]] = (*RegionFormat.marker_fields, "quote")

    @cached_property
    def quotes(self) -> Markers:
        """The quote, to be searched for."""
        return Markers([self.quote])

    @cached_property
    def member(self) -> re.Pattern[str]:
        """A key and what stands between it and its value."""
        quote = re.escape(self.quote)
        return re.compile(
            rf"\s*+(?:{quote}|[\"'])?([^\s:=,{{}}\[\]()\"'][^:=,{{}}\[\]\"']{{0,255}}?)(?:{quote}|[\"'])?\s*[:=]\s*"
        )

    @cached_property
    def begun_member(self) -> re.Pattern[str]:
        """What may go on as a key."""
        return re.compile(rf"\s*+(?:{re.escape(self.quote)}|[\"'])?[^:=,{{}}\[\]()\"']{{0,256}}[\"']?\s*\Z")

    def machine(self, out: Emitter, alphabet: SpecialTokenMap, types: ToolTypes | None) -> ToolMachine:
        return GemmaCallsMachine(self, out, alphabet, types or {})


class GemmaCallsMachine(RegionMachine):
    """Phases of a call: element → word | whole | string → element → … → between; what cannot be read ends it (loose).

    Memory, besides the region's: the call's name, the open brackets, the key at hand, the JSON that waits for the value
    behind it, whether that is a string that has begun, and the plain quote around it.
    """

    memory: ClassVar[tuple[str, ...]] = (
        *RegionMachine.memory,
        *("name", "stack", "last_key", "pending", "opened", "plain_quote"),
    )
    phases: ClassVar[tuple[str, ...]] = (*RegionMachine.phases, "element", "word", "whole", "string")

    def __init__(self, form: GemmaCalls, out: Emitter, alphabet: SpecialTokenMap, types: ToolTypes) -> None:
        super().__init__(form, out, alphabet)
        self.spec = form
        self.types = types
        self.name = self.stack = self.last_key = self.pending = self.plain_quote = ""
        self.opened = False

    def load(self, value: object) -> None:
        super().load(value)
        if self.phase in ("element", "word", "whole", "string") and not self.stack:
            raise bad_state()

    def read(self, position: int, stop: int) -> ParseContext:
        text = self.text[position:stop]
        if not text.startswith(_CALL):
            return None if _CALL.startswith(text) else Failed(position)
        closed = self.spec.ends.pattern.search(text)
        name = _NAME.match(text, len(_CALL))
        if not name or (closed and closed.start() < name.end()):
            return Failed(position + closed.start()) if closed else None
        member = self.spec.member.match(text, name.end())
        begin = after_space(text, name.end())
        if text[begin : begin + 1] == _BRACKETS[name.group(2)] or (member and member.end() < len(text)):
            return Header(name.group(1), position + name.end() - 1)
        if member or self.spec.begun_member.match(text, name.end()):
            return None
        return Failed(position + name.end())

    def begin_call(self, header: Header) -> None:
        self.name = header.name
        self.stack = self.text[header.end]
        self.position = header.end + 1
        self.pending = "{"
        self.last_key = ""
        self.phase = "element"

    def element(self) -> bool:
        """Phase: before a member, an item or the end of what is open."""
        text, match = self.text, _BEFORE.match(self.text, self.position)
        self.position = match.end() if match else self.position
        if self.position == len(text):
            return False
        if text[self.position] in "}]" or (text[self.position] == ")" and self.stack[-1] == "("):
            return self._close()
        if self.spec.ends.at(text, self.position):
            self._end()
            return True
        if self.spec.ends.may_begin(text, self.position) and not self.final:
            return False
        if self.stack[-1] != "[" and not self.last_key:
            return self._key()
        return self._value()

    def _key(self) -> bool:
        member = self.spec.member.match(self.text, self.position)
        if not member:
            undecided = self.spec.begun_member.match(self.text, self.position)
            if undecided and self.final:
                self.position = len(self.text)
            return False if undecided else self._break_off()
        self.last_key = self.alphabet.plain(member.group(1)).strip() or " "
        self.pending += json.dumps(self.last_key, ensure_ascii=False) + ": "
        self.position = member.end()
        return True

    def _break_off(self) -> bool:
        """End a call that does not go on in this notation; the rest is text."""
        self._end()
        self.phase = "loose"
        return True

    def _value(self) -> bool:
        text, position = self.text, self.position
        if text[position] in "{[" and len(self.stack) < _DEEPEST:
            self._write(text[position])
            self.stack += text[position]
            self.last_key = ""
            self.position += 1
            return True
        self.plain_quote = text[position] if text[position] in _PLAIN_QUOTES else ""
        if self.plain_quote or self.spec.quotes.at(text, position):
            self.position += 1 if self.plain_quote else len(self.spec.quote)
            whole = self.spec.json_words and not self.plain_quote and self._declared() != "s"
            self.phase = "whole" if whole else "string"
            return True
        if self.spec.quotes.may_begin(text, position) and not self.final:
            return False
        self.phase = "word"
        return True

    def word(self) -> bool:
        """Phase: in a value without quotes."""
        start, stop = self.position, min(len(self.text), self.position + HOLD_LIMIT)
        closers = ",}])" if "(" in self.stack else ",}]"
        end = next((at for at in range(start, stop) if self.text[at] in closers), -1)
        ended = self.spec.ends.pattern.search(self.text, start, stop if end < 0 else end)
        if ended:
            end = ended.start()
        if end < 0:
            if stop - start < HOLD_LIMIT and not self.final:
                return False
            end = stop
        word = self.alphabet.plain(self.text[start:end]).strip()
        if word or end < len(self.text):
            self._write(to_json(word, self._letters()))
            self._ended_value()
        self.position = end
        return bool(word) or end < len(self.text)

    def _letters(self) -> str:
        if self.spec.json_words:
            return ANY_JSON
        declared = self._declared()
        return _UNTYPED if declared is None else "" if declared == "s" else declared

    def _declared(self) -> str | None:
        """What the schema says of the value at hand; None: nothing."""
        return self.types.get(self.name, {}).get(self.last_key) if len(self.stack) == 1 else None

    def whole(self) -> bool:
        """Phase: in a string that may be JSON, which shows when all of it is there."""
        closed, end = self._string_end()
        if end - self.position > HOLD_LIMIT:
            self.phase = "string"
            return True
        if not closed:
            return False
        self._write(to_json(self._spelled(end), ANY_JSON))
        self.position = end + len(self.spec.quote)
        self._ended_value()
        return True

    def string(self) -> bool:
        """Phase: in a string, which is given out as it grows."""
        closed, end = self._string_end()
        if end > self.position or closed:
            inside = spelled(self.text[self.position : end], False) if self.plain_quote else quoted(self._spelled(end))
            self._write(("" if self.opened else '"') + self.alphabet.in_json(inside))
            self.opened = True
        self.position = end
        if not closed:
            return False
        self.position += len(self.plain_quote or self.spec.quote)
        self._write('"')
        self._ended_value()
        return True

    def _spelled(self, end: int) -> str:
        """The text of a string up to `end`, in which a quote is a plain one."""
        return self.alphabet.plain(self.text[self.position : end].replace(self.spec.quote, '"'))

    def _string_end(self) -> tuple[bool, int]:
        """Whether the string ends, and how far it is known to go. A quote ends it where its value may end."""
        search = self.position
        while True:
            end, found = self._next_quote(search)
            if not found:
                return False, end
            behind = end + len(self.plain_quote or self.spec.quote)
            closes = self._ends_value(behind)
            if closes or closes is None:
                return bool(closes), end
            search = behind

    def _next_quote(self, search: int) -> tuple[int, bool]:
        if self.plain_quote:
            return string_end(self.text, search, self.plain_quote, False, self.final)
        found = self.spec.quotes.find(self.text, search)
        if found:
            return found.start(), True
        return max(search, self.safe_end(self.spec.quotes)), False

    def _ends_value(self, position: int) -> bool | None:
        """Whether what stands at `position` shows that a value has ended before it; None: more may tell."""
        text, stack = self.text, self.stack
        while True:
            position = after_space(text, position)
            if position == len(text):
                return True if self.final else None
            if not stack or self.spec.ends.at(text, position):
                return self._stands(self.spec.ends, position)
            if text[position] == _BRACKETS[stack[-1]]:
                stack = stack[:-1]
                position += 1
            elif text[position] == ",":
                return self._goes_on(stack[-1], position + 1)
            else:
                return None if self.spec.ends.may_begin(text, position) and not self.final else False

    def _stands(self, wanted: Markers, position: int) -> bool | None:
        if wanted.at(self.text, position) or not wanted.literals:
            return True
        return None if wanted.may_begin(self.text, position) and not self.final else False

    def _goes_on(self, bracket: str, position: int) -> bool | None:
        """Whether another member or item stands behind a comma."""
        if bracket != "[":
            if self.spec.member.match(self.text, position):
                return True
            return None if self.spec.begun_member.match(self.text, position) and not self.final else False
        position = after_space(self.text, position)
        if position == len(self.text):
            return True if self.final else None
        return True if _ITEM.match(self.text, position) else self._stands(self.spec.quotes, position)

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
        self._write("]" if self.stack[-1] == "[" else "}")
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
        if self.phase == "whole":
            self._write(to_json(self.alphabet.plain(self.held), ANY_JSON) if self.held else '""')
            self.held = ""
        elif self.phase == "string" and not self.opened:
            self._write('""')
        if self.name:
            self._end()
