"""Answers made of messages: a header tells what the text of a message is, and markers end the header and the text.

A prompt ends inside the first header (`<|start|>assistant`), so an answer begins there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from renderlayer.parsers.core.emitter import Emitter
from renderlayer.parsers.core.markers import Markers, SpecialTokenMap, Vocabulary
from renderlayer.parsers.core.resumable import HOLD_LIMIT, PhaseMachine, bad_state
from renderlayer.parsers.core.tool_machine import ContentBuffer, ToolMachine

RECIPIENT = " to="
"""What may stand in the first header before any marker."""


@dataclass(frozen=True, kw_only=True)
class MessageFormat:
    """How messages are written.

    Attributes:
        start: what begins a header.
        parts: markers inside a header.
        bodies: what ends a header and begins the text.
        ends: what ends the text.
        kinds: for formats that are read by `MessageReasoner`: what a message is by its recipient, or by the marker that
            begins its text: "reasoning", "content", "tool" or "drop". The recipient "" is none; "*" is any other.
        ended: what render says about `reasoning_ended`.
    """

    start: str
    parts: tuple[str, ...] = ()
    bodies: tuple[str, ...]
    ends: tuple[str, ...]
    kinds: Mapping[str, str]
    ended: bool | None = True

    @cached_property
    def header_ends(self) -> Markers:
        """What ends a header, well-formed or not."""
        return Markers([*self.bodies, self.start, *self.ends])

    @cached_property
    def body_ends(self) -> Markers:
        """What ends the text of a message."""
        return Markers([self.start, *self.ends])

    @cached_property
    def header_starts(self) -> Markers:
        """What a header may begin with."""
        return Markers([self.start, *self.parts, *self.bodies])

    @cached_property
    def marks(self) -> Markers:
        """Every marker."""
        return Markers(self.declared())

    def declared(self) -> tuple[str, ...]:
        """The markers, all of which count only as tokens."""
        return (self.start, *self.parts, *self.bodies, *self.ends)

    def spelled(self, alphabet: SpecialTokenMap) -> MessageFormat:
        """The same format with every marker as it is searched for in `alphabet`'s text."""
        changes: dict[str, Any] = {
            name: tuple(map(alphabet.literal, getattr(self, name))) for name in ("parts", "bodies", "ends")
        }
        kinds = {alphabet.literal(key): kind for key, kind in self.kinds.items()}
        return replace(self, start=alphabet.literal(self.start), kinds=kinds, **changes)

    def machine(self, out: Emitter, alphabet: SpecialTokenMap, tools: ToolMachine) -> MessageReasoner:
        """The machine that stands before `tools`."""
        return MessageReasoner(self, out, alphabet, tools)

    def first_phase(self, kwargs: Mapping[str, Any], prompt: Sequence[int] | None, vocabulary: Vocabulary) -> str:
        """The phase in which an answer begins."""
        return "header"

    def ended_in(self, prompt: Sequence[int], kwargs: Mapping[str, Any], vocabulary: Vocabulary) -> bool | None:
        """What render says about a prompt (wire.md 2.4)."""
        return self.ended


class MessageMachine(PhaseMachine):
    """Splits an answer into messages. Phases: header → body → idle → header → …, and loose for text in no message.

    Memory, besides the frame's: whether the header at hand follows a role that the output wrote, and what the message
    at hand is.
    """

    memory: ClassVar[tuple[str, ...]] = (*PhaseMachine.memory, "role", "kind")
    phases: ClassVar[tuple[str, ...]] = ("header", "body", "idle", "loose")
    message_kinds: ClassVar[tuple[str, ...]]

    def __init__(self, form: MessageFormat, out: Emitter, alphabet: SpecialTokenMap) -> None:
        super().__init__()
        self.form = form
        self.out = out
        self.alphabet = alphabet
        self.role = False
        self.kind = "content"

    def load(self, value: Any) -> None:
        super().load(value)
        if self.kind not in self.message_kinds:
            raise bad_state()

    def begin_message(self, header: str, body: str) -> None:
        """Decide by the header, and the marker behind it, what the message is."""
        raise NotImplementedError

    def give(self, text: str, ended: bool) -> int:
        """Give text of the message out; with `ended` it is the last. Returns how much of it was taken."""
        raise NotImplementedError

    def end_message(self, end: str) -> None:
        """The message has ended with the marker `end`, which may begin the next one."""
        raise NotImplementedError

    def header(self) -> bool:
        """Phase: in a header. What cannot be one is loose text."""
        text, start = self.text, self.position
        stop = min(len(text), start + HOLD_LIMIT)
        if not self.role and not self._plausible(start):
            self.phase = "loose"
            return True
        ended = self.form.header_ends.pattern.search(text, start, stop)
        if ended and ended.group() in self.form.bodies:
            self.begin_message(text[start : ended.start()], ended.group())
            self.position = ended.end()
            self.role = False
            self.phase = "body"
            return True
        if ended:
            self.position = ended.end()
            self.role = ended.group() == self.form.start
            self.phase = "header" if self.role else "idle"
            return True
        if stop - start == HOLD_LIMIT:
            self._say_loose(stop)
            return True
        if self.final:
            self.position = len(text)
        return False

    def _plausible(self, start: int) -> bool:
        """Whether the text may be a header after the role: a marker, or a recipient first."""
        mark = self.form.marks.find(self.text, start)
        words = self.text[start : mark.start() if mark else len(self.text)]
        if not words or words.startswith(RECIPIENT):
            return True
        return not mark and not self.final and RECIPIENT.startswith(words)

    def body(self) -> bool:
        """Phase: in a message's text."""
        ended = self.form.body_ends.find(self.text, self.position)
        self._give(ended.start() if ended else self.safe_end(self.form.body_ends), bool(ended))
        if not ended:
            return False
        self.end_message(ended.group())
        self.position = ended.end()
        self.role = ended.group() == self.form.start
        self.phase = "header" if self.role else "idle"
        return True

    def idle(self) -> bool:
        """Phase: after a message; another end marker means nothing."""
        if self.position == len(self.text):
            return False
        if ended := self.form.body_ends.at(self.text, self.position):
            self.position += len(ended)
            self.role = ended == self.form.start
            self.phase = "header" if self.role else "idle"
            return True
        opened = self.form.header_starts.at(self.text, self.position)
        if not opened:
            if self.form.header_starts.may_begin(self.text, self.position) and not self.final:
                return False
            self._say_loose(self.position)
            return True
        self.phase = "header"
        return True

    def loose(self) -> bool:
        """Phase: in text that belongs to no message; it is content as it stands."""
        opened = self.form.header_starts.find(self.text, self.position)
        self._say_loose(opened.start() if opened else self.safe_end(self.form.header_starts))
        if opened:
            self.phase = "idle"
        return opened is not None

    def _say_loose(self, end: int) -> None:
        self.phase, self.kind = "loose", "content"
        self._give(end, False)

    def _give(self, end: int, ended: bool) -> None:
        if end > self.position or ended:
            self.position += self.give(self.text[self.position : end], ended or self.final)


class MessageReasoner(MessageMachine):
    """Gives messages that are reasoning to the emitter, and content and calls to the tool machine."""

    message_kinds: ClassVar[tuple[str, ...]] = ("reasoning", "content", "tool", "drop")

    def __init__(self, form: MessageFormat, out: Emitter, alphabet: SpecialTokenMap, tools: ToolMachine) -> None:
        super().__init__(form, out, alphabet)
        self._rest = ContentBuffer(tools)

    def feed(self, text: str, final: bool = False) -> None:
        super().feed(text, final)
        self._rest.flush(final)

    def begin_message(self, header: str, body: str) -> None:
        kinds = self.form.kinds
        _, _, recipient = self.alphabet.plain(header).partition(RECIPIENT)
        recipient = recipient.split()[0] if recipient.split() else ""
        self.kind = kinds.get(body) or kinds.get(recipient) or kinds.get("*", "content")
        if self.kind == "tool":
            self._rest.add(body)

    def give(self, text: str, ended: bool) -> int:
        if self.kind == "reasoning":
            self._rest.flush()
            self.out.reasoning(self.alphabet.declared(text))
        elif self.kind != "drop":
            self._rest.add(text)
        return len(text)

    def end_message(self, end: str) -> None:
        if self.kind == "tool":
            self._rest.add(end)
