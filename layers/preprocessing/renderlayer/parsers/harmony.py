"""The harmony format of gpt-oss: messages with a header of role, channel and recipient (wire.md 7.6).

<|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>commentary to=functions.NAME <|constrain|>json
<|message|>{…}<|call|>
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from renderlayer.parsers.emitter import Emitter
from renderlayer.parsers.events import Conversation, Event, ParserNames, Piece, State
from renderlayer.parsers.messages import MessageFormat, MessageMachine
from renderlayer.parsers.parser import Parser
from renderlayer.parsers.tokens import Alphabet, Vocabulary

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

    Memory, besides the splitter's: whether there was reasoning and content before, and whether the message at hand is
    joined to it.
    """

    memory: ClassVar[tuple[str, ...]] = (*MessageMachine.memory, "reasoned", "spoke", "joined")
    message_kinds: ClassVar[tuple[str, ...]] = ("reasoning", "content", "call")

    def __init__(self, form: MessageFormat, out: Emitter, alphabet: Alphabet) -> None:
        super().__init__(form, out, alphabet)
        self.reasoned = self.spoke = self.joined = False

    def begin_message(self, header: str, body: str) -> None:
        words = self.alphabet.plain(header).replace(_CONSTRAIN, " ")
        channel = words.partition(_CHANNEL)[2].split()
        recipient = _RECIPIENT.search(words.replace(_CHANNEL, " "))
        name = recipient.group(1) if recipient else ""
        self.joined = False
        if name and not name.startswith(_OWN_TOOLS) and name not in _PEOPLE:
            self.kind = "call"
            self.out.start(name.removeprefix(_FUNCTIONS))
        elif channel[:1] == ["analysis"] or name.startswith(_OWN_TOOLS):
            self.kind = "reasoning"
        else:
            self.kind = "content"

    def give(self, text: str) -> None:
        """Give text of the message out; messages of a kind that follow each other are joined by a line break."""
        text = self.alphabet.plain(text)
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

    def end_message(self, end: str) -> None:
        if self.kind == "call" and not self.out.argued:
            self.out.arguments("{}")
        self.joined = False


class HarmonyParser(Parser):
    """The one parser of gpt-oss models, whatever names are configured."""

    def __init__(self, names: ParserNames, vocabulary: Vocabulary) -> None:
        super().__init__(names, strip=False)
        declared = FORMAT.declared()
        self._alphabet = Alphabet(vocabulary, declared, declared)
        self._form = FORMAT.spelled(self._alphabet)

    def start(self, conversation: Conversation) -> State:
        out = Emitter(conversation.seed or uuid.uuid4().hex)
        return self._dumped(out, HarmonyMachine(self._form, out, self._alphabet))

    def feed(self, state: State, pieces: Sequence[Piece]) -> tuple[list[Event], State]:
        out, machine = self._loaded(state)
        machine.feed(self._alphabet.read(pieces))
        return out.take(), self._dumped(out, machine)

    def finish(self, state: State) -> list[Event]:
        out, machine = self._loaded(state)
        machine.feed("", final=True)
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
