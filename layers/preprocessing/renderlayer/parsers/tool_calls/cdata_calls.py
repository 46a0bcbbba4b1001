"""Tagged calls whose values may stand in <![CDATA[ … ]]>, as the template of MiniCPM5 asks for beside markup."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from renderlayer.parsers.core.emitter import Emitter
from renderlayer.parsers.core.markers import Markers, SpecialTokenMap
from renderlayer.parsers.core.resumable import HOLD_LIMIT
from renderlayer.parsers.core.tool_machine import ToolMachine, ToolTypes
from renderlayer.parsers.tool_calls.tagged import Tagged, TaggedMachine
from renderlayer.parsers.values.json_scan import after_space
from renderlayer.parsers.values.schema import to_json

_GAP = 64
"""White space that may stand between a value's tags and its quotes."""
_OPEN, _CLOSE = Markers(["<![CDATA["]), Markers(["]]>"])


@dataclass(frozen=True, kw_only=True)
class CdataCalls(Tagged):
    """Calls with tagged arguments, quoted or not."""

    def machine(self, out: Emitter, alphabet: SpecialTokenMap, types: ToolTypes | None) -> ToolMachine:
        return CdataMachine(self, out, alphabet, types or {})


class CdataMachine(TaggedMachine):
    """Phases of a value, besides the tagged ones: lead → cdata → members.

    In a quoted value nothing counts but its end, and that only where the value's closer or another quoted part follows.
    """

    phases: ClassVar[tuple[str, ...]] = (*TaggedMachine.phases, "cdata")

    def lead(self) -> bool:
        begin = after_space(self.text, self.position, self.position + _GAP)
        if _OPEN.at(self.text, begin):
            self.position = begin + len(_OPEN.literals[0])
            self.phase = "cdata"
            return True
        if not self.final and (begin == len(self.text) or _OPEN.may_begin(self.text, begin)):
            return False
        return super().lead()

    def cdata(self) -> bool:
        """Phase: in a quoted value. A string is given out as it grows; of another type, when all of it is there."""
        end, after = self._quoted_end()
        if self.letters and end - self.position > HOLD_LIMIT:
            self.letters = ""
        if not self.letters:
            self.writer.text(self.alphabet.plain(self.text[self.position : end]))
            self.position = end
        if after < 0:
            return False
        if self.letters:
            self.writer.member(to_json(self.alphabet.plain(self.text[self.position : end]), self.letters))
        elif _OPEN.at(self.text, after):
            self.position = after + len(_OPEN.literals[0])
            return True
        else:
            self.writer.end_text()
        self.position = after
        self.phase = "members"
        return True

    def _quoted_end(self) -> tuple[int, int]:
        """Where the text that is known to be quoted ends, and where the next member may begin; -1: more may tell."""
        text, search = self.text, self.position
        while found := _CLOSE.find(text, search):
            after = after_space(text, found.end(), found.end() + _GAP)
            closer = self._closers.at(text, after)
            if closer:
                return found.start(), after + len(closer)
            if _OPEN.at(text, after):
                return found.start(), after
            waits = after == len(text) or self._closers.may_begin(text, after) or _OPEN.may_begin(text, after)
            if waits:
                return found.start(), after if self.final else -1
            search = found.end()
        return max(search, _CLOSE.safe_end(text, search) if not self.final else len(text)), -1

    @property
    def _closers(self) -> Markers:
        return Markers(self.spec.value_closers)
