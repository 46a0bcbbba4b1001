"""The frame that all tool formats share: text outside the calls, what opens a call, and what is left at the end."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from renderlayer.parsers.core.emitter import Emitter, IdForm
from renderlayer.parsers.core.events import CallStart
from renderlayer.parsers.core.markers import Markers, SpecialTokenMap
from renderlayer.parsers.core.resumable import HOLD_LIMIT, PhaseMachine, Resumable, bad_state

_FEW = 48
_BEGUN = re.compile("\\S+?\\s*+[{\\[<\ud800-\udfff]")
"""The opener of a call and what it goes on with, where no format says how it does."""

ToolTypes = Mapping[str, Mapping[str, str]]
"""The digest of the request's tools: function → parameter → type letters (`schema.py`)."""


@dataclass(frozen=True, kw_only=True)
class ToolFormat:
    """What every tool format declares. Fields typed as markers in `marker_fields` are literals of the output.

    Attributes:
        openers: what begins a region of calls.
        written: the format as it reads calls that are spelled, where it looks for tokens; set by `spelled`.
        tokens: markers that are looked for as tokens, where the vocabulary has them; in a call that began with one, and
            for everything but calls, they count only so.
        token_based: the format works on tokens in the reference: undeclared special tokens are dropped, and the markup
            is removed even when no calls are wanted (wire.md 7.2, 7.3).
        native_when_forced: required and named choices are written in this format too, not as bare JSON (wire.md 7.2).
        after: whether white space alone, after a call, belongs to the content; other text always does.
        blanks: whether white space alone, around the calls, does.
        strip: a message with calls has its content stripped (only in a whole answer).
        id_form: how calls are numbered where the model gives no ids.
        needs_types: the format converts values by the tools' schemas.
        needs_inputs: it takes a string for the arguments of functions that have one string, `input`: custom tools.
        needs_strings: it tells parameters that are strings from those of which no schema says anything.
    """

    openers: tuple[str, ...] = ()
    written: ToolFormat | None = None
    tokens: tuple[str, ...] = ()
    token_based: bool = False
    native_when_forced: bool = False
    after: Literal["keep", "drop"] = "keep"
    blanks: Literal["keep", "drop"] = "keep"
    strip: bool = False
    id_form: IdForm = "chatcmpl"
    needs_types: bool = False
    needs_strings: bool = False
    needs_inputs: bool = False

    marker_fields: ClassVar[tuple[str, ...]] = ("openers",)

    @cached_property
    def starts(self) -> Markers:
        """What ends ordinary text."""
        return Markers(self.openers)

    @cached_property
    def begun(self) -> re.Pattern[str]:
        """What begins as a call does: an opener and the bracket of its object."""
        return re.compile(f"(?:{self.starts.pattern.pattern})\\s*+[{{\\[]")

    def spelled(self, alphabet: SpecialTokenMap) -> Self:
        """The same format with every marker as it is searched for in `alphabet`'s text."""
        changes: dict[str, Any] = {}
        for name in self.marker_fields:
            value = getattr(self, name)
            changes[name] = alphabet.literal(value) if isinstance(value, str) else tuple(map(alphabet.literal, value))
        found = replace(self, **changes)
        return found if found == self else replace(found, written=self)

    def literals(self) -> list[str]:
        """Every marker of the format."""
        found: list[str] = []
        for field in fields(self):
            if field.name in self.marker_fields:
                value = getattr(self, field.name)
                found.extend([value] if isinstance(value, str) else value)
        return [literal for literal in found if literal]

    def machine(self, out: Emitter, alphabet: SpecialTokenMap, types: ToolTypes | None) -> ToolMachine:
        """A machine for this format, which must be `spelled` for the alphabet."""
        raise NotImplementedError


class ToolMachine(PhaseMachine):
    """Base of the machines that take an answer without its reasoning apart into content and calls.

    Memory, besides the frame's: white space that may turn out to stand before a call, and whether other content has
    come since the last call, and what reads spelled calls.
    """

    memory: ClassVar[tuple[str, ...]] = (*PhaseMachine.memory, "blank", "spoken", "spelled")
    phases: ClassVar[tuple[str, ...]] = ("content", "written")

    def __init__(self, form: ToolFormat, out: Emitter, alphabet: SpecialTokenMap) -> None:
        super().__init__()
        self.form = form
        self.out = out
        self.alphabet = alphabet
        self.types: ToolTypes = {}
        self.blank = ""
        self.spoken = False
        self.spelled = SpelledCalls(self._written_machine if form.written else None)
        self._queued = -1

    def feed(self, text: str, final: bool = False) -> None:
        super().feed(text, final)
        self.flush()
        if final:
            self.finish()

    def finish(self) -> None:
        """What remains to be done after the last text; machines with open calls add to it."""
        if self.blank and not self.out.calls:
            self.out.content(self.blank)
        self.blank = ""

    def content(self) -> bool:
        """Phase: text up to the next opener."""
        found = self.form.starts.find(self.text, self.position)
        waits = self.spelled_before(found.start() if found else len(self.text))
        if waits is not None:
            return not waits
        if found:
            self.queue(found.start())
            self.phase = "opening"
            return True
        self.queue(self.calm_end(self.form.starts))
        return False

    def calm_end(self, wanted: Markers) -> int:
        """The end of the text, or where one of the markers may have begun, spelled or not."""
        written = self.form.written
        return min(self.safe_end(wanted), self.safe_end(written.starts)) if written else self.safe_end(wanted)

    def spelled_before(self, end: int) -> bool | None:
        """Go on with spelled calls where one begins before `end`: False; True: wait for more; None: there is none."""
        written, search = self.form.written, self.position
        while written and (opener := written.starts.pattern.search(self.text, search, end)):
            calls = self._calls_at(opener.start())
            if calls is False:
                search = opener.end()
                continue
            self.queue(opener.start())
            if calls:
                self.flush()
                machine = self.spelled.begin()
                machine.blank, machine.spoken, self.blank = self.blank, self.spoken, ""
                self.phase = "written"
            return not calls
        return None

    def _calls_at(self, start: int) -> bool | None:
        """Whether a spelled call begins at `start`; None: more text will tell."""
        for room in (_FEW, HOLD_LIMIT):
            stop = min(start + room, len(self.text))
            whole = self.final or stop < len(self.text)
            probe = self._written_machine(Emitter())
            probe.feed(self.alphabet.spelled(self.text[start:stop]), whole)
            events = probe.out.take()
            if events and isinstance(events[0], CallStart):
                return True
            if events and not whole:
                return False
        return False if whole or room == stop - start else None

    def _written_machine(self, out: Emitter | None = None) -> ToolMachine:
        assert self.form.written is not None
        return self.form.written.machine(self.out if out is None else out, self.alphabet, self.types)

    def written(self) -> bool:
        """Phase: behind the opener of a spelled call, from which on markers count as they are spelled."""
        assert self.spelled.machine is not None
        self.spelled.machine.feed(self.alphabet.spelled(self.text[self.position :]), self.final)
        self.position = len(self.text)
        return False

    def opening(self) -> bool:
        """Phase: at an opener."""
        raise NotImplementedError

    @property
    def in_call(self) -> bool:
        """Whether the text so far ends inside a call, or what may become one."""
        if self.spelled.machine:
            return self.spelled.machine.in_call
        return self.phase not in ("content", "first", "between", "behind", "loose")

    def called_in(self, text: str, whole: bool) -> bool | None:
        """Whether a call begins with `text`, which begins with an opener; None: unless it is `whole`, more may tell.

        What was begun as a call counts as one, well-formed or not.
        """
        if not self.form.starts.literals:
            waits = not whole and len(text.split()) < 2 and not text[-1:].isalnum()
            return True if _BEGUN.match(text) else None if waits else False
        probe = self.form.machine(Emitter(), self.alphabet, {})
        probe.feed(text, whole)
        events = probe.out.take()
        if not events:
            return False if whole else None
        return isinstance(events[0], CallStart) or self.form.begun.match(text) is not None

    def queue(self, end: int) -> None:
        """The text up to `end` is content; it is given out by `speak`, together with what follows it."""
        if self._queued < 0:
            self._queued = self.position
        self.position = end

    def flush(self) -> None:
        """Give content out, as far as the format lets it be content. Due before `position` moves past other text."""
        if self._queued < 0:
            return
        text, self._queued = self.text[self._queued : self.position], -1
        if not text:
            return
        text = self.readable(text)
        waits = self.form.blanks == "drop" or (self.out.calls and self.form.after == "drop")
        if waits and not self.spoken:
            self.blank += text
            if self.blank.isspace() and len(self.blank) < HOLD_LIMIT:
                return
            text, self.blank = self.blank, ""
        self.spoken = True
        self.out.content(text)

    def begin(self, name: str, call_id: str | None = None) -> None:
        """Begin a call at `position`; white space before it is no content."""
        self.flush()
        self.blank, self.spoken = "", False
        self.out.start(self.alphabet.plain(name), call_id and self.alphabet.plain(call_id))

    def end_call(self) -> None:
        """End a call; one without arguments has the empty object."""
        if not self.out.argued:
            self.out.arguments("{}")

    def fail(self, end: int, phase: str) -> bool:
        """What seemed to begin a call is text up to `end`; go on in `phase`."""
        self.queue(end)
        self.phase = phase
        return True

    def wait(self, start: int, phase: str) -> bool:
        """Wait for more of what began at `start`; at the end, or when it is too long for a header, it becomes text."""
        if self.final or len(self.text) - start >= HOLD_LIMIT:
            return self.fail(min(len(self.text), start + HOLD_LIMIT), phase)
        return False

    def readable(self, text: str) -> str:
        """The text as a person should see it."""
        return self.alphabet.declared(text) if self.form.token_based else self.alphabet.plain(text)


class PassMachine(ToolMachine):
    """No calls are looked for: all text is content."""

    @property
    def in_call(self) -> bool:
        return False

    def content(self) -> bool:
        self.queue(len(self.text))
        return False


class ContentBuffer:
    """Collects the text that a machine before a tool machine leaves to it, with or without tokens, as that reads it."""

    def __init__(self, tools: ToolMachine) -> None:
        self._tools = tools
        self._texts: list[str] = []

    def add(self, text: str) -> None:
        self._texts.append(self.legible(text))

    def legible(self, text: str) -> str:
        """The text as the tool machine reads it."""
        return text if self._tools.form.token_based else self._tools.alphabet.plain(text)

    def flush(self, final: bool = False) -> None:
        """Feed the tool machine, which must happen before anything else is given out."""
        text = "".join(self._texts)
        self._texts.clear()
        if text or final:
            self._tools.feed(text, final)


class SpelledCalls(Resumable):
    """The machine that reads an answer on from its first spelled call; empty before one has come.

    Args:
        make: makes that machine; None for a format that reads text anyway.
    """

    def __init__(self, make: Callable[[], ToolMachine] | None) -> None:
        self._make = make
        self.machine: ToolMachine | None = None

    def begin(self) -> ToolMachine:
        """From here on the markers count as they are spelled."""
        assert self._make is not None
        self.machine = self._make()
        return self.machine

    def dump(self) -> list[Any]:
        return self.machine.dump() if self.machine else []

    def load(self, value: Any) -> None:
        if value == []:
            self.machine = None
        elif self._make is None:
            raise bad_state()
        else:
            self.begin().load(value)
