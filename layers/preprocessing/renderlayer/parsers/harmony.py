"""The harmony format of gpt-oss: messages with a header of role, channel and recipient (wire.md 7.6).

    <|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>commentary to=functions.NAME <|constrain|>json
    <|message|>{…}<|call|>

The prompt ends with `<|start|>assistant`, so an answer begins inside a header.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar

from renderlayer.parsers.emitter import Emitter
from renderlayer.parsers.events import Conversation, Event, ParserNames, Piece, State
from renderlayer.parsers.markers import Markers
from renderlayer.parsers.parser import BaseParser
from renderlayer.parsers.resumable import HOLD_LIMIT, Resumable, bad_state
from renderlayer.parsers.tokens import Alphabet, Vocabulary

_START, _CHANNEL, _CONSTRAIN, _MESSAGE = "<|start|>", "<|channel|>", "<|constrain|>", "<|message|>"
_ENDS = ("<|end|>", "<|return|>", "<|call|>")
_DECLARED = (_START, _CHANNEL, _CONSTRAIN, _MESSAGE, *_ENDS)
_FUNCTIONS = "functions."
_OWN_TOOLS = ("python", "browser", "container")
_PEOPLE = ("assistant", "user", "system", "developer", "all")
_RECIPIENT = re.compile(r"\bto=(\S+)")
_RECIPIENT_BEGINS = " to="


class HarmonyMachine(Resumable):
    """Phases: header → body → idle → header → …, and loose for text that is in no message.

    Memory: the phase, the held text, whether the header follows a role that the output wrote, what the message at
    hand is given out as, and whether there was reasoning and content before.
    """

    memory: ClassVar[tuple[str, ...]] = ("phase", "held", "role", "kind", "reasoned", "spoke", "joined")
    phases: ClassVar[tuple[str, ...]] = ("header", "body", "idle", "loose")
    kinds: ClassVar[tuple[str, ...]] = ("reasoning", "content", "call")

    def __init__(self, out: Emitter, alphabet: Alphabet) -> None:
        self.out = out
        self.alphabet = alphabet
        self.phase = "header"
        self.held = ""
        self.role = False
        self.kind = "content"
        self.reasoned = self.spoke = self.joined = False
        self.text = ""
        self.position = 0
        self.final = False
        literal = alphabet.literal
        self._start, self._message = literal(_START), literal(_MESSAGE)
        self._header_ends, self._ends, self._marks, self._headers = _markers(alphabet)

    def load(self, value: Any) -> None:
        super().load(value)
        if self.phase not in self.phases or self.kind not in self.kinds:
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

    def header(self) -> bool:
        """Phase: in a header, which a message marker ends. What cannot be a header is loose text."""
        text, start = self.text, self.position
        stop = min(len(text), start + HOLD_LIMIT)
        if not self.role and not self._plausible(start):
            self.phase = "loose"
            return True
        ended = self._header_ends.pattern.search(text, start, stop)
        if ended and ended.group() == self._message:
            self._address(self.alphabet.plain(text[start : ended.start()]))
            self.position = ended.end()
            self.phase = "body"
            return True
        if ended:
            self.role = ended.group() == self._start
            self.phase = "header" if self.role else "idle"
            self.position = ended.end()
            return True
        if stop - start == HOLD_LIMIT:
            self._say_loose(stop)
            return True
        if self.final:
            self.position = len(text)
        return False

    def _plausible(self, start: int) -> bool:
        """Whether the text may be a header after the role: a marker, or a recipient first."""
        mark = self._marks.find(self.text, start)
        words = self.text[start : mark.start() if mark else len(self.text)]
        if not words or words.startswith(_RECIPIENT_BEGINS):
            return True
        return not mark and not self.final and _RECIPIENT_BEGINS.startswith(words)

    def _address(self, header: str) -> None:
        """Decide by the header what the message's text is given out as."""
        _, _, channel = header.partition(_CHANNEL)
        words = channel.replace(_CONSTRAIN, " ").split()
        recipient = _RECIPIENT.search(header.replace(_CONSTRAIN, " ").replace(_CHANNEL, " "))
        name = recipient.group(1) if recipient else ""
        self.role = False
        self.joined = False
        if name and not name.startswith(_OWN_TOOLS) and name not in _PEOPLE:
            self.kind = "call"
            self.out.start(name.removeprefix(_FUNCTIONS))
        elif (words and words[0] == "analysis") or name.startswith(_OWN_TOOLS):
            self.kind = "reasoning"
        else:
            self.kind = "content"

    def body(self) -> bool:
        """Phase: in a message's text."""
        ended = self._ends.find(self.text, self.position)
        end = (
            ended.start() if ended else len(self.text) if self.final else self._ends.safe_end(self.text, self.position)
        )
        self._give(self.alphabet.plain(self.text[self.position : end]))
        self.position = end
        if not ended:
            return False
        if self.kind == "call" and not self.out.argued:
            self.out.arguments("{}")
        self.position = ended.end()
        self.role = ended.group() == self._start
        self.phase = "header" if self.role else "idle"
        return True

    def _give(self, text: str) -> None:
        """Give text of the message out; messages of a kind that follow each other are joined by a line break."""
        if not text:
            return
        if self.kind == "call":
            self.out.arguments(text)
            return
        before = self.reasoned if self.kind == "reasoning" else self.spoke
        text = "\n" + text if before and not self.joined else text
        self.joined = True
        if self.kind == "reasoning":
            self.reasoned = True
            self.out.reasoning(text)
        else:
            self.spoke = True
            self.out.content(text)

    def idle(self) -> bool:
        """Phase: after a message."""
        if self.position == len(self.text):
            return False
        opened = self._headers.at(self.text, self.position)
        if not opened:
            if self._headers.may_begin(self.text, self.position) and not self.final:
                return False
            self.joined = False
            self.phase = "loose"
            return True
        self.role = opened == self._start
        if self.role:
            self.position += len(opened)
        self.phase = "header"
        return True

    def loose(self) -> bool:
        """Phase: in text that belongs to no message; it is content as it stands."""
        opened = self._headers.find(self.text, self.position)
        if opened:
            end = opened.start()
        else:
            end = len(self.text) if self.final else self._headers.safe_end(self.text, self.position)
        self._say_loose(end)
        if opened:
            self.phase = "idle"
        return opened is not None

    def _say_loose(self, end: int) -> None:
        self.phase, self.kind = "loose", "content"
        self._give(self.alphabet.plain(self.text[self.position : end]))
        self.position = end


@lru_cache(maxsize=16)
def _markers(alphabet: Alphabet) -> tuple[Markers, Markers, Markers, Markers]:
    """What ends a header, what ends a message, every marker, and what a header may begin with."""
    literal = alphabet.literal
    start, message, ends = literal(_START), literal(_MESSAGE), list(map(literal, _ENDS))
    return (
        Markers([message, start, *ends]),
        Markers([start, *ends]),
        Markers(map(literal, _DECLARED)),
        Markers([start, literal(_CHANNEL), message]),
    )


class HarmonyParser(BaseParser):
    """The one parser of gpt-oss models, whatever names are configured."""

    def __init__(self, names: ParserNames, vocabulary: Vocabulary) -> None:
        super().__init__(names, strip=False)
        self._alphabet = Alphabet(vocabulary, _DECLARED, _DECLARED)

    def start(self, conversation: Conversation) -> State:
        out = Emitter(conversation.seed or uuid.uuid4().hex)
        return self._dumped(out, HarmonyMachine(out, self._alphabet))

    def feed(self, state: State, pieces: Sequence[Piece]) -> tuple[list[Event], State]:
        out, machine = self._loaded(state)
        machine.feed(self._alphabet.read(pieces))
        return out.take(), self._dumped(out, machine)

    def finish(self, state: State) -> list[Event]:
        out, machine = self._loaded(state)
        machine.feed("", final=True)
        return out.take()

    def reasoning_ended(self, prompt_token_ids: Sequence[int], kwargs: Mapping[str, Any]) -> bool | None:
        """Harmony constrains its channels from the first token on."""
        return True

    def _dumped(self, out: Emitter, machine: HarmonyMachine) -> State:
        return self._stamped({"calls": out.dump(), "harmony": machine.dump()})

    def _loaded(self, state: State) -> tuple[Emitter, HarmonyMachine]:
        self._checked(state)
        out = Emitter()
        out.load(state.get("calls"))
        machine = HarmonyMachine(out, self._alphabet)
        machine.load(state.get("harmony"))
        return out, machine
