"""The harmony format of gpt-oss: messages with a header of role, channel and recipient (wire.md 7.6).

<|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>commentary to=functions.NAME <|constrain|>json
<|message|>{…}<|call|>
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from renderlayer.parsers.core.emitter import Emitter
from renderlayer.parsers.core.events import Conversation, Event, ParserNames, Piece, State
from renderlayer.parsers.core.markers import SpecialTokenMap, Vocabulary
from renderlayer.parsers.core.message_frames import MessageFormat, MessageMachine
from renderlayer.parsers.parser import Parser
from renderlayer.parsers.values.json_object import JsonObject

_CHANNEL, _CONSTRAIN = "<|channel|>", "<|constrain|>"
FORMAT = MessageFormat(
    start="<|start|>",
    parts=(_CHANNEL, _CONSTRAIN),
    bodies=("<|message|>",),
    ends=("<|end|>", "<|return|>", "<|call|>"),
    kinds={},
)
_FUNCTIONS = "functions."
_OWN_TOOLS = ("python", "browser", "container")
_PEOPLE = ("assistant", "user", "system", "developer", "all")
_RECIPIENT = re.compile(r"\bto=(\S+)")


class HarmonyMachine(MessageMachine):
    """Gives out messages as reasoning, content or calls, by channel and recipient.

    A call begins with the first member of its arguments, or with the end of a message without text; a message whose
    text is no object is content.

    Memory, besides the splitter's: whether there was reasoning and content before, whether the message at hand is
    joined to it, whether calls are wanted, the call's name while it has not begun, and the reader of its arguments.
    """

    memory: ClassVar[tuple[str, ...]] = (
        *MessageMachine.memory,
        *("reasoned", "spoke", "joined", "wanted", "name", "given"),
    )
    message_kinds: ClassVar[tuple[str, ...]] = ("reasoning", "content", "call")

    def __init__(self, form: MessageFormat, out: Emitter, alphabet: SpecialTokenMap, wanted: bool = True) -> None:
        super().__init__(form, out, alphabet)
        self.reasoned = self.spoke = self.joined = False
        self.wanted = wanted
        self.name = ""
        self.given = JsonObject()

    def begin_message(self, header: str, body: str) -> None:
        words = self.alphabet.plain(header).replace(_CONSTRAIN, " ")
        channel = words.partition(_CHANNEL)[2].split()
        recipient = _RECIPIENT.search(words.replace(_CHANNEL, " "))
        name = recipient.group(1) if recipient else ""
        self.joined = False
        if self.wanted and name and not name.startswith(_OWN_TOOLS) and name not in _PEOPLE:
            self.kind = "call"
            self.name = name.removeprefix(_FUNCTIONS)
            self.given.reset()
        elif channel[:1] == ["analysis"] or name.startswith(_OWN_TOOLS):
            self.kind = "reasoning"
        else:
            self.kind = "content"

    def give(self, text: str, ended: bool) -> int:
        used = self._give_arguments(text, ended) if self.kind == "call" else 0
        if self.kind != "call":
            self._tell(text[used:])
            return len(text)
        return used

    def _give_arguments(self, text: str, ended: bool) -> int:
        """Give arguments out, as far as they are an object; what is none makes content of the message."""
        written: list[str] = []
        used, status = self.given.read(text, 0, len(text), ended, written)
        if written and self.name:
            self.out.start(self.name)
            self.name = ""
        self.out.arguments(self.alphabet.plain("".join(written)))
        if status == "done":
            self.kind, self.joined = "content", False
        elif status == "broken" or (ended and self.given.pending and self.name):
            self._break_off()
        return used

    def _break_off(self) -> None:
        if not self.name:
            self.out.arguments(self.given.closing())
        self.kind, self.name = "content", ""
        self._tell(self.given.pending)

    def _tell(self, text: str) -> None:
        """Give text out; messages of a kind that follow each other are joined by a line break."""
        text = self.alphabet.plain(text)
        if not text:
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

    def end_message(self, end: str) -> None:
        if self.kind == "call":
            if self.name:
                self.out.start(self.name)
            self.out.arguments(self.given.closing())
        self.joined = False

    def finish(self) -> None:
        """Close the arguments that the end cuts off; before the first of them what was written is content."""
        if self.phase != "body" or self.kind != "call":
            return
        if not self.name:
            self.out.arguments(self.given.closing())
        elif self.given.pending:
            self._break_off()


class HarmonyParser(Parser):
    """The one parser of gpt-oss models, whatever names are configured."""

    def __init__(self, names: ParserNames, vocabulary: Vocabulary) -> None:
        super().__init__(names, strip=False)
        declared = FORMAT.declared()
        self._alphabet = SpecialTokenMap(vocabulary, declared, declared)
        self._form = FORMAT.spelled(self._alphabet)

    def start(self, conversation: Conversation) -> State:
        out = Emitter(conversation.seed or uuid.uuid4().hex)
        return self._dumped(out, HarmonyMachine(self._form, out, self._alphabet, self.keeps_calls(conversation)))

    def feed(self, state: State, pieces: Sequence[Piece]) -> tuple[list[Event], State]:
        out, machine = self._loaded(state)
        machine.feed(self._alphabet.read(pieces))
        return out.take(), self._dumped(out, machine)

    def finish(self, state: State) -> list[Event]:
        out, machine = self._loaded(state)
        machine.feed("", final=True)
        machine.finish()
        return out.take()

    def reasoning_ended(self, prompt_token_ids: Sequence[int], kwargs: Mapping[str, Any]) -> bool | None:
        """Always: harmony's channels are constrained from the first token on."""
        return FORMAT.ended

    def _dumped(self, out: Emitter, machine: HarmonyMachine) -> State:
        return self._stamped({"calls": out.dump(), "harmony": machine.dump()})

    def _loaded(self, state: State) -> tuple[Emitter, HarmonyMachine]:
        self._checked(state)
        out = Emitter()
        out.load(state.get("calls"))
        machine = HarmonyMachine(self._form, out, self._alphabet)
        machine.load(state.get("harmony"))
        return out, machine
